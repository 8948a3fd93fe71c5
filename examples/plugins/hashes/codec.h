/* Bytes as text: hex and base64, both ways, and whether bytes are UTF-8. */
#ifndef CODEC_H
#define CODEC_H

#include "../../../sdk/c/cloister.h"

static const char plain64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static cl_str hex_encode(cl_str s) {
    static const char digits[] = "0123456789abcdef";
    char *to = cl_alloc(s.length * 2);
    for (size_t i = 0; i < s.length; i++) {
        uint8_t b = (uint8_t)s.data[i];
        to[2 * i] = digits[b >> 4];
        to[2 * i + 1] = digits[b & 15];
    }
    return (cl_str){to, s.length * 2};
}

static bool hex_decode(cl_str s, cl_str *out) {
    if (s.length % 2 != 0) return false;
    char *to = cl_alloc(s.length / 2);
    for (size_t i = 0; i < s.length; i += 2) {
        int high = cl_hex(s.data[i]), low = cl_hex(s.data[i + 1]);
        if (high < 0 || low < 0) return false;
        to[i / 2] = (char)(high << 4 | low);
    }
    *out = (cl_str){to, s.length / 2};
    return true;
}

/* With padding in the plain alphabet, without in that for addresses. */
static cl_str base64_encode(cl_str s, bool url) {
    const char *alphabet = url ? url64 : plain64;
    char *to = cl_alloc(s.length / 3 * 4 + 4);
    size_t n = 0, i = 0;
    for (; i + 3 <= s.length; i += 3) {
        uint32_t v = (uint32_t)(uint8_t)s.data[i] << 16 | (uint32_t)(uint8_t)s.data[i + 1] << 8 | (uint8_t)s.data[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6) to[n++] = alphabet[v >> shift & 63];
    }
    size_t left = s.length - i;
    if (left > 0) {
        uint32_t v = (uint32_t)(uint8_t)s.data[i] << 16 | (left == 2 ? (uint32_t)(uint8_t)s.data[i + 1] << 8 : 0);
        for (size_t k = 0; k <= left; k++) to[n++] = alphabet[v >> (18 - 6 * k) & 63];
        for (; !url && left < 3; left++) to[n++] = '=';
    }
    return (cl_str){to, n};
}

static int digit64(char c, bool url) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    if (c == (url ? '-' : '+')) return 62;
    return c == (url ? '_' : '/') ? 63 : -1;
}

/* Strict: the right alphabet, padding all or none, no bits left over. One text stands for each sequence of bytes. */
static bool base64_decode(cl_str s, bool url, cl_str *out) {
    size_t n = s.length;
    if (n % 4 == 0)
        for (int pads = 0; pads < 2 && n > 0 && s.data[n - 1] == '='; pads++) n--;
    if (n % 4 == 1) return false;
    char *to = cl_alloc(n / 4 * 3 + 3);
    size_t length = 0;
    uint32_t bits = 0;
    int have = 0;
    for (size_t i = 0; i < n; i++) {
        int d = digit64(s.data[i], url);
        if (d < 0) return false;
        bits = bits << 6 | (uint32_t)d;
        have += 6;
        if (have >= 8) {
            have -= 8;
            to[length++] = (char)(bits >> have);
            bits &= (1u << have) - 1;
        }
    }
    if (bits != 0) return false;
    *out = (cl_str){to, length};
    return true;
}

static bool is_utf8(cl_str s) {
    for (size_t i = 0; i < s.length;) {
        uint8_t b = (uint8_t)s.data[i++];
        if (b < 0x80) continue;
        int more = b >= 0xf0 ? 3 : b >= 0xe0 ? 2 : 1;
        if (b < 0xc2 || b > 0xf4 || s.length - i < (size_t)more) return false;
        uint32_t c = b & (0x3f >> more);
        for (int k = 0; k < more; k++) {
            uint8_t next = (uint8_t)s.data[i++];
            if (next >> 6 != 2) return false;
            c = c << 6 | (next & 0x3f);
        }
        if ((more == 2 && c < 0x800) || (more == 3 && (c < 0x10000 || c > 0x10ffff)) || (c >= 0xd800 && c < 0xe000)) return false;
    }
    return true;
}

#endif
