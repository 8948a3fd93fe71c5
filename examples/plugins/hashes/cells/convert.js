const encoded = await Hashes.convert("Zürich ✓", "text", "base64url");
const back = await Hashes.convert(encoded.data, "base64url", "text");
const sum = await Hashes.checksum("Zürich ✓", "crc32c");
let code;
try {
  await tools.convert_bytes({ data: "ff", from: "hex", to: "text" });
} catch (error) {
  code = error.code;
}
return { encoded, back: back.data, same: sum.hex === (await Hashes.checksum(encoded.data, "crc32c", "base64url")).hex, code };
