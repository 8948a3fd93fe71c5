package host_test

import (
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/cloister-wasm/cloister/guestabi"
)

// The attack corpus: testdata/attacks holds one archive for each class of attack,
// and in it one file for each cell. A cell's first lines are its header:
//
//	// tries: what the cell tries to do
//	// want: the verdict: completed JSON, failed REASON, waiting REASON or harmless;
//	//       alternatives are separated by " or "
//	// then: the verdict of the next wait, after client calls were answered; repeatable
//	// output: the texts of the output of the last result, as a JSON array
//	// calls: how many tools run; 0 if it is missing, -1 for any number
//	// host: quick (100 ms where the verdict has a timeout), small (4 MiB) or normal,
//	//       the default
//	// language: typescript
//
// The header is cut off. In what is left, %{repeat N TEXT}%, %{u+HEX}% and
// %{byte HEX}% stand for text that is awkward in a file.
//
// "harmless" means that the cell may end in any way that is a Result. After each
// cell a canary runs in the same run of the same host: its value, which holds a
// fingerprint of all that a cell can reach, must be that of a canary on a fresh
// host.
//
// Verdicts do not depend on how busy the machine is: only what may end by a timeout has
// a short one, and the canary has a minute.

const minAttacks = 320

type attack struct {
	name, source, tries, language string
	want                          string
	then                          []string
	output                        string
	calls                         int
	profile                       string
	quick                         bool
}

var header = regexp.MustCompile(`^// ([a-z]+): (.*)$`)

var macro = regexp.MustCompile(`(?s)%\{(repeat \d+ .*?|u\+[0-9a-fA-F]+|byte [0-9a-fA-F]{2})\}%`)

func expand(t *testing.T, source string) string {
	return macro.ReplaceAllStringFunc(source, func(m string) string {
		m = m[2 : len(m)-2]
		switch {
		case strings.HasPrefix(m, "u+"):
			n, err := strconv.ParseUint(m[2:], 16, 21)
			if err != nil {
				t.Fatal(err)
			}
			return string(rune(n))
		case strings.HasPrefix(m, "byte "):
			n, err := strconv.ParseUint(m[5:], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			return string([]byte{byte(n)})
		}
		count, text, _ := strings.Cut(m[len("repeat "):], " ")
		n, err := strconv.Atoi(count)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Repeat(text, n)
	})
}

func parseAttack(t *testing.T, f txtar.File) attack {
	a := attack{name: f.Name, profile: "normal"}
	source := string(f.Data)
	for {
		line, rest, _ := strings.Cut(source, "\n")
		m := header.FindStringSubmatch(line)
		if m == nil {
			break
		}
		value := m[2]
		switch m[1] {
		case "tries":
			a.tries = value
		case "want":
			a.want = value
		case "then":
			a.then = append(a.then, value)
		case "output":
			a.output = value
		case "host":
			if a.quick = value == "quick"; !a.quick {
				a.profile = value
			}
		case "language":
			a.language = value
		case "calls":
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			a.calls = n
		default:
			t.Fatalf("%s: unknown header %q", f.Name, line)
		}
		source = rest
	}
	if a.tries == "" || a.want == "" {
		t.Fatalf("%s: the header lacks tries or want", f.Name)
	}
	a.source = strings.TrimSuffix(expand(t, source), "\n")
	return a
}

// TestLeftoversOnPlainMemory: pools of engines are put back in another way where
// there are no copy-on-write mappings.
func TestLeftoversOnPlainMemory(t *testing.T) {
	ar, err := txtar.ParseFile("testdata/attacks/leftovers.txtar")
	if err != nil {
		t.Fatal(err)
	}
	a := newArena(t, "plain")
	for _, f := range ar.Files {
		x := parseAttack(t, f)
		if !sampled(t, x.name) {
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			a.fight(t, x)
			a.check(t, x.name, true)
		})
	}
}

// poisonTails use each part of the API. The last lines of the intrinsics class are
// replaced by each of them.
var poisonTails = []string{
	"return await tools.search('echo', { limit: 3 })",
	"return await tools.describe('cloister:core:add')",
	"return await tools.fail({}).then((x) => x, (e) => [e.name, e.message, e.code])",
	"return await tools.call('cloister:core:secret', { a: [1, { b: 2 }] })",
	"text({ a: 1 }); json([1, 'x', { y: null }]); console.warn('a', new Error('b'), 1n, Symbol('c')); return { a: [1, 'x'] }",
	"await yield_control({ why: 'because' }); text('after'); return await tools.echo({ x: [1, 2, { y: 'z' }] })",
	"return [await API.list(), await API.read('nope').catch((e) => e.message)]",
	"return structuredClone({ a: [1, new Map([[1, new Set([2])]]), new Date(0), /x/g, new Uint8Array(4), new Error('e')] })",
	"const all = []; for (let i = 0; i < 20; i++) all.push(tools.add({ x: i })); let s = 0; for (let i = 0; i < 20; i++) s += await all[i]; return s",
	"throw { name: 'N', message: 'M', code: 'C' }",
	"tools.fail({}); return 1",
	"return await tools.ask({ q: [1] })",
}

