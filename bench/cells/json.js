const rows = [];
for (let i = 0; i < 820; i++) {
  rows.push({
    id: i,
    name: "row " + i,
    price: i * 1.25,
    tags: ["alpha", "beta", "gamma"],
    nested: { ok: i % 2 === 0, note: 'says "hello"\n' + i },
  });
}
let text = JSON.stringify(rows);
let seen = 0;
for (let round = 0; round < 100; round++) {
  const copy = JSON.parse(text);
  seen += copy.length;
  text = JSON.stringify(copy);
}
return { chars: text.length, seen };
