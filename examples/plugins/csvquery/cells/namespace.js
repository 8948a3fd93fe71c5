// The whole query surface as one global.
const orders = "city,amount,note\nOslo,10,fine\nRome,5.5,\nOslo,7,Fine\n";
const { columns } = await Csv.profile(orders);
const grouped = await Csv.group(orders, ["city"], [{ fn: "sum", column: "amount", as: "revenue" }]);
const sorted = await Csv.sort(orders, [{ column: "amount" }]);
const big = await Csv.filter(orders, [{ column: "amount", op: "gt", value: 6 }]);
const notes = await Csv.query({ csv: orders, where: [{ column: "note", op: "contains", value: "FINE" }], select: ["city", "note"], limit: 1 });
const stats = await Csv.stats("one two two", 1);
return {
  types: columns.map((column) => column.type),
  revenue: grouped.rows,
  cheapest: sorted.rows[0].city,
  big: big.total,
  notes,
  cities: (await Csv.select(orders, ["city"])).columns,
  first: (await Csv.head(orders, 1)).rows.length,
  topWord: stats.topWords[0],
  operators: Csv.operators.length,
};
