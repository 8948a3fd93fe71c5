/* cloister.h: the SDK for authors of Cloister plugins in C. One header, no library, not even libc.
 *
 *     #include "cloister.h"
 *
 *     static void greet(cl_call *c) {
 *         cl_str name;
 *         if (!cl_text(cl_member(c->input, "name"), &name)) {
 *             cl_fail(c, "nobody", "say whom to greet in \"name\"");
 *             return;
 *         }
 *         cl_open(c, '{');
 *         cl_key(c, "text");
 *         cl_put_quoted(c, cl_join(cl_lit("Hello, "), name));
 *         cl_close(c, '}');
 *     }
 *
 *     CL_PLUGIN({"greet", greet})
 *
 * Build it with clang and lld:
 *
 *     clang --target=wasm32 -O2 -ffreestanding -mbulk-memory -nostdlib -Wl,--no-entry -o plugin.wasm plugin.c
 *
 * A tool reads its input, which the host has checked against the schema in the manifest, and writes one JSON value: with
 * cl_open, cl_key, cl_put_... and cl_close, which put the commas. Or it fails with cl_fail, after which what it wrote
 * does not count. All memory is from cl_alloc and is free again when the call ends, so a tool that keeps nothing in
 * static variables may be declared "stateless" in the manifest.
 *
 * Host functions (cl_host_...) are imports of the module only if they are used; the host refuses a module with imports
 * that the manifest's permissions do not grant.
 */
#ifndef CLOISTER_H
#define CLOISTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef __wasm32__
#error "plugins are built for WebAssembly: clang --target=wasm32"
#endif

#define CL_ABI 1
#define CL_API static inline __attribute__((unused))
#define CL_ENV(name) __attribute__((import_module("extism:host/env"), import_name(name)))
#define CL_HOST(name) __attribute__((import_module("cloister:host"), import_name(name)))
#define CL_EXPORT(name) __attribute__((export_name(name)))

/* Bytes: UTF-8 text, or anything. */
typedef struct {
    const char *data;
    size_t length;
} cl_str;

/* A JSON value as it stands in the text; data is 0 where there is none. */
typedef cl_str cl_view;

/* One call of a tool. */
typedef struct {
    cl_view input; /* an object */
    char *out;
    size_t length, room;
    bool failed;
    cl_str code, message;
} cl_call;

/* What runs a tool. */
typedef struct {
    const char *name;
    void (*run)(cl_call *);
} cl_tool;

/* ---- Extism ---- */

CL_ENV("input_length") uint64_t cl_env_input_length(void);
CL_ENV("input_load_u8") uint32_t cl_env_input_load_u8(uint64_t);
CL_ENV("input_load_u64") uint64_t cl_env_input_load_u64(uint64_t);
CL_ENV("length") uint64_t cl_env_length(uint64_t);
CL_ENV("alloc") uint64_t cl_env_alloc(uint64_t);
CL_ENV("free") void cl_env_free(uint64_t);
CL_ENV("load_u8") uint32_t cl_env_load_u8(uint64_t);
CL_ENV("load_u64") uint64_t cl_env_load_u64(uint64_t);
CL_ENV("store_u8") void cl_env_store_u8(uint64_t, uint32_t);
CL_ENV("store_u64") void cl_env_store_u64(uint64_t, uint64_t);
CL_ENV("output_set") void cl_env_output_set(uint64_t, uint64_t);
CL_ENV("error_set") void cl_env_error_set(uint64_t);
CL_ENV("log_error") void cl_env_log_error(uint64_t);

/* The compiler calls these by itself. With -mbulk-memory each is one instruction. */
__attribute__((weak)) void *memcpy(void *to, const void *from, size_t n) { return __builtin_memcpy(to, from, n); }
__attribute__((weak)) void *memmove(void *to, const void *from, size_t n) { return __builtin_memmove(to, from, n); }
__attribute__((weak)) void *memset(void *to, int byte, size_t n) { return __builtin_memset(to, byte, n); }

/* ---- bytes and memory ---- */

CL_API size_t cl_strlen(const char *s) {
    size_t n = 0;
    while (s[n]) n++;
    return n;
}

CL_API cl_str cl_lit(const char *s) { return (cl_str){s, cl_strlen(s)}; }

CL_API bool cl_same(cl_str a, cl_str b) {
    if (a.length != b.length) return false;
    for (size_t i = 0; i < a.length; i++)
        if (a.data[i] != b.data[i]) return false;
    return true;
}

