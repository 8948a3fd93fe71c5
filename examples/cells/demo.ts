// What a model might write when it is asked: "Which city earned most this week, and what do its customers talk about?"
// One cell finds the tools, calls a WebAssembly plugin and Go functions, joins what they give, and returns the answer.

interface Row { city: string; revenue: number; orders: number }
interface Stats { words: number; topWords: { word: string; count: number }[] }

const orders = `city,product,amount,refunded
Oslo,kettle,49.90,false
Rome,espresso cups,24.50,false
Oslo,teapot,65.00,false
Lima,grinder,89.00,true
Rome,grinder,89.00,false
Lima,kettle,49.90,false
Oslo,grinder,89.00,false
Rome,teapot,65.00,false
Rome,kettle,49.90,true
`;
const reviews: Record<string, string> = {
  Oslo: "Quick delivery. The kettle is quick too, and the teapot pours well.",
  Rome: "Lovely cups! The cups arrived whole, and the grinder is quiet.",
  Lima: "The kettle is fine. Delivery took two weeks.",
};

// Nothing is known beforehand but that tools can be searched.
const [query] = await tools.search("group and sum the rows of a table");
const [stats] = await tools.search("most frequent words of a text");
console.log("using", query.id, "and", stats.id);

const paid = await tools.call(query.id, {
  csv: orders,
  where: [{ column: "refunded", op: "eq", value: "false" }],
  groupBy: ["city"],
  aggregates: [{ fn: "sum", column: "amount", as: "revenue" }, { fn: "count", as: "orders" }],
  orderBy: [{ column: "revenue", descending: true }],
});

// Calls that do not depend on each other run side by side: three in the plugin, two in Go.
const cities = (paid.rows as Row[]).map((row) => row.city);
const [topics, fingerprint, clock] = await Promise.all([
  Promise.all(cities.map((city): Promise<Stats> => tools.call(stats.id, { text: reviews[city], top: 20 }))),
  tools.hash_text({ text: orders }),
  tools.clock_now({ timeZone: "Europe/Oslo" }),
]);

const common = new Set(["the", "and", "is", "too", "two", "took", "well", "whole"]);
const table = (paid.rows as Row[]).map((row, i) => ({
  ...row,
  revenue: Math.round(row.revenue * 100) / 100,
  talk: topics[i].topWords.map((w) => w.word).filter((word) => !common.has(word)).slice(0, 3),
}));

for (const { city, revenue, orders: n, talk } of table) {
  text(`${city.padEnd(6)}${revenue.toFixed(2).padStart(8)}  ${n} ${n === 1 ? "order " : "orders"}  ${talk.join(", ")}`);
}
return { best: table[0].city, table, asOf: clock.weekday, source: fingerprint.hex.slice(0, 12) };
