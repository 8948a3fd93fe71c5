package redact

import "strings"

// keyForm is how the keys of one service look: a prefix, then at least min letters,
// digits and characters of also.
type keyForm struct {
	prefix string
	min    int
	also   string
}

// keyForms are the forms of keys that are known by their first characters.
var keyForms = []keyForm{
	{"sk-", 12, "_-"}, {"rk-", 12, "_-"}, {"pk-", 12, "_-"}, // OpenAI, Anthropic, OpenRouter
	{"sk_live_", 8, ""}, {"sk_test_", 8, ""}, {"rk_live_", 8, ""}, {"rk_test_", 8, ""}, {"whsec_", 8, "+/="}, // Stripe
	{"ghp_", 16, ""}, {"gho_", 16, ""}, {"ghu_", 16, ""}, {"ghs_", 16, "_.-"}, {"ghr_", 16, ""}, {"github_pat_", 16, "_"},
	{"glpat-", 12, "_.-"}, {"glptt-", 12, "_.-"}, {"gldt-", 12, "_.-"}, {"glrt-", 12, "_.-"}, {"glcbt-", 12, "_.-"}, {"gloas-", 12, "_.-"},
	{"xoxa-", 8, "-"}, {"xoxb-", 8, "-"}, {"xoxc-", 8, "-"}, {"xoxd-", 8, "-%"}, {"xoxe-", 8, "-"}, {"xoxe.", 8, "-."}, {"xoxp-", 8, "-"},
	{"xoxr-", 8, "-"}, {"xoxs-", 8, "-"}, {"xapp-", 8, "-"}, // Slack
	{"AKIA", 12, ""}, {"ASIA", 12, ""}, {"ABIA", 12, ""}, {"ACCA", 12, ""}, // AWS
	{"AIza", 16, "_-"}, {"ya29.", 8, "_.-"}, {"GOCSPX-", 8, "_-"}, // Google
	{"npm_", 16, ""}, {"pypi-", 16, "_-"}, {"dckr_pat_", 12, "_-"}, {"dop_v1_", 16, ""}, {"doo_v1_", 16, ""}, {"dor_v1_", 16, ""},
	{"hf_", 16, ""}, {"gsk_", 16, ""}, {"xai-", 16, ""}, {"r8_", 16, ""}, // models
	{"SG.", 16, "_.-"}, {"sq0atp-", 12, "_-"}, {"sq0csp-", 12, "_-"}, {"shpat_", 16, ""}, {"shpss_", 16, ""}, {"shpca_", 16, ""}, {"shppa_", 16, ""},
	{"hvs.", 16, "_-"}, {"hvb.", 16, "_-"}, {"hvr.", 16, "_-"}, // Vault
	{"lin_api_", 16, ""}, {"ntn_", 16, ""}, {"AGE-SECRET-KEY-1", 16, ""}, {"EAA", 24, ""},
	{"eyJ", 12, "_-."}, // JSON Web Tokens: base64 of {"
}

// formsBy gives the forms whose prefix has this first byte.
var formsBy = func() (by [256][]keyForm) {
	for _, f := range keyForms {
		by[f.prefix[0]] = append(by[f.prefix[0]], f)
	}
	return by
}()

func alnum(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }

// keys takes out what looks like the key of a known service.
func keys(s string) string {
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); i++ {
		if len(formsBy[s[i]]) == 0 || i > done && alnum(s[i-1]) {
			continue
		}
		for _, f := range formsBy[s[i]] {
			if n := f.match(s[i:]); n > 0 {
				b.WriteString(s[done:i])
				b.WriteString(Mark)
				done = i + n
				i = done - 1
				break
			}
		}
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// match gives the length of the key at the start of s, or 0.
func (f *keyForm) match(s string) int {
	if !strings.HasPrefix(s, f.prefix) {
		return 0
	}
	n := len(f.prefix)
	for n < len(s) && (alnum(s[n]) || strings.IndexByte(f.also, s[n]) >= 0) {
		n++
	}
	if n-len(f.prefix) < f.min {
		return 0
	}
	return n
}
