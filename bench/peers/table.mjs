// Rows as a table for people: one line a case and peer, the cases together.

function figure(value, unit) {
  if (unit === "bytes" || unit === "cells/s") {
    return Math.round(value).toLocaleString("en-US");
  }
  return value < 10 ? value.toFixed(3) : value.toFixed(1);
}

/** The rows as aligned text columns, ordered by case in the order in which cases first appear. */
export function table(rows) {
  const cases = [...new Set(rows.map((row) => row.case))];
  const lines = [["case", "peer", "version", "unit", "p50", "p90", "n"]];
  for (const name of cases) {
    for (const row of rows.filter((candidate) => candidate.case === name)) {
      const { peer, version, unit, p50, p90, n } = row;
      lines.push([name, peer, version, unit, figure(p50, unit), figure(p90, unit), String(n)]);
    }
  }
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)));
  const pad = (text, column) => (column < 4 ? text.padEnd(widths[column]) : text.padStart(widths[column]));
  return lines.map((line) => line.map(pad).join("  ").trimEnd()).join("\n");
}
