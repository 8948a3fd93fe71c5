let text = "";
for (let i = 0; i < 20000; i++) {
  text += "word" + (i % 977) + (i % 10 === 9 ? "\n" : " ");
}
const counts = new Map();
for (const line of text.split("\n")) {
  for (const word of line.trim().split(" ")) {
    if (word !== "") {
      counts.set(word, (counts.get(word) ?? 0) + 1);
    }
  }
}
const joined = [...counts.keys()].map((word) => word.toUpperCase()).join(",");
const digits = text.replace(/word/g, "").replaceAll("\n", " ");
return {
  chars: text.length,
  words: counts.size,
  first: counts.get("word0"),
  joined: joined.length,
  digits: digits.length,
  at: text.indexOf("word976"),
};
