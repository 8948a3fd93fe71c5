package trust

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// problems are the paths of the mistakes of a policy file.
func problems(t *testing.T, err error) []string {
	t.Helper()
	var e *PolicyError
	if !errors.As(err, &e) || !errors.Is(err, ErrPolicy) {
		t.Fatalf("got %v, want a *PolicyError", err)
	}
	var paths []string
	for _, p := range e.Problems {
		paths = append(paths, p.Path)
		if p.Message == "" || strings.Contains(p.String(), "\n") {
			t.Errorf("a mistake without a plain text: %q", p)
		}
	}
	return paths
}

func quoted(t testing.TB, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func publicPEM(t testing.TB, key any) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

func TestPolicyRoundTrip(t *testing.T) {
	vs := sigstoreInstance(t)
	acme := publisher("acme", testKey(t, "one"), testKey(t, "two"))
	acme.Keys[0].Comment = "the <release> key & more"
	acme.Identities = []Identity{{Issuer: issuer, Subject: workflow}}
	p := &Policy{
		Publishers:  []Publisher{acme, publisher("other", testKey(t, "three"))},
		Revoked:     Revoked{Keys: []string{testKey(t, "two").Fingerprint()}, Digests: []string{"sha256:" + strings.Repeat("0", 64)}},
		TrustedRoot: trustedRoot(t, vs, witnesses{log: true}),
	}
	path := filepath.Join(t.TempDir(), "trust.json")
	for range 2 { // the second replaces the first
		if err := p.Save(path); err != nil {
			t.Fatal(err)
		}
	}
	got, err := LoadPolicy(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p.Publishers, got.Publishers); diff != "" {
		t.Errorf("publishers differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(p.Revoked, got.Revoked); diff != "" {
		t.Errorf("revoked differs (-want +got):\n%s", diff)
	}
	if !bytes.Equal(got.Marshal(), p.Marshal()) {
		t.Errorf("it is written in two ways:\n%s\n%s", got.Marshal(), p.Marshal())
	}
	if info, err := os.Stat(path); err != nil {
		t.Fatal(err)
	} else if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v", info.Mode())
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("files left: %v, %v", left, err)
	}
}

func TestLoadPolicyRefusals(t *testing.T) {
	dir := t.TempDir()
	if _, err := LoadPolicy(filepath.Join(dir, "none.json")); !errors.Is(err, ErrNoPolicy) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := LoadPolicy(dir); err == nil || errors.Is(err, ErrNoPolicy) || errors.Is(err, ErrPolicy) {
		t.Errorf("a folder: %v", err)
	}
	empty := filepath.Join(dir, "empty.json")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadPolicy(empty); !errors.Is(err, ErrPolicy) {
		t.Errorf("an empty file: %v", err)
	}
	large := filepath.Join(dir, "large.json")
	if err := os.WriteFile(large, bytes.Repeat([]byte(" "), MaxPolicyBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadPolicy(large); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a large file: %v", err)
	}
	if err := (&Policy{Publishers: []Publisher{{}}}).Save(filepath.Join(dir, "bad.json")); !errors.Is(err, ErrPolicy) {
		t.Errorf("Save of a policy with mistakes: %v", err)
	}
	if err := (*Policy)(nil).Save(filepath.Join(dir, "nil.json")); !errors.Is(err, ErrNoPolicy) {
		t.Errorf("Save of no policy: %v", err)
	}
	if err := (&Policy{}).Save(filepath.Join(dir, "no", "such", "folder.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Save into no folder: %v", err)
	}
}

// Every mistake is reported, at its place, in one go.
func TestPolicyMistakes(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	one, two := quoted(t, string(testKey(t, "one").PublicPEM())), quoted(t, string(testKey(t, "two").PublicPEM()))
	private, _, err := GenerateKey("", nil)
	if err != nil {
		t.Fatal(err)
	}
	zeros := strings.Repeat("0", 64)
	pub := func(members string) string {
		return `{"version": 1, "publishers": [{"name": "acme", "keys": [{"publicKey": ` + one + `}], ` + members + `}]}`
	}
	key := func(k string) string {
		return `{"version": 1, "publishers": [{"name": "acme", "keys": [{"publicKey": ` + k + `}], "owns": {"ids": ["acme."], "tools": ["*"]}}]}`
	}
	owns := func(members string) string { return pub(`"owns": {` + members + `}`) }
	pair := func(a, b string) string {
		return `{"version": 1, "publishers": [
			{"name": "a", "keys": [{"publicKey": ` + one + `}], "owns": {` + a + `}},
			{"name": "b", "keys": [{"publicKey": ` + two + `}], "owns": {` + b + `}}]}`
	}
	for _, c := range []struct {
		name, text string
		paths      []string // nil: no mistake
	}{
		{"nobody", `{"version": 1, "publishers": []}`, nil},
		{"good", owns(`"ids": ["acme.", "acme-tools.csv-", "b.c"], "tools": ["acme_", "greet"], "globals": ["Issues"]`), nil},
		{"all tools", owns(`"ids": ["acme."], "tools": ["*"]`), nil},
		{"one's own overlap", owns(`"ids": ["acme.", "acme.hello"], "tools": ["*", "greet"]`), nil},

		{"no JSON", `{`, []string{""}},
		{"two values", `{"version": 1, "publishers": []} {}`, []string{""}},
		{"a comment", `{"version": 1, "publishers": [] /* x */}`, []string{""}},
		{"a key twice", `{"version": 1, "publishers": [], "publishers": []}`, []string{"/publishers"}},
		{"invalid UTF-8", "{\"version\": 1, \"publishers\": [], \"\xff\": 1}", []string{""}},
		{"a list", `[]`, []string{""}},
		{"null", `null`, []string{""}},
		{"empty", `{}`, []string{"/version"}},
		{"no version", `{"publishers": []}`, []string{"/version"}},
		{"another version", `{"version": 2, "publishers": {}}`, []string{"/version"}},
		{"a version that looks alike", `{"version": 1.0, "publishers": []}`, []string{"/version"}},
		{"a version in quotes", `{"version": "1", "publishers": []}`, []string{"/version"}},
		{"no publishers", `{"version": 1}`, []string{"/publishers"}},
		{"publishers null", `{"version": 1, "publishers": null}`, []string{"/publishers"}},
		{"unknown members everywhere", `{"version": 1, "Publishers": [], "publishers": [{"nam": "a", "name": "acme", "keys": [{"publicKey": ` + one + `, "public/~key": 1}],
			"identities": [{"issuer": "https://i", "subject": "s", "regexp": true}], "owns": {"id": [], "ids": ["acme."], "tools": ["*"]}}], "revoked": {"keyz": []}}`,
			[]string{"/Publishers", "/publishers/0/identities/0/regexp", "/publishers/0/keys/0/public~1~0key", "/publishers/0/nam", "/publishers/0/owns/id", "/revoked/keyz", "/trustedRoot"}},
		{"many at once", `{"version": 1, "publishers": ["acme", {"name": "", "keys": [{}], "owns": {"ids": ["ACME."], "tools": ["a b"], "globals": ["undefined", "9"]}}, {"name": "b", "keys": [{"publicKey": 1}]}],
			"revoked": {"keys": ["all", "sha256:` + zeros + `", "sha256:` + zeros + `"], "digests": [1]}}`,
			[]string{"/publishers/0", "/publishers/1/keys/0/publicKey", "/publishers/1/name", "/publishers/1/owns/globals/0", "/publishers/1/owns/globals/1",
				"/publishers/1/owns/ids/0", "/publishers/1/owns/tools/0", "/publishers/2/keys/0/publicKey", "/publishers/2/owns", "/revoked/digests/0", "/revoked/keys/0", "/revoked/keys/2"}},

		{"no signer", `{"version": 1, "publishers": [{"name": "acme", "owns": {"ids": ["acme."], "tools": ["*"]}}]}`, []string{"/publishers/0/keys"}},
		{"keys that are no list", `{"version": 1, "publishers": [{"name": "acme", "keys": {}, "owns": {"ids": ["acme."], "tools": ["*"]}}]}`, []string{"/publishers/0/keys"}},
		{"nothing owned", owns(`"ids": [], "tools": []`), []string{"/publishers/0/owns/ids", "/publishers/0/owns/tools"}},
		{"a name twice", `{"version": 1, "publishers": [
			{"name": "acme", "keys": [{"publicKey": ` + one + `}], "owns": {"ids": ["a."], "tools": ["a_"]}},
			{"name": "Acme", "keys": [{"publicKey": ` + two + `}], "owns": {"ids": ["b."], "tools": ["b_"]}}]}`, []string{"/publishers/1/name"}},
		{"a name with a line end", strings.Replace(owns(`"ids": ["acme."], "tools": ["*"]`), `"acme"`, `"ac\nme"`, 1), []string{"/publishers/0/name"}},

		{"no key at all", key(`"acme"`), []string{"/publishers/0/keys/0/publicKey"}},
		{"a private key", key(quoted(t, string(private))), []string{"/publishers/0/keys/0/publicKey"}},
		{"an RSA key", key(quoted(t, publicPEM(t, &rsaKey.PublicKey))), []string{"/publishers/0/keys/0/publicKey"}},
		{"a P-384 key", key(quoted(t, publicPEM(t, &p384.PublicKey))), []string{"/publishers/0/keys/0/publicKey"}},
		{"two keys in one", key(quoted(t, string(testKey(t, "one").PublicPEM())+string(testKey(t, "two").PublicPEM()))), []string{"/publishers/0/keys/0/publicKey"}},
		{"text before the key", key(quoted(t, "mine:\n"+string(testKey(t, "one").PublicPEM()))), []string{"/publishers/0/keys/0/publicKey"}},
		{"a key twice in a publisher", key(one + `}, {"publicKey": ` + one), []string{"/publishers/0/keys/1/publicKey"}},
		{"a shared key", strings.Replace(pair(`"ids": ["a."], "tools": ["a_"]`, `"ids": ["b."], "tools": ["b_"]`), two, one, 1), []string{"/publishers/1/keys/0/publicKey"}},
		{"a comment of two lines", key(one + `, "comment": "a\nb"`), []string{"/publishers/0/keys/0/comment"}},

		{"an identity without a root", pub(`"identities": [{"issuer": "https://i", "subject": "s"}], "owns": {"ids": ["acme."], "tools": ["*"]}`), []string{"/trustedRoot"}},
		{"identities with patterns", pub(`"identities": [{"issuer": "https://*", "subject": "s"}, {"issuer": "https://i", "subject": "*@acme.example"}, {"issuer": "i"}], "owns": {"ids": ["acme."], "tools": ["*"]}`),
			[]string{"/publishers/0/identities/0/issuer", "/publishers/0/identities/1/subject", "/publishers/0/identities/2/issuer", "/publishers/0/identities/2/subject"}},

		{"ids that are none", owns(`"tools": ["*"], "ids": ["", ".", "-", "*", "acme", "Acme.", "acme..", "acme.*", "acme.a.b", "acme.a.", "a--", "acme. "]`),
			[]string{"/publishers/0/owns/ids/0", "/publishers/0/owns/ids/1", "/publishers/0/owns/ids/2", "/publishers/0/owns/ids/3", "/publishers/0/owns/ids/4", "/publishers/0/owns/ids/5", "/publishers/0/owns/ids/6",
				"/publishers/0/owns/ids/7", "/publishers/0/owns/ids/8", "/publishers/0/owns/ids/9", "/publishers/0/owns/ids/10", "/publishers/0/owns/ids/11"}},
		{"tools that are none", owns(`"ids": ["acme."], "tools": ["", "a*", "_a", "a.b", "**"]`),
			[]string{"/publishers/0/owns/tools/0", "/publishers/0/owns/tools/1", "/publishers/0/owns/tools/2", "/publishers/0/owns/tools/3", "/publishers/0/owns/tools/4"}},
		{"twice in a list", owns(`"ids": ["acme.", "acme."], "tools": ["a", "A", "a_", "a_"], "globals": ["X", "X"]`),
			[]string{"/publishers/0/owns/globals/1", "/publishers/0/owns/ids/1", "/publishers/0/owns/tools/1", "/publishers/0/owns/tools/3"}},

		{"apart", pair(`"ids": ["a.", "c.d"], "tools": ["a_", "c"], "globals": ["A"]`, `"ids": ["b.", "ab.", "c.e"], "tools": ["b_", "ab", "C2"], "globals": ["B", "a"]`), nil},
		{"the same id", pair(`"ids": ["a.b"], "tools": ["a_"]`, `"ids": ["a.b"], "tools": ["b_"]`), []string{"/publishers/1/owns/ids/0"}},
		{"an id below a prefix", pair(`"ids": ["a."], "tools": ["a_"]`, `"ids": ["a.b"], "tools": ["b_"]`), []string{"/publishers/1/owns/ids/0"}},
		{"a prefix above an id", pair(`"ids": ["a.b"], "tools": ["a_"]`, `"ids": ["a."], "tools": ["b_"]`), []string{"/publishers/1/owns/ids/0"}},
		{"a prefix below a prefix", pair(`"ids": ["a.b-"], "tools": ["a_"]`, `"ids": ["a."], "tools": ["b_"]`), []string{"/publishers/1/owns/ids/0"}},
		{"the same prefix", pair(`"ids": ["a."], "tools": ["x_"]`, `"ids": ["a."], "tools": ["x_"]`), []string{"/publishers/1/owns/ids/0", "/publishers/1/owns/tools/0"}},
		{"a prefix across the dot", pair(`"ids": ["a-"], "tools": ["a_"]`, `"ids": ["a-b.c"], "tools": ["b_"]`), []string{"/publishers/1/owns/ids/0"}},
		{"a tool in another case", pair(`"ids": ["a."], "tools": ["Greet"]`, `"ids": ["b."], "tools": ["greeT"]`), []string{"/publishers/1/owns/tools/0"}},
		{"a tool below a prefix in another case", pair(`"ids": ["a."], "tools": ["GIT_"]`, `"ids": ["b."], "tools": ["git_log"]`), []string{"/publishers/1/owns/tools/0"}},
		{"all tools and one", pair(`"ids": ["a."], "tools": ["*"]`, `"ids": ["b."], "tools": ["greet"]`), []string{"/publishers/1/owns/tools/0"}},
		{"all tools twice", pair(`"ids": ["a."], "tools": ["*"]`, `"ids": ["b."], "tools": ["*"]`), []string{"/publishers/1/owns/tools/0"}},
		{"a global", pair(`"ids": ["a."], "tools": ["a_"], "globals": ["X"]`, `"ids": ["b."], "tools": ["b_"], "globals": ["X"]`), []string{"/publishers/1/owns/globals/0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParsePolicy([]byte(c.text))
			if c.paths == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(c.paths, problems(t, err)); diff != "" {
				t.Errorf("the mistakes differ (-want +got):\n%s\n%v", diff, err)
			}
		})
	}
}

// A policy is bounded before anything in it costs much, and its mistakes are bounded, too.
func TestPolicyBounds(t *testing.T) {
	if _, err := ParsePolicy(bytes.Repeat([]byte(" "), MaxPolicyBytes+1)); !errors.Is(err, ErrPolicy) {
		t.Errorf("a large file: %v", err)
	}
	list := func(entry string, n int) string { return "[" + strings.Repeat(entry+",", n-1) + entry + "]" }
	one := quoted(t, string(testKey(t, "one").PublicPEM()))
	for path, text := range map[string]string{
		"/publishers":                    `{"version": 1, "publishers": ` + list(`{}`, MaxPublishers+1) + `}`,
		"/publishers/0/keys":             `{"version": 1, "publishers": [{"name": "a", "keys": ` + list(`{}`, MaxSigners+1) + `, "owns": {"ids": ["a."], "tools": ["*"]}}]}`,
		"/publishers/0/owns/tools":       `{"version": 1, "publishers": [{"name": "a", "keys": [{"publicKey": ` + one + `}], "owns": {"ids": ["a."], "tools": ` + list(`"a"`, MaxOwned+1) + `}}]}`,
		"/revoked/digests":               `{"version": 1, "publishers": [], "revoked": {"digests": ` + list(`"a"`, MaxRevoked+1) + `}}`,
		"/publishers/0/keys/0/publicKey": `{"version": 1, "publishers": [{"name": "a", "keys": [{"publicKey": "` + strings.Repeat("A", 100_000) + `"}], "owns": {"ids": ["a."], "tools": ["*"]}}]}`,
	} {
		_, err := ParsePolicy([]byte(text))
		if got := problems(t, err); len(got) == 0 || got[0] != path {
			t.Errorf("%s: %v", path, err)
		}
	}
	_, err := ParsePolicy([]byte(`{"version": 1, "publishers": [], "revoked": {"keys": ` + list(`"x"`, 1000) + `}}`))
	var e *PolicyError
	if !errors.As(err, &e) || len(e.Problems) != MaxProblems || !e.More || e.Problems[99].Path != "/revoked/keys/99" {
		t.Errorf("a thousand mistakes: %.200v", err)
	}
	// The same bounds hold for what was made by hand.
	p := &Policy{Publishers: make([]Publisher, MaxPublishers+1)}
	if _, err := p.use(); !errors.Is(err, ErrPolicy) {
		t.Errorf("by hand: %v", err)
	}
}

// The library of overlaps against the plain definition: do two entries own a name in common?
func TestOverlapsAgainstDefinition(t *testing.T) {
	entries := []string{"a.b", "a.b-c", "a.", "a-", "a.b-", "a-b.c", "b.", "ab.", "b.c", "a-b.", "a.b-c-"}
	names := []string{"a.b", "a.b-c", "a.bc", "a-b.c", "a-b.d", "b.c", "b.d", "ab.c", "a.b-d", "a-c.d", "a.b-c-d"}
	k1, k2 := testKey(t, "one"), testKey(t, "two")
	for _, a := range entries {
		for _, b := range entries {
			both := false
			oa, ob := Ownership{IDs: []string{a}}, Ownership{IDs: []string{b}}
			for _, n := range names {
				both = both || oa.ownsID(n) && ob.ownsID(n)
			}
			pa, pb := publisher("pa", k1), publisher("pb", k2)
			pa.Owns.IDs, pb.Owns.IDs = oa.IDs, ob.IDs
			_, err := (&Policy{Publishers: []Publisher{pa, pb}}).use()
			if (err != nil) != both {
				t.Errorf("%q and %q: a common name is %v, the policy says %v", a, b, both, err)
			}
		}
	}
}

func TestEdits(t *testing.T) {
	one, two, three := testKey(t, "one"), testKey(t, "two"), testKey(t, "three")
	p := &Policy{}
	key := func(k *SigningKey) Key { return Key{PublicKey: string(k.PublicPEM())} }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	refused := func(err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	must(p.AddPublisher(publisher("acme", one)))
	must(p.AddPublisher(publisher("other", two)))
	before := p.Marshal()

	refused(p.AddPublisher(publisher("ACME", three)), ErrExists)
	refused(p.AddPublisher(publisher("third", two)), ErrPolicy)
	refused(p.AddPublisher(Publisher{Name: "third", Keys: []Key{key(three)}, Owns: Ownership{IDs: []string{"acme.x"}, Tools: []string{"x"}}}), ErrPolicy)
	refused(p.AddKey("nobody", key(three)), ErrNotFound)
	refused(p.AddKey("acme", key(one)), ErrExists)
	refused(p.AddKey("acme", key(two)), ErrPolicy)
	refused(p.AddKey("acme", Key{PublicKey: "x"}), ErrKey)
	refused(p.RemoveKey("acme", two.Fingerprint()), ErrNotFound)
	refused(p.RemoveKey("acme", one.Fingerprint()), ErrPolicy) // the last one
	refused(p.RemovePublisher("nobody"), ErrNotFound)
	refused(p.RevokeKey("sha256:1"), ErrPolicy)
	refused(p.RevokeDigest("latest"), ErrPolicy)
	refused(p.AddIdentity("acme", Identity{Issuer: issuer, Subject: workflow}), ErrPolicy) // no trusted root
	refused(p.AddIdentity("nobody", Identity{}), ErrNotFound)
	refused((*Policy)(nil).RevokeKey(one.Fingerprint()), ErrNoPolicy)
	if after := p.Marshal(); !bytes.Equal(before, after) {
		t.Errorf("a refused edit changed the policy:\n%s", after)
	}

	must(p.AddKey("Acme", key(three)))
	must(p.RemoveKey("acme", one.Fingerprint()))
	must(p.RevokeKey(one.Fingerprint()))
	must(p.RevokeKey(one.Fingerprint()))
	must(p.RevokeDigest("sha256:" + strings.Repeat("1", 64)))
	must(p.RevokeDigest("sha256:" + strings.Repeat("1", 64)))
	p.TrustedRoot = trustedRoot(t, sigstoreInstance(t), witnesses{log: true})
	must(p.AddIdentity("acme", Identity{Issuer: issuer, Subject: workflow}))
	refused(p.AddIdentity("acme", Identity{Issuer: issuer, Subject: workflow}), ErrExists)
	must(p.RemovePublisher("OTHER"))

	want := publisher("acme", three)
	want.Identities = []Identity{{Issuer: issuer, Subject: workflow}}
	if diff := cmp.Diff([]Publisher{want}, p.Publishers); diff != "" {
		t.Errorf("publishers differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Revoked{Keys: []string{one.Fingerprint()}, Digests: []string{"sha256:" + strings.Repeat("1", 64)}}, p.Revoked); diff != "" {
		t.Errorf("revoked differs (-want +got):\n%s", diff)
	}
	if _, err := ParsePolicy(p.Marshal()); err != nil {
		t.Error(err)
	}
}

// An edit never reaches what the caller holds.
func TestEditsDoNotAlias(t *testing.T) {
	pub := publisher("acme", testKey(t, "one"))
	p := &Policy{}
	if err := p.AddPublisher(pub); err != nil {
		t.Fatal(err)
	}
	held := p.Publishers
	if err := p.AddKey("acme", Key{PublicKey: string(testKey(t, "two").PublicPEM())}); err != nil {
		t.Fatal(err)
	}
	if len(held[0].Keys) != 1 || len(pub.Keys) != 1 {
		t.Error("the edit changed a list that somebody holds")
	}
}

func TestOwnership(t *testing.T) {
	o := Ownership{IDs: []string{"acme.hello", "acme-labs.", "acme.csv-"}, Tools: []string{"greet", "acme_", "csv-"}, Globals: []string{"Issues"}}
	for _, c := range []struct {
		what string
		owns func(string) bool
		yes  []string
		no   []string
	}{
		{"ids", o.ownsID, []string{"acme.hello", "acme-labs.x", "acme.csv-query"}, []string{"", "acme.", "acme.hello2", "acme.hell", "acme-labs.", "acme-labs", "acme-labsx.y", "acme.csv", "acme.csv-", "ACME.HELLO", "evil.acme.hello"}},
		{"tools", o.ownsTool, []string{"greet", "acme_", "acme_x", "csv-x"}, []string{"", "greets", "Greet", "acme", "acmex", "ACME_x", "csv_x"}},
		{"globals", o.ownsGlobal, []string{"Issues"}, []string{"", "issues", "Issues2", "Issue"}},
		{"nothing", new(Ownership).ownsTool, nil, []string{"", "a", "*"}},
	} {
		for _, n := range c.yes {
			if !c.owns(n) {
				t.Errorf("%s: %q is not owned", c.what, n)
			}
		}
		for _, n := range c.no {
			if c.owns(n) {
				t.Errorf("%s: %q is owned", c.what, n)
			}
		}
	}
	if all := (&Ownership{Tools: []string{"*"}}); !all.ownsTool("anything") {
		t.Error("* does not own a tool")
	}
}

func TestComparePaths(t *testing.T) {
	paths := []string{"", "/a", "/a/2", "/a/2/b", "/a/10", "/b"}
	for i, a := range paths {
		for k, b := range paths {
			if got := comparePaths(a, b); (got < 0) != (i < k) || (got > 0) != (i > k) {
				t.Errorf("%q and %q: %d", a, b, got)
			}
		}
	}
	if got := fmt.Sprint(at("publishers", 3, "keys")); got != "/publishers/3/keys" {
		t.Errorf("at gives %s", got)
	}
}
