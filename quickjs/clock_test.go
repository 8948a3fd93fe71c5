package quickjs

import (
	"bytes"
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"testing"
	"time"
)

func runWith(tb testing.TB, tmpl *Template, o *VMOptions, src string) string {
	tb.Helper()
	vm := newVM(tb, tmpl, o)
	defer vm.Close()
	vm.SetDeadline(time.Now().Add(time.Minute))
	text, err := run(context.Background(), vm, src)
	if err != nil {
		tb.Fatalf("%s: %v", src, err)
	}
	return text
}

func TestClock(t *testing.T) {
	tmpl := testTemplate(t)
	at := func(s string) func() time.Time {
		now, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return func() time.Time { return now }
	}
	const read = "return new Date().toISOString() + ' ' + (Date.now() === new Date().getTime()) + ' ' + new Date().getTimezoneOffset()"
	for _, c := range []struct {
		name string
		o    VMOptions
		want string
	}{
		{"steps of 10 ms", VMOptions{Now: at("2026-11-20T14:33:07.129999999Z")}, "2026-11-20T14:33:07.120Z true 0"},
		{"on a step", VMOptions{Now: at("2026-11-20T14:33:07.120Z")}, "2026-11-20T14:33:07.120Z true 0"},
		{"just before a step", VMOptions{Now: at("2026-11-20T14:33:07.119999999Z")}, "2026-11-20T14:33:07.110Z true 0"},
		{"steps of a second", VMOptions{Now: at("2026-11-20T14:33:07.999Z"), ClockStep: time.Second}, "2026-11-20T14:33:07.000Z true 0"},
		{"steps of an hour", VMOptions{Now: at("2026-11-20T14:33:07.999Z"), ClockStep: time.Hour}, "2026-11-20T14:00:00.000Z true 0"},
		{"steps of a microsecond", VMOptions{Now: at("2026-11-20T14:33:07.1239999Z"), ClockStep: time.Microsecond}, "2026-11-20T14:33:07.123Z true 0"},
		{"another zone is UTC to the guest", VMOptions{Now: at("2026-11-20T23:33:07.5+09:00")}, "2026-11-20T14:33:07.500Z true 0"},
		{"the epoch", VMOptions{Now: at("1970-01-01T00:00:00Z")}, "1970-01-01T00:00:00.000Z true 0"},
		{"far ahead", VMOptions{Now: at("2200-01-01T00:00:00Z")}, "2200-01-01T00:00:00.000Z true 0"},
	} {
		if got := runWith(t, tmpl, &c.o, read); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Local time is UTC, whatever the host's zone is.
func TestTimeZone(t *testing.T) {
	tmpl := testTemplate(t)
	got := runWith(t, tmpl, &VMOptions{Now: func() time.Time { return fixedTime }},
		"const d = new Date(2024, 6, 1, 12); return [d.toISOString(), d.toString(), d.getHours() === d.getUTCHours(), new Date(2024, 0, 1).getTimezoneOffset(), new Date(2024, 6, 1).getTimezoneOffset(), Date.parse('2024-07-01T12:00')].join('|')")
	if want := "2024-07-01T12:00:00.000Z|Mon Jul 01 2024 12:00:00 GMT+0000|true|0|0|1719835200000"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The guest sees the host's clock move, and in steps only: no finer timer can be
// made of it, and there is no other.
func TestClockIsCoarse(t *testing.T) {
	tmpl := testTemplate(t)
	var mu sync.Mutex
	now := fixedTime
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(700 * time.Microsecond)
		return now
	}
	got := runWith(t, tmpl, &VMOptions{Now: clock},
		"const s = new Set(); for (let i = 0; i < 3000; i++) s.add(Date.now()); return [...s].every((x) => x % 10 === 0) + ' ' + s.size")
	if want := "true 211"; got != want { // 3000 looks × 0.7 ms in steps of 10 ms
		t.Errorf("%q, want %q", got, want)
	}
	got = mustRun(t, tmpl, "const a = []; for (let i = 0; i < 1e5; i++) a.push(Date.now()); return a.every((x, i) => x % 10 === 0 && (!i || x >= a[i - 1]))")
	if got != "true" {
		t.Errorf("the default clock: %q", got)
	}
}

const randoms = "return [Math.random(), Math.random(), Math.random()].join()"

func TestRandom(t *testing.T) {
	tmpl := testTemplate(t)
	seed := func(s string) *VMOptions { return &VMOptions{Random: strings.NewReader(s)} }
	a, b := runWith(t, tmpl, seed("seed number one"), randoms), runWith(t, tmpl, seed("seed number one"), randoms)
	if a != b {
		t.Errorf("one seed gives %s and %s", a, b)
	}
	if c := runWith(t, tmpl, seed("seed_number one"), randoms); c == a {
		t.Errorf("two seeds give %s", c)
	}
	// The first eight bytes are the seed.
	if d := runWith(t, tmpl, seed("seed numXXXXXXX"), randoms); d != a {
		t.Errorf("more than eight bytes count: %s and %s", d, a)
	}
	zero := runWith(t, tmpl, &VMOptions{Random: bytes.NewReader(make([]byte, 8))}, randoms)
	if parts := strings.Split(zero, ","); parts[0] == parts[1] || parts[1] == parts[2] {
		t.Errorf("a seed of zeros gives %s", zero)
	}
	r := &counter{}
	runWith(t, tmpl, &VMOptions{Random: r}, randoms)
	if r.n != 8 {
		t.Errorf("%d bytes of randomness were read, want 8", r.n)
	}
}

func TestRandomIsNeverTheSameTwice(t *testing.T) {
	for _, m := range modes {
		tmpl := newTemplate(t, testEngine(t, m.plain), TemplateOptions{})
		for name, o := range map[string]*VMOptions{"by default": nil, "crypto/rand": {Random: rand.Reader}} {
			seen := map[string]bool{}
			for range 100 {
				for _, x := range strings.Split(runWith(t, tmpl, o, randoms), ",") {
					if seen[x] || !strings.HasPrefix(x, "0.") && x != "0" && !strings.Contains(x, "e-") {
						t.Errorf("%s, %s: %s came before, or is no fraction", m.name, name, x)
					}
					seen[x] = true
				}
			}
		}
	}
}
