let seed = 12345;
const numbers = new Array(200000);
for (let i = 0; i < numbers.length; i++) {
  seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
  numbers[i] = seed;
}
numbers.sort((a, b) => a - b);
for (let i = 1; i < numbers.length; i++) {
  if (numbers[i - 1] > numbers[i]) {
    return { sorted: false };
  }
}
return { sorted: true, first: numbers[0], middle: numbers[100000], last: numbers[199999] };