/* Copies bytes into a block of the memory that plugin and host share. */
CL_API uint64_t cl_share(cl_str s) {
    uint64_t at = cl_env_alloc(s.length);
    size_t i = 0;
    for (; i + 8 <= s.length; i += 8) {
        uint64_t word;
        __builtin_memcpy(&word, s.data + i, 8);
        cl_env_store_u64(at + i, word);
    }
    for (; i < s.length; i++) cl_env_store_u8(at + i, (uint8_t)s.data[i]);
    return at;
}

/* Ends the instance with a text for the host's log, for what a tool cannot handle. */
__attribute__((noreturn)) CL_API void cl_abort(const char *message) {
    cl_env_log_error(cl_share(cl_lit(message))); /* the host frees the block */
    cl_env_error_set(cl_share(cl_lit(message)));
    __builtin_trap();
}

extern unsigned char __heap_base;
static uintptr_t cl_next_free;

/* Gives memory, aligned to 16, that is free again when the call ends. Never 0: without memory the instance ends. */
CL_API void *cl_alloc(size_t n) {
    if (cl_next_free == 0) cl_next_free = (uintptr_t)&__heap_base;
    uintptr_t at = (cl_next_free + 15) & ~(uintptr_t)15;
    uint64_t end = (uint64_t)at + n;
    uint64_t have = (uint64_t)__builtin_wasm_memory_size(0) << 16;
    if (end > have) {
        uint64_t pages = (end - have + 0xffff) >> 16;
        if (end > UINT32_MAX || __builtin_wasm_memory_grow(0, (size_t)pages) == (size_t)-1)
            cl_abort("the plugin ran out of memory");
    }
    cl_next_free = (uintptr_t)end;
    return (void *)at;
}

/* The bytes of two, one after the other. */
CL_API cl_str cl_join(cl_str a, cl_str b) {
    char *p = cl_alloc(a.length + b.length);
    __builtin_memcpy(p, a.data, a.length);
    __builtin_memcpy(p + a.length, b.data, b.length);
    return (cl_str){p, a.length + b.length};
}

/* ---- reading JSON ---- */

CL_API const char *cl_space(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
    return p;
}

/* Where the value at p ends; end if it does not. Needs no stack, however deep the value is. */
CL_API const char *cl_skip(const char *p, const char *end) {
    size_t depth = 0;
    for (;;) {
        p = cl_space(p, end);
        if (p >= end) return end;
        if (*p == '"') {
            for (p++; p < end && *p != '"'; p++)
                if (*p == '\\') p++;
            p = p < end ? p + 1 : end;
        } else if (*p == '{' || *p == '[') {
            depth++;
            p++;
            continue;
        } else if (*p == '}' || *p == ']' || *p == ',' || *p == ':') {
            if (depth == 0) return p;
            if (*p == '}' || *p == ']') depth--;
            p++;
        } else {
            while (p < end && *p != ',' && *p != ']' && *p != '}' && *p != ':' && *p != ' ' && *p != '\n' && *p != '\r' && *p != '\t') p++;
        }
        if (depth == 0) return p;
    }
}

/* Walks over the members of an object or the elements of an array:
 *     cl_walk w = cl_over(view);
 *     while (cl_step(&w)) use(w.key, w.value);
 * Keys are JSON strings, read them with cl_text; those of elements are empty. */
typedef struct {
    const char *p, *end;
    bool object;
    cl_view key, value;
} cl_walk;

CL_API cl_walk cl_over(cl_view v) {
    cl_walk w = {0, 0, false, {0, 0}, {0, 0}};
    const char *start = cl_space(v.data, v.data + v.length);
    v = (cl_view){start, v.length - (size_t)(start - v.data)};
    while (v.length > 0 && cl_space(v.data + v.length - 1, v.data + v.length) == v.data + v.length) v.length--;
    if (v.length >= 2 && (v.data[0] == '{' || v.data[0] == '[')) {
        w.object = v.data[0] == '{';
        w.p = v.data + 1;
        w.end = v.data + v.length - 1;
    }
    return w;
}

CL_API bool cl_step(cl_walk *w) {
    const char *p = cl_space(w->p, w->end);
    if (p >= w->end) return false;
    const char *after;
    if (w->object) {
        after = cl_skip(p, w->end);
        w->key = (cl_view){p, (size_t)(after - p)};
        p = cl_space(after, w->end);
        if (p < w->end) p++; /* the colon */
        p = cl_space(p, w->end);
    }
    after = cl_skip(p, w->end);
    w->value = (cl_view){p, (size_t)(after - p)};
    p = cl_space(after, w->end);
    w->p = p < w->end ? p + 1 : p; /* the comma */
    return w->value.length > 0;
}

