package host_test

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/host"
)

// TestTextCodecs compares TextEncoder, TextDecoder, atob and btoa with Go, on text and on bytes that are no text.
func TestTextCodecs(t *testing.T) {
	r := setup(t, host.Options{})
	random := rand.New(rand.NewPCG(1, 2))
	samples := []string{"", "a", "hé €🙂", "\xff", "\xe2\x82", "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xc0\x80", "a\xf0\x9f", "\uFFFD", strings.Repeat("ü🙂", 1500), "\xef\xbf\xbd"}
	for range 60 {
		b := make([]byte, random.IntN(40))
		for i := range b {
			b[i] = byte(random.IntN(256))
			if random.IntN(3) == 0 {
				b[i] = "\xe2\x82\xf0\x9f\x80\xbf\xedA"[random.IntN(8)]
			}
		}
		samples = append(samples, string(b))
	}
	for _, s := range samples {
		encoded := base64.StdEncoding.EncodeToString([]byte(s))
		res := exec(t, r, `
			const bytes = Uint8Array.fromBase64("`+encoded+`");
			let fatal = false;
			try { new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) } catch { fatal = true }
			const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
			return { fatal, text, again: new TextEncoder().encode(text).toBase64(), binary: btoa(atob("`+encoded+`")) };`)
		var got struct {
			Fatal               bool
			Text, Again, Binary string
		}
		if err := json.Unmarshal(res.Value, &got); err != nil {
			t.Fatalf("%q: %s %v", s, res.Error, err)
		}
		if got.Fatal == utf8.ValidString(s) {
			t.Errorf("%q: fatal is %v", s, got.Fatal)
		}
		if utf8.ValidString(s) && got.Text != s || len([]rune(got.Text)) == 0 && s != "" || !utf8.ValidString(got.Text) {
			t.Errorf("%q decodes to %q", s, got.Text)
		}
		if again, err := base64.StdEncoding.DecodeString(got.Again); err != nil || string(again) != got.Text {
			t.Errorf("%q encodes to %q", got.Text, again)
		}
		if got.Binary != encoded {
			t.Errorf("%q: btoa(atob) gives %q", encoded, got.Binary)
		}
	}
	for code, want := range map[string]string{
		`new TextDecoder().decode(new Uint8Array([0xE2, 0x82, 0x41]))`:                    `"\ufffdA"`,
		`new TextDecoder().decode(new Uint8Array([0xF0, 0x80, 0x80]))`:                    `"\ufffd\ufffd\ufffd"`,
		`new TextDecoder().decode(new Uint8Array([0xEF, 0xBB, 0xBF, 0x41]))`:              `"A"`,
		`new TextDecoder().decode(new DataView(new Uint8Array([0x41, 0x42]).buffer, 1))`:  `"B"`,
		`new TextDecoder().decode(new Uint16Array([0x4241]))`:                             `"AB"`,
		`[new TextDecoder().decode(), new TextEncoder().encode().length]`:                 `["",0]`,
		`(() => { try { new TextDecoder("latin1") } catch (e) { return e.name } })()`:     `"RangeError"`,
		`(() => { try { new TextDecoder().decode("x") } catch (e) { return e.name } })()`: `"TypeError"`,
		`(() => { try { btoa("€") } catch (e) { return e.message.slice(0, 4) } })()`:      `"btoa"`,
		`(() => { try { atob("*") } catch (e) { return e.message } })()`:                  `"atob: the text is not base64"`,
		`new TextEncoder().encode("\ud800").toHex()`:                                      `"efbfbd"`,
	} {
		wantValue(t, exec(t, r, "return "+code), want)
	}
}

// TestLocale: what formats by locale does so or throws.
func TestLocale(t *testing.T) {
	r := setup(t, host.Options{})
	for code, want := range map[string]string{
		"(9876.5).toLocaleString()": `"9,876.5"`, "(1234567.8912).toLocaleString('en-US')": `"1,234,567.891"`, "(-1234).toLocaleString()": `"-1,234"`,
		"(0).toLocaleString()": `"0"`, "(1234.5).toLocaleString('en', { minimumFractionDigits: 2 })": `"1,234.50"`, "(NaN).toLocaleString()": `"NaN"`,
		"(1234.6).toLocaleString(undefined, { maximumFractionDigits: 0 })": `"1,235"`, "(999.9999).toLocaleString()": `"1,000"`,
		"(100).toLocaleString()": `"100"`, "(1e15).toLocaleString()": `"1,000,000,000,000,000"`,
	} {
		wantValue(t, exec(t, r, "return "+code), want)
	}
	for _, code := range []string{
		"(9876.5).toLocaleString('de-DE')", "(1).toLocaleString(['de'])", "(1).toLocaleString('en-US', { style: 'currency', currency: 'USD' })",
		"new Date(0).toLocaleDateString('de-DE')", "new Date(0).toLocaleTimeString('en-US', { hour: '2-digit' })", "'a'.localeCompare('b', 'en', { sensitivity: 'base' })",
	} {
		if res := exec(t, r, "return "+code); !contains(res.Error, "no locale data") || res.Line != 1 {
			t.Errorf("%s: %s %s %q", code, res.Status, res.Value, res.Error)
		}
	}
}

// TestArguments: what is wrong with the arguments of exec and wait is said in their words.
func TestArguments(t *testing.T) {
	r := setup(t, host.Options{})
	for args, want := range map[string]string{
		`{"source":"return 1"}`:     `exec: unknown property "source"; it takes {"code": "the program", "language"?: "javascript" or "typescript"}`,
		`{"code":7}`:                `exec: /code: expected string, got number; it takes {"code"`,
		`{"code":"return 1","x":1}`: `exec: unknown property "x"; it takes`,
		`["return 1"]`:              `exec: expected object, got array; it takes`,
		`{"code":"return 1"`:        `not valid JSON`,
	} {
		_, res := r.ParseExec([]byte(args))
		if res == nil || !strings.HasPrefix(res.Error, want) && !(strings.HasPrefix(want, "not") && strings.Contains(res.Error, want)) {
			t.Errorf("%s: %+v, want %q", args, res, want)
		}
	}
	for args, want := range map[string]string{
		`{"run_id":"x"}`:                 `wait: unknown property "run_id"; it takes {"runId"`,
		`{"runId":"x","timeoutMs":"5"}`:  `wait: /timeoutMs: expected`,
		`{"runId":"x","timeoutMs":1e30}`: `wait: /timeoutMs:`,
	} {
		if _, res := r.ParseWait([]byte(args)); res == nil || !strings.HasPrefix(res.Error, want) || strings.Contains(res.Error, "not valid JSON") {
			t.Errorf("%s: %+v, want %q", args, res, want)
		}
	}
}
