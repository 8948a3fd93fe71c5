// Sampling within a time box, and the two figures that a row shows.

/** The value at the given share (0 to 1) of the sorted samples, by nearest rank. */
export function percentile(samples, share) {
  if (samples.length === 0) {
    throw new Error("no samples");
  }
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}

/** p50, p90 (to four decimals) and n of samples where less is better (milliseconds, bytes). */
export function summary(samples) {
  const short = (share) => Number(percentile(samples, share).toFixed(4));
  return { p50: short(0.5), p90: short(0.9), n: samples.length };
}

/** p50, p90 and n of rates, where more is better: p90 is the rate that nine rounds in ten reach. */
export function rateSummary(rates) {
  const slow = summary(rates.map((rate) => -rate));
  return { p50: -slow.p50, p90: -slow.p90, n: slow.n };
}

/**
 * Times fn again and again: first unmeasured for a quarter of the box, then until the box is full and there are at
 * least five samples. However slow fn is, nothing new starts after four boxes. Milliseconds, at least one sample.
 */
export async function sample(fn, boxMs) {
  const warm = performance.now() + boxMs / 4;
  do {
    await fn();
  } while (performance.now() < warm);
  const samples = [];
  const start = performance.now();
  for (;;) {
    const before = performance.now();
    await fn();
    const after = performance.now();
    samples.push(after - before);
    const spent = after - start;
    if (spent >= 4 * boxMs || (spent >= boxMs && samples.length >= 5)) {
      return samples;
    }
  }
}

/** Runs fn count times, width at a time, stops taking new ones after limitMs, and gives the rate per second. */
export async function rate(fn, { count, width, limitMs }) {
  const start = performance.now();
  let started = 0;
  let finished = 0;
  const lane = async () => {
    while (started < count && performance.now() - start < limitMs) {
      started++;
      await fn();
      finished++;
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  return (finished * 1000) / (performance.now() - start);
}
