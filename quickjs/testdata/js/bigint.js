const r = [];
r.push(2n ** 200n, -7n / 2n, -7n % 2n, 7n & -2n, 5n | 8n, 5n ^ -1n, ~5n, 1n << 100n, -1n >> 3n, (1n << 100n) >> 98n, -(-3n));
r.push(BigInt('0xff'), BigInt('0b101'), BigInt('  42  '), BigInt(2 ** 53), BigInt(true), BigInt.asIntN(8, 255n), BigInt.asUintN(8, -1n), BigInt.asIntN(64, 2n ** 63n));
r.push(1n < 2, 2n == 2, 2n === 2, 1n + BigInt(1), [3n, 1, 2n, 10].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)).map(String), typeof 1n, !!0n, 0n === -0n);
for (const bad of [() => 1n + 1, () => BigInt(1.5), () => BigInt('1.5'), () => 1n / 0n, () => 2n ** -1n, () => Math.max(1n), () => JSON.stringify({ a: 1n }), () => +1n, () => 1n >>> 0n, () => BigInt(undefined)]) { try { r.push(bad()); } catch (e) { r.push(e.name); } }
let f = 1n; for (let i = 1n; i <= 60n; i++) f *= i; r.push(f, f.toString(36), (123456789012345678901234567890n).toLocaleString === undefined, (-255n).toString(16));
function isqrt(n) { let x = n, y = (x + 1n) / 2n; while (y < x) { x = y; y = (x + n / x) / 2n; } return x; }
r.push(isqrt(10n ** 60n), 10n ** 40n % 97n, Number(2n ** 64n), parseInt('9007199254740993'), Number(9007199254740993n), BigInt(Number.MAX_SAFE_INTEGER) + 2n, 0x1fn, 1_000n);
function gcd(a, b) { while (b) [a, b] = [b, a % b]; return a; } r.push(gcd(2n ** 90n, 6n ** 50n), 'a' + 1n, `${-1n}`, 1n == '1', 2n > '1', 1n < 1.5, Object(1n) == 1n);
r;