// TestPoisonedAPI crosses every way to rewrite built-in objects with every part of
// the API. A cell may break itself by that, and nothing else: no tool runs that is
// denied, no message is malformed, and the canary is well.
func TestPoisonedAPI(t *testing.T) {
	ar, err := txtar.ParseFile("testdata/attacks/intrinsics.txtar")
	if err != nil {
		t.Fatal(err)
	}
	a := newArena(t, "normal")
	for _, f := range ar.Files {
		x := parseAttack(t, f)
		poison, _, ok := cutLast(x.source, "\n")
		if !ok || !sampled(t, x.name) {
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			for _, tail := range poisonTails {
				res := a.fight(t, attack{name: x.name, source: poison + "\n" + tail, want: "harmless", calls: -1})
				for i := 0; res.Status == guestabi.StatusWaiting && i < 3; i++ {
					res = a.answer(t, res)
				}
				if res.Status == guestabi.StatusWaiting || res.Reason == guestabi.ReasonInternalError {
					t.Errorf("%s: %s %s (%s)", tail, res.Status, res.Error, res.Reason)
				}
				a.check(t, x.name+" with "+tail, false)
			}
			a.check(t, x.name, true)
		})
	}
}

// samples is how many parts the corpus has of which -short runs one.
const samples = 16

var sampleFlag = flag.Int("sample", -1, "with -short: which of 16 samples of the attacks runs; the days take turns by default")

// sampleNumber is the sample that -short runs. Whoever runs the tests day by day has run
// all attacks after sixteen days.
func sampleNumber() int {
	n := *sampleFlag
	if n < 0 {
		n = int(time.Now().Unix() / (24 * 60 * 60))
	}
	return n % samples
}

// sampled says whether an attack runs: all do, with -short those of the sample.
func sampled(t *testing.T, name string) bool {
	if !testing.Short() {
		return true
	}
	h := fnv.New32a()
	if _, err := io.WriteString(h, name); err != nil {
		t.Fatal(err)
	}
	return int(h.Sum32()%samples) == sampleNumber()
}

// sample gives what a test runs of a table: all, with -short one row of every n, another one
// on the next day.
func sample[T any](rows []T, n int) []T {
	if !testing.Short() {
		return rows
	}
	var some []T
	for i := sampleNumber() % min(n, len(rows)); i < len(rows); i += n {
		some = append(some, rows[i])
	}
	return some
}

// rounds is how often a test tries its luck: n times, with -short a tenth of that.
func rounds(n int) int {
	if testing.Short() {
		return max(1, n/10)
	}
	return n
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func TestAttacks(t *testing.T) {
	files, err := filepath.Glob("testdata/attacks/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	total, ran := 0, 0
	t.Run("classes", func(t *testing.T) {
		shared := map[string]*arena{} // making a host costs more than the few attacks of a sample
		for _, file := range files {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(strings.TrimSpace(string(ar.Comment))) == 0 {
				t.Errorf("%s does not say what the class is", file)
			}
			var attacks []attack
			names := map[string]bool{}
			for _, f := range ar.Files {
				a := parseAttack(t, f)
				if names[a.name] {
					t.Errorf("%s has %s twice", file, a.name)
				}
				names[a.name] = true
				attacks = append(attacks, a)
			}
			total += len(attacks)
			attacks = slices.DeleteFunc(attacks, func(x attack) bool { return !sampled(t, x.name) })
			ran += len(attacks)
			for _, x := range attacks {
				if testing.Short() && shared[x.profile] == nil {
					shared[x.profile] = newArena(t, x.profile)
				}
			}
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
				arenas := shared
				if !testing.Short() {
					t.Parallel()
					arenas = map[string]*arena{}
				}
				for _, x := range attacks {
					if arenas[x.profile] == nil {
						arenas[x.profile] = newArena(t, x.profile)
					}
					a := arenas[x.profile]
					t.Run(x.name, func(t *testing.T) {
						a.fight(t, x)
						a.check(t, fmt.Sprintf("%s (%s)", x.name, x.tries), !x.quick)
					})
				}
				for profile, a := range arenas {
					if len(attacks) > 0 {
						a.check(t, "all attacks on the "+profile+" host", true)
					}
				}
			})
		}
	})
	if testing.Short() {
		t.Logf("%d of %d attacks, sample %d: make test runs them all, go test -short ./host -sample N others", ran, total, sampleNumber())
	}
	if total < minAttacks {
		t.Errorf("the corpus has %d attacks, want at least %d", total, minAttacks)
	}
}
