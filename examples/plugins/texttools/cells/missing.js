try {
  await Texts.fill("{{a}} {{b.c}}", { a: 1 });
} catch (error) {
  return [error.code, error.message];
}
