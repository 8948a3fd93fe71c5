package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPlugins(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "cloister.json5")
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OPERATOR_TOKEN", "from-env")
	c, err := Parse(file, []byte(`{ plugins: {
		installed: false, trust: "trust.json", lock: "/abs/x.lock",
		config: { "acme.hello": { greeting: "Hi", deep: { a: [1, 2.5, null] } } },
		secrets: { "acme.hello": { e: { env: "OPERATOR_TOKEN" }, f: { file: "token" }, gone: { env: "OPERATOR_NO_SUCH" } } },
		http: { allowPrivate: ["127.0.0.1/8", "::1/128"], timeoutMs: 1500, maxResponseBytes: 1024 },
	} }`))
	if err != nil {
		t.Fatal(err)
	}
	p := &c.Plugins
	if !p.NoInstalled || p.Trust != filepath.Join(dir, "trust.json") || p.Lock != "/abs/x.lock" || len(c.trusting) != 5 {
		t.Errorf("got %+v", p)
	}
	s := p.Services()
	for key, want := range map[string]string{"greeting": `"Hi"`, "deep": `{"a":[1,2.5,null]}`, "none": ""} {
		if got, ok := s.Config("acme.hello", key); string(got) != want || ok != (want != "") {
			t.Errorf("config %s: %s, %v; want %s", key, got, ok, want)
		}
	}
	if _, ok := s.Config("acme.other", "greeting"); ok {
		t.Error("another plugin sees the configuration")
	}
	for name, want := range map[string]string{"e": "from-env", "f": "from-file"} {
		if got, err := s.Secrets(t.Context(), "acme.hello", name); got != want || err != nil {
			t.Errorf("secret %s: %q, %v", name, got, err)
		}
		if got, err := s.Secrets(t.Context(), "acme.other", name); got != "" || err == nil {
			t.Errorf("another plugin gets the secret %s: %q", name, got)
		}
	}
	for _, name := range []string{"gone", "none"} {
		if got, err := s.Secrets(t.Context(), "acme.hello", name); got != "" || err == nil {
			t.Errorf("secret %s: %q, %v", name, got, err)
		}
	}
	if s.HTTP.Timeout != 1500*time.Millisecond || s.HTTP.MaxResponseBytes != 1024 || fmt.Sprint(s.HTTP.AllowPrivate) != "[127.0.0.0/8 ::1/128]" {
		t.Errorf("http: %+v", s.HTTP)
	}
}

func TestPluginFaults(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{`installed: 1`, "c:1:25: plugins.installed: must be true or false, not a number"},
		{`trust: ""`, "c:1:21: plugins.trust: must not be empty"},
		{`lock: 5`, "c:1:20: plugins.lock: must be a string, not a number"},
		{`config: []`, "c:1:22: plugins.config: must be an object of plugin ids, not an array"},
		{`config: { hello: {} }`, "c:1:24: plugins.config.hello: is not the id of a plugin, such as acme.hello"},
		{`config: { "a.b": 1 }`, `c:1:31: plugins.config."a.b": must be an object, not a number`},
		{`config: { "a.b": { x: NaN } }`, `c:1:36: plugins.config."a.b".x: NaN is no number that a setting can have; write a finite one`},
		{`secrets: { "a.b": { x: "hunter2" } }`, `c:1:37: plugins.secrets."a.b".x: must be {env: "VARIABLE"} or {file: "PATH"}: a secret is not written into the configuration`},
		{`secrets: { "a.b": { x: {} } }`, `c:1:37: plugins.secrets."a.b".x: needs one of env and file`},
		{`secrets: { "a.b": { x: { env: "A", file: "b" } } }`, `c:1:37: plugins.secrets."a.b".x: needs one of env and file`},
		{`secrets: { "a.b": { x: { value: "A" } } }`, `c:1:39: plugins.secrets."a.b".x.value: unknown key; known here: env, file`},
		{`http: { timeoutMs: 0 }`, "c:1:33: plugins.http.timeoutMs: must be a whole number of 1 to 600000"},
		{`http: { timeoutMs: 1.5 }`, "c:1:33: plugins.http.timeoutMs: must be a whole number of 1 to 600000"},
		{`http: { maxResponseBytes: 1e99 }`, "c:1:40: plugins.http.maxResponseBytes: must be a whole number of 1 to 67108864"},
		{`http: { allowPrivate: ["all"] }`, `c:1:37: plugins.http.allowPrivate[0]: "all" is no network; write an address and a length, such as 127.0.0.0/8`},
		{`http: { allowprivate: [] }`, "c:1:22: plugins.http.allowprivate: unknown key; did you mean allowPrivate?"},
	} {
		_, err := Parse("c", []byte(`{ plugins: { `+test.text+` } }`))
		if err == nil || err.Error() != test.want {
			t.Errorf("%s:\n got %v\nwant %s", test.text, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the fault shows the secret", test.text)
		}
	}
}
