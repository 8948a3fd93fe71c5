package plugins

import (
	"context"
	"errors"
	"strings"
	"testing"
)

var signedOrigin = Origin{Digest: "sha256:" + strings.Repeat("ab", 32), Publisher: "acme", Signer: "key sha256:12", Ref: "registry.example/acme/hello:1"}

// tinyPlugin is a plugin with one tool.
func tinyPlugin(t *testing.T, id, tool string, origin Origin) *Plugin {
	t.Helper()
	m, err := ParseManifest([]byte(minimal(id, tool)))
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(m, tiny("run"), origin, devOptions())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestNew(t *testing.T) {
	p := tinyPlugin(t, "acme.hello", "greet", signedOrigin)
	if p.Unsigned() || p.Origin() != signedOrigin {
		t.Errorf("Origin = %+v", p.Origin())
	}
	if p := tinyPlugin(t, "acme.hello", "greet", development); !p.Unsigned() {
		t.Error("a plugin under development claims to be signed")
	}
}

// An origin that nobody filled in does not read as a signed one.
func TestNewRefusesOrigins(t *testing.T) {
	m, err := ParseManifest([]byte(minimal("acme.hello", "greet")))
	if err != nil {
		t.Fatal(err)
	}
	change := func(f func(*Origin)) Origin {
		o := signedOrigin
		f(&o)
		return o
	}
	for name, tt := range map[string]struct {
		origin Origin
		opts   *LoadOptions
	}{
		"nothing":                   {Origin{}, devOptions()},
		"no publisher":              {change(func(o *Origin) { o.Publisher = "" }), devOptions()},
		"no signer":                 {change(func(o *Origin) { o.Signer = "" }), devOptions()},
		"no digest":                 {change(func(o *Origin) { o.Digest = "" }), devOptions()},
		"digest of another form":    {change(func(o *Origin) { o.Digest = strings.ToUpper(o.Digest) }), devOptions()},
		"unsigned, not asked for":   {change(func(o *Origin) { o.Unsigned = true }), &LoadOptions{}},
		"unsigned, without options": {development, nil},
	} {
		p, err := New(m, tiny("run"), tt.origin, tt.opts)
		if p != nil || !errors.Is(err, ErrUnsigned) {
			t.Errorf("%s: %v, want ErrUnsigned", name, err)
		}
	}
	if _, err := New(m, tiny("other"), signedOrigin, nil); !errors.Is(err, ErrExport) {
		t.Errorf("New = %v, want ErrExport", err)
	}
}

func TestHoldAndRetire(t *testing.T) {
	ctx := context.Background()
	p := tinyPlugin(t, "acme.hello", "greet", signedOrigin)
	hold := func() func() {
		t.Helper()
		release, err := p.Hold()
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	first, second := hold(), hold()
	p.Retire()
	p.Retire()
	if _, err := p.Hold(); !errors.Is(err, ErrClosed) || !p.Retired() {
		t.Errorf("Hold after Retire = %v, want ErrClosed", err)
	}
	first()
	first() // counts once
	i, err := p.NewInstance(ctx, nil)
	if err != nil {
		t.Fatalf("a holder is left: %v", err)
	}
	second()
	if _, err := p.NewInstance(ctx, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("NewInstance after the last release = %v, want ErrClosed", err)
	}
	if !i.Finished() {
		t.Error("an instance outlived its plugin")
	}
	i.Close()

	idle := tinyPlugin(t, "acme.hello", "greet", signedOrigin)
	idle.Retire()
	if err := idle.Compile(ctx); !errors.Is(err, ErrClosed) {
		t.Errorf("a plugin that nobody holds: %v, want ErrClosed", err)
	}
	closed := tinyPlugin(t, "acme.hello", "greet", signedOrigin)
	release, err := closed.Hold()
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := closed.Hold(); !errors.Is(err, ErrClosed) {
		t.Errorf("Hold after Close = %v, want ErrClosed", err)
	}
	release()
}

func TestConflicts(t *testing.T) {
	withGlobal := func(id, tool, global string, origin Origin) *Plugin {
		m, err := ParseManifest([]byte(strings.Replace(minimal(id, tool), `"tools"`,
			`"namespaces":[{"id":"n","globalName":"`+global+`","description":"x","requiredToolNames":["`+tool+`"],"scope":{}}],"tools"`, 1)))
		if err != nil {
			t.Fatal(err)
		}
		p, err := New(m, tiny("run"), origin, devOptions())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	signed := func(id, tool string) *Plugin { return tinyPlugin(t, id, tool, signedOrigin) }
	dev := func(id, tool string) *Plugin { return tinyPlugin(t, id, tool, development) }
	tests := []struct {
		name string
		ps   []*Plugin
		want []string // refused: index in ps, what, name
	}{
		{"none", []*Plugin{signed("a.a", "one"), dev("a.b", "two")}, nil},
		{"nothing at all", nil, nil},
		{"id", []*Plugin{signed("a.a", "one"), signed("a.a", "two")}, []string{"1 id a.a"}},
		{"tool, whatever its case", []*Plugin{signed("a.a", "List"), signed("a.b", "LIST")}, []string{"1 tool LIST"}},
		{"global", []*Plugin{withGlobal("a.a", "one", "Issues", signedOrigin), withGlobal("a.b", "two", "Issues", signedOrigin)}, []string{"1 global Issues"}},
		{"case of a global counts", []*Plugin{withGlobal("a.a", "one", "Issues", signedOrigin), withGlobal("a.b", "two", "issues", signedOrigin)}, nil},
		{"development after signed", []*Plugin{signed("a.a", "one"), dev("a.b", "one")}, []string{"1 tool one"}},
		{"development before signed", []*Plugin{dev("a.b", "one"), signed("a.a", "one")}, []string{"0 tool one"}},
		{"development claims the id", []*Plugin{dev("a.a", "two"), signed("a.a", "one")}, []string{"0 id a.a"}},
		{"two of development", []*Plugin{dev("a.a", "one"), dev("a.b", "one")}, []string{"1 tool one"}},
		{"the refused own nothing", []*Plugin{signed("a.a", "one"), signed("a.a", "two"), signed("a.b", "two")}, []string{"1 id a.a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, err := range Conflicts(tt.ps) {
				var ce *ConflictError
				if !errors.As(err, &ce) || !errors.Is(err, ErrConflict) || ce.Owner == nil {
					t.Fatalf("%v is no ConflictError", err)
				}
				for i, p := range tt.ps {
					if p == ce.Refused {
						got = append(got, string(rune('0'+i))+" "+ce.What+" "+ce.Name)
					}
				}
				if signs := strings.Contains(err.Error(), "which is signed"); signs != (ce.Refused.Unsigned() && !ce.Owner.Unsigned()) {
					t.Errorf("the text: %v", err)
				}
			}
			if strings.Join(got, ",") != strings.Join(tt.want, ",") {
				t.Errorf("refused %q, want %q", got, tt.want)
			}
		})
	}
}
