/* Hashes and checksums: bytes in, a number or a digest out. */
#ifndef HASH_H
#define HASH_H

#include "../../../sdk/c/cloister.h"

static uint32_t load32(const uint8_t *p) {
    uint32_t v;
    __builtin_memcpy(&v, p, 4);
    return v;
}

static uint64_t load64(const uint8_t *p) {
    uint64_t v;
    __builtin_memcpy(&v, p, 8);
    return v;
}

static uint64_t rotl64(uint64_t v, int n) { return v << n | v >> (64 - n); }
static uint32_t rotr32(uint32_t v, int n) { return v >> n | v << (32 - n); }

/* ---- XXH64 (xxHash, 64 bit) ---- */

#define XXH_P1 0x9E3779B185EBCA87ull
#define XXH_P2 0xC2B2AE3D27D4EB4Full
#define XXH_P3 0x165667B19E3779F9ull
#define XXH_P4 0x85EBCA77C2B2AE63ull
#define XXH_P5 0x27D4EB2F165667C5ull

static uint64_t xxh_round(uint64_t lane, uint64_t word) { return rotl64(lane + word * XXH_P2, 31) * XXH_P1; }
static uint64_t xxh_merge(uint64_t h, uint64_t lane) { return (h ^ xxh_round(0, lane)) * XXH_P1 + XXH_P4; }

static uint64_t xxh64(const uint8_t *p, size_t n, uint64_t seed) {
    const uint8_t *end = p + n;
    uint64_t h = seed + XXH_P5;
    if (n >= 32) {
        uint64_t a = seed + XXH_P1 + XXH_P2, b = seed + XXH_P2, c = seed, d = seed - XXH_P1;
        for (; end - p >= 32; p += 32) {
            a = xxh_round(a, load64(p));
            b = xxh_round(b, load64(p + 8));
            c = xxh_round(c, load64(p + 16));
            d = xxh_round(d, load64(p + 24));
        }
        h = rotl64(a, 1) + rotl64(b, 7) + rotl64(c, 12) + rotl64(d, 18);
        h = xxh_merge(xxh_merge(xxh_merge(xxh_merge(h, a), b), c), d);
    }
    h += n;
    for (; end - p >= 8; p += 8) h = rotl64(h ^ xxh_round(0, load64(p)), 27) * XXH_P1 + XXH_P4;
    if (end - p >= 4) {
        h = rotl64(h ^ (uint64_t)load32(p) * XXH_P1, 23) * XXH_P2 + XXH_P3;
        p += 4;
    }
    for (; p < end; p++) h = rotl64(h ^ *p * XXH_P5, 11) * XXH_P1;
    h = (h ^ h >> 33) * XXH_P2;
    h = (h ^ h >> 29) * XXH_P3;
    return h ^ h >> 32;
}

/* ---- CRC-32 with a reflected polynomial, eight bytes at a step ---- */

typedef struct {
    bool ready;
    uint32_t t[8][256];
} crc_tables;

static const crc_tables *crc_make(crc_tables *c, uint32_t polynomial) {
    if (c->ready) return c;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t v = i;
        for (int k = 0; k < 8; k++) v = v & 1 ? v >> 1 ^ polynomial : v >> 1;
        c->t[0][i] = v;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++) c->t[k][i] = c->t[k - 1][i] >> 8 ^ c->t[0][c->t[k - 1][i] & 255];
    c->ready = true;
    return c;
}

static uint32_t crc_run(const crc_tables *c, const uint8_t *p, size_t n) {
    uint32_t crc = 0xffffffffu;
    for (; n >= 8; n -= 8, p += 8) {
        uint32_t a = load32(p) ^ crc, b = load32(p + 4);
        crc = c->t[7][a & 255] ^ c->t[6][a >> 8 & 255] ^ c->t[5][a >> 16 & 255] ^ c->t[4][a >> 24] ^
              c->t[3][b & 255] ^ c->t[2][b >> 8 & 255] ^ c->t[1][b >> 16 & 255] ^ c->t[0][b >> 24];
    }
    for (; n > 0; n--) crc = crc >> 8 ^ c->t[0][(crc ^ *p++) & 255];
    return ~crc;
}

/* The tables are the same for every call, so that the tools stay stateless. */
static crc_tables crc_ieee, crc_castagnoli;

static uint32_t crc32(const uint8_t *p, size_t n) { return crc_run(crc_make(&crc_ieee, 0xEDB88320u), p, n); }
static uint32_t crc32c(const uint8_t *p, size_t n) { return crc_run(crc_make(&crc_castagnoli, 0x82F63B78u), p, n); }

/* ---- Adler-32 and FNV-1a ---- */

static uint32_t adler32(const uint8_t *p, size_t n) {
    uint32_t a = 1, b = 0;
    while (n > 0) {
        size_t part = n < 5552 ? n : 5552; /* the most that b can take without a division */
        n -= part;
        for (; part > 0; part--) {
            a += *p++;
            b += a;
        }
        a %= 65521;
        b %= 65521;
    }
    return b << 16 | a;
}

static uint64_t fnv1a64(const uint8_t *p, size_t n) {
    uint64_t h = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3ull;
    return h;
}

/* ---- SHA-256 (FIPS 180-4) ---- */

static const uint32_t sha_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static void sha_block(uint32_t s[8], const uint8_t *p) {
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++) w[i] = __builtin_bswap32(load32(p + 4 * i));
    for (int i = 16; i < 64; i++) {
        uint32_t x = w[i - 15], y = w[i - 2];
        w[i] = w[i - 16] + (rotr32(x, 7) ^ rotr32(x, 18) ^ x >> 3) + w[i - 7] + (rotr32(y, 17) ^ rotr32(y, 19) ^ y >> 10);
    }
    for (int i = 0; i < 8; i++) v[i] = s[i];
    for (int i = 0; i < 64; i++) {
        uint32_t e = v[4], a = v[0];
        uint32_t t1 = v[7] + (rotr32(e, 6) ^ rotr32(e, 11) ^ rotr32(e, 25)) + ((e & v[5]) ^ (~e & v[6])) + sha_k[i] + w[i];
        uint32_t t2 = (rotr32(a, 2) ^ rotr32(a, 13) ^ rotr32(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        for (int k = 7; k > 0; k--) v[k] = v[k - 1];
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) s[i] += v[i];
}

static void sha256(const uint8_t *p, size_t n, uint8_t out[32]) {
    uint32_t s[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    size_t left = n;
    for (; left >= 64; left -= 64, p += 64) sha_block(s, p);
    uint8_t last[128] = {0};
    size_t size = left < 56 ? 64 : 128;
    for (size_t i = 0; i < left; i++) last[i] = p[i];
    last[left] = 0x80;
    uint64_t bits = (uint64_t)n * 8;
    for (int i = 0; i < 8; i++) last[size - 1 - i] = (uint8_t)(bits >> (8 * i));
    for (size_t at = 0; at < size; at += 64) sha_block(s, last + at);
    for (int i = 0; i < 32; i++) out[i] = (uint8_t)(s[i / 4] >> (24 - 8 * (i % 4)));
}

#endif