CL_API int cl_hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

CL_API int32_t cl_hex4(const char *p, const char *end) {
    int32_t code = 0;
    if (end - p < 4) return -1;
    for (int i = 0; i < 4; i++) {
        int d = cl_hex(p[i]);
        if (d < 0) return -1;
        code = code << 4 | d;
    }
    return code;
}

/* Writes a code point as UTF-8 and says how many bytes that took. */
CL_API size_t cl_utf8(char *to, uint32_t c) {
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xe0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 0x3f));
        to[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | c >> 18);
    to[1] = (char)(0x80 | (c >> 12 & 0x3f));
    to[2] = (char)(0x80 | (c >> 6 & 0x3f));
    to[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* Reads a JSON string; false if v is none. Without escapes the bytes are those of v. */
CL_API bool cl_text(cl_view v, cl_str *out) {
    if (v.length < 2 || v.data[0] != '"' || v.data[v.length - 1] != '"') return false;
    const char *p = v.data + 1, *end = v.data + v.length - 1;
    const char *escape = p;
    while (escape < end && *escape != '\\') escape++;
    if (escape == end) {
        *out = (cl_str){p, (size_t)(end - p)};
        return true;
    }
    char *to = cl_alloc(v.length);
    size_t n = 0;
    while (p < end) {
        if (*p != '\\') {
            to[n++] = *p++;
            continue;
        }
        if (++p >= end) return false;
        switch (*p++) {
        case 'b': to[n++] = '\b'; break;
        case 'f': to[n++] = '\f'; break;
        case 'n': to[n++] = '\n'; break;
        case 'r': to[n++] = '\r'; break;
        case 't': to[n++] = '\t'; break;
        case 'u': {
            int32_t c = cl_hex4(p, end);
            if (c < 0) return false;
            p += 4;
            if (c >= 0xd800 && c < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
                int32_t low = cl_hex4(p + 2, end);
                if (low >= 0xdc00 && low < 0xe000) {
                    c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
                    p += 6;
                }
            }
            if (c >= 0xd800 && c < 0xe000) c = 0xfffd; /* half a pair */
            n += cl_utf8(to + n, (uint32_t)c);
            break;
        }
        default: to[n++] = p[-1];
        }
    }
    *out = (cl_str){to, n};
    return true;
}

/* A member of an object; data is 0 where there is none, or null. */
CL_API cl_view cl_member(cl_view object, const char *name) {
    cl_walk w = cl_over(object);
    cl_str key;
    while (w.object && cl_step(&w)) {
        if (cl_text(w.key, &key) && cl_same(key, cl_lit(name)))
            return w.value.data[0] == 'n' ? (cl_view){0, 0} : w.value;
    }
    return (cl_view){0, 0};
}

CL_API bool cl_is_array(cl_view v) { return v.length > 0 && v.data[0] == '['; }
CL_API bool cl_is_true(cl_view v) { return cl_same(v, cl_lit("true")); }

/* Reads a whole number in JSON; false if v is none, or none that fits. "2.0" and "1e3" are whole numbers, too. */
CL_API bool cl_int(cl_view v, int64_t *out) {
    size_t i = 0;
    bool negative = v.length > 0 && v.data[0] == '-';
    if (negative) i++;
    uint64_t n = 0;
    int32_t scale = 0; /* tens that are still to come */
    bool digits = false, point = false;
    for (; i < v.length && v.data[i] != 'e' && v.data[i] != 'E'; i++) {
        char c = v.data[i];
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9') return false;
        digits = true;
        if (point && c == '0') { /* zeros at the end of a fraction say nothing */
            size_t k = i;
            while (k < v.length && v.data[k] == '0') k++;
            if (k == v.length || v.data[k] == 'e' || v.data[k] == 'E') {
                i = k - 1;
                continue;
            }
        }
        if (n > (UINT64_MAX - 9) / 10) return false;
        n = n * 10 + (uint64_t)(c - '0');
        if (point) scale--;
    }
    if (!digits) return false;
    if (i < v.length) {
        int32_t exponent = 0;
        bool down = ++i < v.length && v.data[i] == '-';
        if (i < v.length && (v.data[i] == '-' || v.data[i] == '+')) i++;
        for (; i < v.length; i++) {
            if (v.data[i] < '0' || v.data[i] > '9') return false;
            if (exponent < 10000) exponent = exponent * 10 + (v.data[i] - '0');
        }
        scale += down ? -exponent : exponent;
    }
    for (; n != 0 && scale < 0; scale++) {
        if (n % 10 != 0) return false;
        n /= 10;
    }
    for (; n != 0 && scale > 0; scale--) {
        if (n > UINT64_MAX / 10) return false;
        n *= 10;
    }
    if (n > (uint64_t)INT64_MAX) return false;
    *out = negative ? -(int64_t)n : (int64_t)n;
    return true;
}

/* ---- writing JSON ---- */

CL_API void cl_put(cl_call *c, cl_str s) {
    if (s.length > c->room - c->length) {
        size_t room = (c->length + s.length) * 2 + 256;
        char *bigger = cl_alloc(room);
        __builtin_memcpy(bigger, c->out, c->length);
        c->out = bigger;
        c->room = room;
    }
    __builtin_memcpy(c->out + c->length, s.data, s.length);
    c->length += s.length;
}

CL_API void cl_put_char(cl_call *c, char b) { cl_put(c, (cl_str){&b, 1}); }

/* Puts a comma where one is due: before a key, and before an element. */
CL_API void cl_comma(cl_call *c) {
    char last = c->length > 0 ? c->out[c->length - 1] : '[';
    if (last != '{' && last != '[' && last != ':') cl_put_char(c, ',');
}

CL_API void cl_put_escaped(cl_call *c, cl_str s) {
    static const char hex[] = "0123456789abcdef";
    cl_put_char(c, '"');
    size_t from = 0;
    for (size_t i = 0; i < s.length; i++) {
        unsigned char b = (unsigned char)s.data[i];
        if (b >= 0x20 && b != '"' && b != '\\') continue;
        cl_put(c, (cl_str){s.data + from, i - from});
        from = i + 1;
        if (b == '"' || b == '\\') {
            char pair[2] = {'\\', (char)b};
            cl_put(c, (cl_str){pair, 2});
        } else {
            char code[6] = {'\\', 'u', '0', '0', hex[b >> 4], hex[b & 15]};
            cl_put(c, (cl_str){code, 6});
        }
    }
    cl_put(c, (cl_str){s.data + from, s.length - from});
    cl_put_char(c, '"');
}

/* Starts an object or an array: '{' or '['. */
CL_API void cl_open(cl_call *c, char bracket) {
    cl_comma(c);
    cl_put_char(c, bracket);
}

/* Ends it: '}' or ']'. */
CL_API void cl_close(cl_call *c, char bracket) { cl_put_char(c, bracket); }

/* Starts a member of an object; a value follows. */
CL_API void cl_key(cl_call *c, const char *name) {
    cl_comma(c);
    cl_put_escaped(c, cl_lit(name));
    cl_put_char(c, ':');
}

/* A JSON string. The bytes must be UTF-8. */
CL_API void cl_put_quoted(cl_call *c, cl_str s) {
    cl_comma(c);
    cl_put_escaped(c, s);
}

/* What is JSON already. */
CL_API void cl_put_raw(cl_call *c, cl_str s) {
    cl_comma(c);
    cl_put(c, s);
}

CL_API void cl_put_bool(cl_call *c, bool v) { cl_put_raw(c, cl_lit(v ? "true" : "false")); }

CL_API void cl_put_uint(cl_call *c, uint64_t v) {
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    cl_put_raw(c, (cl_str){digits + at, sizeof digits - at});
}

CL_API void cl_put_int(cl_call *c, int64_t v) {
    if (v >= 0) {
        cl_put_uint(c, (uint64_t)v);
        return;
    }
    cl_comma(c);
    cl_put_char(c, '-');
    char digits[20];
    size_t at = sizeof digits;
    uint64_t n = (uint64_t)0 - (uint64_t)v;
    do {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n != 0);
    cl_put(c, (cl_str){digits + at, sizeof digits - at});
}

/* ---- failures ---- */

/* Makes the call fail: a code for programs (lower-case letters, digits, underscores), and a text that says how to mend
 * it, in UTF-8. */
CL_API void cl_fail_with(cl_call *c, const char *code, cl_str message) {
    c->failed = true;
    c->code = cl_lit(code);
    c->message = message;
}

CL_API void cl_fail(cl_call *c, const char *code, const char *message) { cl_fail_with(c, code, cl_lit(message)); }

/* ---- host functions ---- */

CL_HOST("log") uint64_t cl_import_log(uint64_t);
CL_HOST("progress") uint64_t cl_import_progress(uint64_t);
CL_HOST("config_get") uint64_t cl_import_config_get(uint64_t);
CL_HOST("kv_get") uint64_t cl_import_kv_get(uint64_t);
CL_HOST("kv_put") uint64_t cl_import_kv_put(uint64_t);
CL_HOST("kv_delete") uint64_t cl_import_kv_delete(uint64_t);
CL_HOST("http") uint64_t cl_import_http(uint64_t);
CL_HOST("call_tool") uint64_t cl_import_call_tool(uint64_t);
CL_HOST("interrupt") uint64_t cl_import_interrupt(uint64_t);
CL_HOST("now") uint64_t cl_import_now(uint64_t);
CL_HOST("random") uint64_t cl_import_random(uint64_t);

/* What the host answered. */
typedef struct {
    bool ok;
    cl_view value;        /* where ok: any JSON */
    cl_str code, message; /* where not */
} cl_answer;

/* Starts a request: an object with the version in it. Put its members with cl_key and cl_put_..., end it with
 * cl_close(&r, '}'), and send it with cl_ask. */
CL_API cl_call cl_request(void) {
    cl_call r = {{0, 0}, 0, 0, 0, false, {0, 0}, {0, 0}};
    cl_open(&r, '{');
    cl_key(&r, "abi");
    cl_put_uint(&r, CL_ABI);
    return r;
}

CL_API cl_str cl_take(uint64_t at) {
    size_t n = (size_t)cl_env_length(at), i = 0;
    char *to = cl_alloc(n);
    for (; i + 8 <= n; i += 8) {
        uint64_t word = cl_env_load_u64(at + i);
        __builtin_memcpy(to + i, &word, 8);
    }
    for (; i < n; i++) to[i] = (char)cl_env_load_u8(at + i);
    cl_env_free(at);
    return (cl_str){to, n};
}

/* Sends a request to a host function, one of the cl_import_... above:
 *     cl_answer a = cl_ask(&r, cl_import_http);
 * The messages are those of the contract (guestabi/plugin.go). */
CL_API cl_answer cl_ask(cl_call *r, uint64_t (*function)(uint64_t)) {
    uint64_t at = cl_share((cl_str){r->out, r->length});
    uint64_t answered = function(at);
    cl_env_free(at);
    cl_str text = cl_take(answered);
    cl_answer a = {false, {0, 0}, cl_lit("invalid_response"), cl_lit("the host did not answer")};
    int64_t abi = 0;
    if (!cl_int(cl_member(text, "abi"), &abi) || abi != CL_ABI) return a;
    cl_walk w = cl_over(text);
    cl_str key;
    while (cl_step(&w)) {
        if (!cl_text(w.key, &key)) continue;
        if (cl_same(key, cl_lit("value"))) {
            a.ok = true;
            a.value = w.value;
        } else if (cl_same(key, cl_lit("error"))) {
            a.code = a.message = (cl_str){0, 0};
            cl_text(cl_member(w.value, "code"), &a.code);
            cl_text(cl_member(w.value, "message"), &a.message);
        }
    }
    return a;
}

/* Writes a line to the host's log. The level is "trace", "debug", "info", "warn" or "error". */
CL_API void cl_host_log(const char *level, cl_str message) {
    cl_call r = cl_request();
    cl_key(&r, "level");
    cl_put_quoted(&r, cl_lit(level));
    cl_key(&r, "message");
    cl_put_quoted(&r, message);
    cl_close(&r, '}');
    cl_ask(&r, cl_import_log);
}

/* Reports how far the call is; a total of 0 means that it is not known. */
CL_API void cl_host_progress(uint64_t done, uint64_t total, cl_str message) {
    cl_call r = cl_request();
    cl_key(&r, "progress");
    cl_put_uint(&r, done);
    cl_key(&r, "total");
    cl_put_uint(&r, total);
    cl_key(&r, "message");
    cl_put_quoted(&r, message);
    cl_close(&r, '}');
    cl_ask(&r, cl_import_progress);
}

/* What the operator set for a key of permissions.config; null where nothing is set. */
CL_API cl_answer cl_host_config(const char *key) {
    cl_call r = cl_request();
    cl_key(&r, "key");
    cl_put_quoted(&r, cl_lit(key));
    cl_close(&r, '}');
    return cl_ask(&r, cl_import_config_get);
}

/* Runs another tool, an entry of permissions.tools; input is a JSON object. */
CL_API cl_answer cl_host_call_tool(const char *tool, cl_str input) {
    cl_call r = cl_request();
    cl_key(&r, "tool");
    cl_put_quoted(&r, cl_lit(tool));
    cl_key(&r, "input");
    cl_put_raw(&r, input);
    cl_close(&r, '}');
    return cl_ask(&r, cl_import_call_tool);
}

/* The host's clock in milliseconds since 1970, UTC; 0 where the host does not answer. */
CL_API int64_t cl_host_now(void) {
    cl_call r = cl_request();
    cl_close(&r, '}');
    cl_answer a = cl_ask(&r, cl_import_now);
    int64_t ms = 0;
    cl_int(cl_member(a.value, "unixMs"), &ms);
    return ms;
}

/* ---- exports ---- */

CL_API cl_str cl_input(void) {
    size_t n = (size_t)cl_env_input_length(), i = 0;
    char *to = cl_alloc(n);
    for (; i + 8 <= n; i += 8) {
        uint64_t word = cl_env_input_load_u64(i);
        __builtin_memcpy(to + i, &word, 8);
    }
    for (; i < n; i++) to[i] = (char)cl_env_input_load_u8(i);
    return (cl_str){to, n};
}

/* Writes the contract's envelope. */
CL_API int32_t cl_reply(cl_call *c) {
    cl_call r = cl_request();
    if (c->failed) {
        cl_key(&r, "error");
        cl_open(&r, '{');
        cl_key(&r, "code");
        cl_put_quoted(&r, c->code);
        cl_key(&r, "message");
        cl_put_quoted(&r, c->message);
        cl_close(&r, '}');
    } else {
        cl_key(&r, "value");
        cl_put_raw(&r, c->length > 0 ? (cl_str){c->out, c->length} : cl_lit("null"));
    }
    cl_close(&r, '}');
    cl_env_output_set(cl_share((cl_str){r.out, r.length}), r.length);
    return 0;
}

CL_API int32_t cl_run(const cl_tool *tools, size_t count) {
    cl_next_free = 0; /* what the last call allocated is free again */
    cl_call c = {{0, 0}, 0, 0, 0, false, {0, 0}, {0, 0}};
    cl_str request = cl_input(), name;
    int64_t abi = 0;
    if (!cl_int(cl_member(request, "abi"), &abi) || abi != CL_ABI) {
        cl_fail(&c, "unsupported_abi", "the host speaks another version of the messages; build the plugin with a newer SDK");
        return cl_reply(&c);
    }
    c.input = cl_member(request, "input");
    if (cl_text(cl_member(request, "tool"), &name)) {
        for (size_t i = 0; i < count; i++) {
            if (cl_same(name, cl_lit(tools[i].name))) {
                tools[i].run(&c);
                return cl_reply(&c);
            }
        }
    }
    cl_fail(&c, "unknown_tool", "the plugin has no such tool");
    return cl_reply(&c);
}

CL_API int32_t cl_describe(const cl_tool *tools, size_t count) {
    cl_next_free = 0;
    cl_call c = {{0, 0}, 0, 0, 0, false, {0, 0}, {0, 0}};
    cl_open(&c, '{');
    cl_key(&c, "tools");
    cl_open(&c, '[');
    for (size_t i = 0; i < count; i++) {
        cl_open(&c, '{');
        cl_key(&c, "name");
        cl_put_quoted(&c, cl_lit(tools[i].name));
        cl_close(&c, '}');
    }
    cl_close(&c, ']');
    cl_close(&c, '}');
    return cl_reply(&c);
}

/* Makes the plugin: CL_PLUGIN({"name", function}, {"other", other_function}) */
#define CL_PLUGIN(...)                                                                              \
    static const cl_tool cl_tools[] = {__VA_ARGS__};                                                \
    CL_EXPORT("cloister_call") int32_t cloister_call(void) {                                        \
        return cl_run(cl_tools, sizeof cl_tools / sizeof cl_tools[0]);                              \
    }                                                                                               \
    CL_EXPORT("cloister_describe") int32_t cloister_describe(void) {                                \
        return cl_describe(cl_tools, sizeof cl_tools / sizeof cl_tools[0]);                         \
    }

#endif
