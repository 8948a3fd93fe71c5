// Slugs, a template and a difference.
const titles = ["Crème brûlée", "Smörgåsbord & Co.", "Straße 7"];
const slugs = [];
for (const title of titles) slugs.push((await Texts.slug(title)).slug);
const { text } = await Texts.fill("{{count}} recipes: {{slugs.0}}, {{slugs.1}}\n", { count: slugs.length, slugs });
const { unified, added, removed } = await Texts.diff("one\ntwo\nthree\n", "one\n2\nthree\n", 0);
const near = [];
for (const name of ["Jonhson", "Johnson", "Jensen"]) near.push((await Texts.distance("Johnson", name)).distance);
const words = await tools.word_frequency({ text: text.repeat(2), top: 1, minLength: 4 });
return { slugs, text, unified, added, removed, near, words };
