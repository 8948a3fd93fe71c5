// A failure has a code that a program can act on.
const codes = [];
for (const call of [
  () => tools.csv_query({ csv: "a\n1\n", select: ["b"] }),
  () => tools.csv_query({ csv: "a,b\n1\n" }),
  () => Csv.group("a\nx\n", [], [{ fn: "sum", column: "a" }]),
]) {
  try {
    await call();
    codes.push("no failure");
  } catch (error) {
    codes.push(`${error.name}: ${error.code}`);
  }
}
return codes;
