/* The plugin examples.hashes: checksums, and bytes as text, in C. */

#include "codec.h"
#include "hash.h"

/* Reads the bytes of a text in one of the forms; false after cl_fail. */
static bool bytes_of(cl_call *c, cl_view value, cl_view form, cl_str *out) {
    cl_str text = {0, 0}, from = cl_lit("text");
    if (!cl_text(value, &text)) {
        cl_fail(c, "invalid_input", "give the bytes as text in \"data\"");
        return false;
    }
    cl_text(form, &from);
    *out = text;
    if (cl_same(from, cl_lit("text"))) return true;
    if (cl_same(from, cl_lit("hex")) ? hex_decode(text, out)
                                     : base64_decode(text, cl_same(from, cl_lit("base64url")), out))
        return true;
    cl_fail_with(c, "invalid_data", cl_join(cl_lit("the data is not "), from));
    return false;
}

static cl_str hex_number(uint64_t v, size_t bytes) {
    char *big = cl_alloc(8);
    for (size_t i = 0; i < bytes; i++) big[i] = (char)(v >> (8 * (bytes - 1 - i)));
    return hex_encode((cl_str){big, bytes});
}

/* The digest of bytes in hex; false after cl_fail. */
static bool digest(cl_call *c, cl_str algorithm, uint64_t seed, cl_str s, cl_str *hex) {
    const uint8_t *p = (const uint8_t *)s.data;
    if (cl_same(algorithm, cl_lit("xxh64"))) {
        *hex = hex_number(xxh64(p, s.length, seed), 8);
    } else if (cl_same(algorithm, cl_lit("fnv1a64"))) {
        *hex = hex_number(fnv1a64(p, s.length), 8);
    } else if (cl_same(algorithm, cl_lit("crc32"))) {
        *hex = hex_number(crc32(p, s.length), 4);
    } else if (cl_same(algorithm, cl_lit("crc32c"))) {
        *hex = hex_number(crc32c(p, s.length), 4);
    } else if (cl_same(algorithm, cl_lit("adler32"))) {
        *hex = hex_number(adler32(p, s.length), 4);
    } else if (cl_same(algorithm, cl_lit("sha256"))) {
        char *sum = cl_alloc(32);
        sha256(p, s.length, (uint8_t *)sum);
        *hex = hex_encode((cl_str){sum, 32});
    } else {
        cl_fail(c, "unknown_algorithm", "take xxh64, fnv1a64, crc32, crc32c, adler32 or sha256");
        return false;
    }
    return true;
}

static void read_algorithm(cl_call *c, cl_str *algorithm, uint64_t *seed) {
    int64_t n = 0;
    *algorithm = cl_lit("xxh64");
    cl_text(cl_member(c->input, "algorithm"), algorithm);
    cl_int(cl_member(c->input, "seed"), &n);
    *seed = (uint64_t)n;
}

static void checksum(cl_call *c) {
    cl_str algorithm, data, hex;
    uint64_t seed;
    read_algorithm(c, &algorithm, &seed);
    if (!bytes_of(c, cl_member(c->input, "data"), cl_member(c->input, "from"), &data)) return;
    if (!digest(c, algorithm, seed, data, &hex)) return;
    cl_open(c, '{');
    cl_key(c, "hex");
    cl_put_quoted(c, hex);
    cl_key(c, "bytes");
    cl_put_uint(c, data.length);
    cl_close(c, '}');
}

static void checksums(cl_call *c) {
    cl_str algorithm, data, hex;
    uint64_t seed;
    read_algorithm(c, &algorithm, &seed);
    cl_open(c, '{');
    cl_key(c, "hex");
    cl_open(c, '[');
    cl_walk w = cl_over(cl_member(c->input, "items"));
    while (cl_step(&w)) {
        if (!bytes_of(c, w.value, cl_member(c->input, "from"), &data) || !digest(c, algorithm, seed, data, &hex)) return;
        cl_put_quoted(c, hex);
    }
    cl_close(c, ']');
    cl_close(c, '}');
}

static void convert_bytes(cl_call *c) {
    cl_str data, to = cl_lit("text");
    if (!bytes_of(c, cl_member(c->input, "data"), cl_member(c->input, "from"), &data)) return;
    cl_text(cl_member(c->input, "to"), &to);
    cl_str out = data;
    if (cl_same(to, cl_lit("hex"))) {
        out = hex_encode(data);
    } else if (cl_same(to, cl_lit("base64")) || cl_same(to, cl_lit("base64url"))) {
        out = base64_encode(data, to.length > 6);
    } else if (!is_utf8(data)) {
        cl_fail(c, "not_text", "the bytes are not UTF-8 text; take another form in \"to\"");
        return;
    }
    cl_open(c, '{');
    cl_key(c, "data");
    cl_put_quoted(c, out);
    cl_key(c, "bytes");
    cl_put_uint(c, data.length);
    cl_close(c, '}');
}

CL_PLUGIN({"checksum", checksum}, {"checksums", checksums}, {"convert_bytes", convert_bytes})
