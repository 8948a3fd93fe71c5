package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/internal/redact"
)

const known = "correct-horse-battery/staple"

func TestSensitive(t *testing.T) {
	for _, name := range []string{
		"password", "PASSWORD", "db_password", "dbPassword", "passwd", "token", "accessToken", "access_token", "secret", "client-secret",
		"api_key", "apiKey", "X-API-Key", "OPENAI_API_KEY", "authorization", "Proxy-Authorization", "Set-Cookie", "private_key", "AWS_SECRET_ACCESS_KEY",
		"pa\u017f\u017fword", "to\u212aen", "ｐａｓｓｗｏｒｄ", strings.Repeat("x", 1000) + "token", "credentials",
	} {
		if !redact.Sensitive(name) {
			t.Errorf("%q is not sensitive", name)
		}
	}
	for _, name := range []string{"", "name", "max_tokens", "token_count", "input_tokens", "passage", "keyboard", "author", "monkey", "model", "pinned"} {
		if redact.Sensitive(name) {
			t.Errorf("%q is sensitive", name)
		}
	}
}

func TestJSON(t *testing.T) {
	r := redact.New(known, "")
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", ` {"a" : [1, -2.5e3, true, null, "x"] } `, `{"a":[1,-2.5e3,true,null,"x"]}`},
		{"member", `{"password":"hunter2","user":"eve"}`, `{"password":"[redacted]","user":"eve"}`},
		{"escaped name", `{"p\u0061ssword":"hunter2"}`, `{"password":"[redacted]"}`},
		{"twice", `{"token":"one","token":"two"}`, `{"token":"[redacted]","token":"[redacted]"}`},
		{"structure", `{"secret":{"a":["hunter2","}"]},"b":1}`, `{"secret":"[redacted]","b":1}`},
		{"number", `{"password":123456,"max_tokens":4096,"tokens":7,"secret":true}`, `{"password":"[redacted]","max_tokens":4096,"tokens":7,"secret":true}`},
		{"known", `{"a":"x ` + known + ` y"}`, `{"a":"x *** y"}`},
		{"known, escaped", `{"a":"correct\u002dhorse-battery\/staple"}`, `{"a":"***"}`},
		{"known, as a name", `{"` + known + `":1}`, `{"***":1}`},
		{"known, in base64", `{"a":"` + base64.StdEncoding.EncodeToString([]byte(known)) + `"}`, `{"a":"***"}`},
		{"arguments", `{"arguments":"{\"password\":\"hunter2\",\"n\":1}"}`, `{"arguments":"{\"password\":\"[redacted]\",\"n\":1}"}`},
		{"arguments, cut", `{"arguments":"{\"n\":1,\"password\":\"hun"}`, `{"arguments":"{\"n\":1,\"password\":[redacted]"}`},
		{"name and value", `{"env":[{"name":"API_KEY","value":"hunter2"},{"name":"HOME","value":"there"}]}`, `{"env":[{"name":"API_KEY","value":"[redacted]"},{"name":"HOME","value":"there"}]}`},
		{"value and name", `[{"value":"hunter2","x":[1],"key":"api-key"},{"value":"there","key":"home"}]`, `[{"value":"[redacted]","x":[1],"key":"api-key"},{"value":"there","key":"home"}]`},
		{"values and name", `{"values":["hunter2",{"a":1}],"header":"Cookie"}`, `{"values":"[redacted]","header":"Cookie"}`},
		{"two values", `{"value":"hunter2","value":"hunter3","name":"token"}`, `{"value":"[redacted]","name":"token"}`},
		{"bearer", `{"h":"Bearer abcdefgh12345678"}`, `{"h":"Bearer [redacted]"}`},
		{"prefix", `{"text":"use sk-ant-api03-AAAAbbbbCCCC now"}`, `{"text":"use [redacted] now"}`},
		{"terminal", `{"a":"\u001b[31mred\u202etxt\u0000"}`, `{"a":"\u001b[31mred\u202etxt\u0000"}`},
		{"trailing", `{"a":1} hunter2`, `{"a":1}… 7 bytes left out`},
		{"broken", `{"a":1,"b":} "password":"hunter2"}`, `{"a":1,"b":… 23 bytes left out`},
		{"cut in a string", `{"a":1,"b":"hunter`, `{"a":1,"b":… 7 bytes left out`},
		{"value, then cut", `{"value":"hunter2","na`, `{"value":"[redacted]",… 3 bytes left out`},
		{"value, deep, then cut", `{"value":["hunter2",{"x":"hunter3","na`, `{"value":"[redacted]"… 3 bytes left out`},
		{"text", `password=hunter2 user=eve`, `password=[redacted] user=eve`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := r.JSON([]byte(tt.in), 1000); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestText(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"Authorization: Digest username=eve, response=abc\nAccept: all", "Authorization: [redacted]\nAccept: all"},
		{"Cookie: a=b; c=d", "Cookie: [redacted]"},
		{"export GITHUB_TOKEN='abc def' X=1", "export GITHUB_TOKEN=[redacted] X=1"},
		{`x: {\"password\": \"hunter2\"} y`, `x: {\"password\": [redacted]} y`},
		{"https://eve:hunter2@example.com/x?access_token=abc&y=1", "https://[redacted]@example.com/x?access_token=[redacted]&y=1"},
		{"https://eve:hun@ter2@example.com/", "https://[redacted]@example.com/"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- rest", "[redacted] rest"},
		{"-----BEGIN PRIVATE KEY-----\nMIIE and no end", "[redacted]"},
		{"jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_def end", "jwt [redacted] end"},
		{"ghp_0123456789abcdef0123 AKIAABCDEFGHIJKLMNOP", "[redacted] [redacted]"},
		{"secrets: [a, b]\nnext", "secrets: [redacted]\nnext"},
		{"password:\n  hunter2\nnext", "password:\n  [redacted]\nnext"},
		{`config["token"] = "a b"`, `config["token"] = [redacted]`},
		{"max_tokens: 4096", "max_tokens: 4096"},
		{"\x1b[31mred", "\ufffd[31mred"},
	} {
		if got := new(redact.Redactor).Text(tt.in, 1000); got != tt.want {
			t.Errorf("%q:\ngot  %q\nwant %q", tt.in, got, tt.want)
		}
	}
}

// JSON may be written with < > & escaped or not; a known secret is found in both.
func TestKnownInJSON(t *testing.T) {
	r := redact.New(`s3cr<t"&/+ value`)
	for _, in := range []string{`got s3cr<t"&/+ value`, `got s3cr<t\"&/+ value`, `got s3cr\u003ct\"\u0026/+ value`} {
		if got, want := r.Text(in, 1000), "got "+redact.Known; got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestHeader(t *testing.T) {
	h := http.Header{"X-Api-Key": {"hunter2"}}
	if got, want := new(redact.Redactor).Header(h), "X-Api-Key: [redacted]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPieces(t *testing.T) {
	in := `{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{\"pass"},"arguments":""}`
	want := `{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"[6 bytes]"},"arguments":""}`
	if got := redact.New().Pieces().JSON([]byte(in), 1000); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Hostile documents: neither their nesting nor their length decides what a look at
// them costs, and none of them shows a secret.
func TestHostile(t *testing.T) {
	r := redact.New(known)
	nested := func(open, inner, end string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	quoted := `{"password":"hunter2"}`
	for range 6 {
		b, err := json.Marshal(map[string]string{"a": quoted})
		if err != nil {
			t.Fatal(err)
		}
		quoted = string(b)
	}
	for name, in := range map[string]string{
		"arrays":          nested("[", `{"password":"hunter2"}`, "]", 400_000),
		"unclosed arrays": strings.Repeat("[", 3<<20) + `"hunter2"`,
		"objects":         nested(`{"a":`, `{"password":"hunter2"}`, "}", 150_000),
		"values":          nested(`{"value":`, `"hunter2"`, `,"name":"token"}`, 40_000),
		"names":           nested(`{"name":"token","value":`, `"hunter2"`, `}`, 30_000),
		"strings":         quoted,
		"beyond the look": `{"a":"` + strings.Repeat("x", redact.MaxInput) + `","password":"hunter2"}`,
		"on the edge":     `{"a":"` + strings.Repeat("x", redact.MaxInput-20) + known + `"}`,
		"text, on edge":   strings.Repeat("x", redact.MaxInput-20) + known,
		"many names":      "[" + strings.Repeat(`{"name":"token","value":"hunter2"},`, 25_000) + "1]",
		"backslashes":     `{"password":"` + strings.Repeat(`\\`, 400_000) + `hunter2"}`,
		"assignments":     strings.Repeat("token=hunter2 ", 70_000),
		"quotes":          strings.Repeat(`token="`, 100_000) + "hunter2",
	} {
		t.Run(name, func(t *testing.T) {
			got := r.JSON([]byte(in), 10_000)
			if len(got) > 10_100 {
				t.Errorf("%d bytes", len(got))
			}
			for _, s := range []string{"hunter2", known, known[:18]} {
				if strings.Contains(got, s) {
					t.Errorf("shows %s", s)
				}
			}
		})
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"password":"x"}],"value":"v","name":"token"}`), "x", 100)
	f.Add([]byte(`{"a":"{\"b\":\"`+known+`\"}"}`), "\\\"", 10)
	f.Add([]byte(`Authorization: Bearer abcdefghijk`), "\xff", 0)
	f.Fuzz(func(t *testing.T, doc []byte, value string, limit int) {
		r := redact.New(known)
		got := r.JSON(doc, limit)
		if !utf8.ValidString(got) {
			t.Errorf("not UTF-8: %q", got)
		}
		if len(got) > max(limit, 0)+100 {
			t.Errorf("%d bytes where %d were asked for", len(got), limit)
		}
		if strings.Contains(got, known) {
			t.Errorf("shows the secret: %q", got)
		}
		if strings.ContainsFunc(got, func(c rune) bool { return c == 0x1b || c == 0x202e || c == 0x7f }) {
			t.Errorf("steers the terminal: %q", got)
		}
		// What a secret member holds does not show in what comes out.
		var quoted bytes.Buffer
		if err := json.NewEncoder(&quoted).Encode(value); err != nil {
			t.Fatal(err)
		}
		member := `{"user":"eve","Api-Key":` + strings.TrimSpace(quoted.String()) + `}`
		if got := r.JSON([]byte(member), 100); got != `{"user":"eve","Api-Key":"[redacted]"}` {
			t.Errorf("of %s: %s", member, got)
		}
		// A valid document beside a secret does not bring it out.
		if json.Valid(doc) && len(doc) < redact.MaxInput/2 && !bytes.Contains(doc, []byte("hunter2")) {
			in := append(append([]byte(`{"value":"hunter2","x":`), doc...), `,"name":"secret"}`...)
			if got := r.JSON(in, 1<<20); strings.Contains(got, "hunter2") {
				t.Errorf("of %s: %s", in, got)
			}
			// Without an end it is not shown either, as nobody knows its name.
			if got := r.JSON(in[:len(in)-len(`,"name":"secret"}`)], 1<<20); strings.Contains(got, "hunter2") {
				t.Errorf("of %s, cut: %s", in, got)
			}
		}
	})
}

func BenchmarkJSON(b *testing.B) {
	doc := []byte(`[` + strings.Repeat(`{"role":"user","content":"please look at the weather in Paris and tell me what to wear tomorrow"},`, 600) + `1]`)
	r := redact.New(known)
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		r.JSON(doc, 64<<10)
	}
}
