// Finds the texts that are there twice, without comparing each with each.
const notes = ["alpha", "beta", "gamma", "beta", "alpha!"];
const { hex } = await Hashes.many(notes);
const first = new Map();
const twins = [];
hex.forEach((sum, index) => {
  if (first.has(sum)) twins.push([first.get(sum), index]);
  else first.set(sum, index);
});
return { twins, algorithms: Hashes.algorithms.length };
