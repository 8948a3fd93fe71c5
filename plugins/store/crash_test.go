package store

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// The test binary is its own child: with childDir set it changes the store in that folder until it is killed; with childDie
// set too, it makes one update and kills itself at that step.
const (
	childDir = "CLOISTER_TEST_STORE_CHILD"
	childDie = "CLOISTER_TEST_STORE_DIE"
)

// journal notes what a child is about to commit, and what was committed. Each line is one write to a file opened for
// appending, so that a kill loses at most the line that was not written.
type journal struct{ file *os.File }

func (j journal) note(what string, number int, digest string) {
	if _, err := fmt.Fprintf(j.file, "\n%s %d %s\n", what, number, digest); err != nil {
		panic(err)
	}
}

// child changes the store at random. What it is told to do it does through the package's API.
func child(dir string) int {
	go func() { // the parent is gone when its end of the pipe is
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	vs, err := childPlugins(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s, err := Open(filepath.Join(dir, "store"), nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if n, err := strconv.Atoi(os.Getenv(childDie)); err == nil {
		return dieAt(s, vs, n)
	}
	file, err := os.OpenFile(filepath.Join(dir, "journal"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	j := journal{file}
	s.step = func(name string) {
		if name == "the generation is written" {
			j.intent(s)
		}
	}
	fmt.Println("ready")
	for {
		g, err := randomChange(s, vs)
		switch {
		case err == nil && g != nil:
			text, err := encodeGeneration(g)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			j.note("commit", g.Number, digestOf(text))
		case err == nil, errors.Is(err, ErrSame), errors.Is(err, ErrNotInstalled), errors.Is(err, ErrNoGeneration):
		default:
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
}

// intent notes the generation that was just written, which is the newest: nobody else is writing.
func (j journal) intent(s *Store) {
	f, err := s.open(false)
	if err != nil {
		panic(err)
	}
	defer f.close()
	now, err := f.pointer()
	if err != nil {
		panic(err)
	}
	number := 0 // the first generation of a new store
	if now != nil {
		if number, err = strconv.Atoi(strings.Fields(string(now))[0]); err != nil {
			panic(err)
		}
		number++
	}
	_, digest, err := f.generation(number)
	if err != nil {
		panic(err)
	}
	j.note("intent", number, digest)
}

func childPlugins(dir string) ([]*trust.Verified, error) {
	policy, err := trust.LoadPolicy(filepath.Join(dir, "policy.json"))
	if err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.cloister"))
	if err != nil {
		return nil, err
	}
	var vs []*trust.Verified
	for _, name := range names {
		a, err := bundle.Read(name)
		if err != nil {
			return nil, err
		}
		v, err := policy.Verify(context.Background(), a)
		if err != nil {
			return nil, err
		}
		vs = append(vs, v)
	}
	return vs, nil
}

func randomChange(s *Store, vs []*trust.Verified) (*Generation, error) {
	ctx := context.Background()
	v := vs[rand.IntN(len(vs))]
	switch rand.IntN(12) {
	case 0, 1, 2, 3, 4:
		return s.Install(ctx, v, "from "+v.Manifest.ID)
	case 5:
		return s.Remove(ctx, v.Manifest.ID)
	case 6:
		return s.SetEnabled(ctx, v.Manifest.ID, true)
	case 7:
		return s.SetEnabled(ctx, v.Manifest.ID, false)
	case 8:
		return s.Rollback(ctx, 0)
	case 9:
		g, err := s.Current()
		if err != nil {
			return nil, err
		}
		return s.Rollback(ctx, max(1, g.Number-rand.IntN(5)))
	case 10:
		_, err := s.Repair(ctx)
		return nil, err
	default:
		_, err := s.Collect(ctx, 1+rand.IntN(4))
		return nil, err
	}
}

// prepareCrash makes a folder for children: a policy, versions of plugins, an empty store.
func prepareCrash(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	policy := testPolicy(t, nil)
	if err := policy.Save(filepath.Join(dir, "policy.json")); err != nil {
		t.Fatal(err)
	}
	for i, id := range []string{"acme.a", "acme.b", "acme.c"} {
		for version := range 3 {
			a := sign(t, spec{id: id, version: fmt.Sprintf("1.%d.0", version), filler: 1000 * (i + version)}.build(t), acme())
			if err := a.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.cloister", id, version))); err != nil {
				t.Fatal(err)
			}
		}
	}
	writeFile(t, filepath.Join(dir, "journal"), nil)
	openStore(t, filepath.Join(dir, "store"))
	return dir
}

// process is a running child.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr *bytes.Buffer
}

func startChild(t *testing.T, dir string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0]), stderr: new(bytes.Buffer)}
	p.cmd.Env = append(os.Environ(), childDir+"="+dir)
	p.cmd.Stderr = p.stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		p.kill(t)
		t.Fatalf("a child did not start: %q, %v\n%s", line, err, p.stderr)
	}
	return p
}

// kill ends the child with SIGKILL. A child never ends by itself.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Errorf("kill: %v\n%s", err, p.stderr)
	}
	killed := -1 // by a signal; Windows knows only codes
	if runtime.GOOS == "windows" {
		killed = 1
	}
	var ee *exec.ExitError
	if err := p.cmd.Wait(); !errors.As(err, &ee) || ee.ExitCode() > killed || p.stderr.Len() > 0 {
		t.Errorf("a child ended by itself: %v\n%s", err, p.stderr)
	}
	if err := p.stdin.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
}

// TestKill kills writers at random moments, two of which are at work at once. After each kill the store must be readable at
// once, whole, at a generation that a writer meant to make, and not before one that was reported as made.
func TestKill(t *testing.T) {
	t.Parallel() // it waits for disks and other processes
	rounds := 200
	if testing.Short() {
		rounds = 10
	}
	dir := prepareCrash(t)
	r := &reader{path: filepath.Join(dir, "journal"), intents: map[string]bool{}}
	children := []*process{startChild(t, dir), startChild(t, dir)}
	for i := range rounds {
		<-time.After(time.Duration(rand.IntN(12_000)) * time.Microsecond) // the random moment
		which := i % len(children)
		children[which].kill(t)
		checkWhole(t, dir, r)
		if t.Failed() {
			t.Fatalf("after %d kills", i+1)
		}
		children[which] = startChild(t, dir)
	}
	for _, c := range children {
		c.kill(t)
	}
	checkWhole(t, dir, r)
	s := openStore(t, filepath.Join(dir, "store"))
	if _, err := s.Install(ctx, verified(t, spec{id: "acme.last", version: "1.0.0"}), ""); err != nil {
		t.Errorf("the store cannot be changed any more: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(s.Dir(), tmpDir)); err != nil || len(left) > 0 {
		t.Errorf("killed writers left %v, %v", left, err)
	}
	t.Logf("%d kills, last reported generation %d", rounds, r.committed)
	if r.committed < rounds/2 {
		t.Errorf("the children made only %d generations: the kills hit nothing", r.committed)
	}
}

// reader reads what the children noted, as far as it has come.
type reader struct {
	path      string
	offset    int
	committed int             // the highest generation that was reported as made
	intents   map[string]bool // all that were meant to be, as current would have them
}

func (r *reader) read(t *testing.T) {
	t.Helper()
	text := string(readFile(t, r.path))
	end := strings.LastIndexByte(text, '\n') + 1
	for _, l := range strings.Split(text[r.offset:end], "\n") {
		f := strings.Fields(l)
		if len(f) != 3 {
			continue // empty, or cut off by a kill
		}
		r.intents[f[1]+" "+f[2]+"\n"] = true
		if number, err := strconv.Atoi(f[1]); err == nil && f[0] == "commit" {
			r.committed = max(r.committed, number)
		}
	}
	r.offset = end
}

func checkWhole(t *testing.T, dir string, r *reader) {
	t.Helper()
	s := openStore(t, filepath.Join(dir, "store"))
	if _, err := s.Current(); err != nil { // without a lock, while another process writes
		t.Errorf("Current: %v", err)
	}
	r.read(t)
	committed := r.committed // what is reported from now on may be newer than what is read below
	f, err := s.open(false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	release, err := f.lock(ctx, false)
	if err != nil {
		t.Fatal(err)
	}
	r.read(t) // again: nobody is writing now
	text, err := f.pointer()
	if err != nil {
		t.Error(err)
	}
	g, err := f.pointed(text)
	if err != nil {
		t.Fatal(err)
	}
	if text != nil && !r.intents[string(text)] {
		t.Errorf("current is %q, which nobody meant to make", text)
	}
	if g.Number < committed {
		t.Errorf("generation %d was reported as made, the store is at %d", committed, g.Number)
	}
	for i := range g.Entries {
		if err := f.checkBlobs(&g.Entries[i]); err != nil {
			t.Errorf("generation %d: %v", g.Number, err)
		}
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	l, err := s.Load(ctx, testPolicy(t, nil), nil, nil)
	if err != nil || len(l.Refused) > 0 {
		t.Fatalf("Load: %+v, %v", l, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// dieAt makes an update and kills the process at step n. It comes back if there are not that many.
func dieAt(s *Store, vs []*trust.Verified, n int) int {
	s.step = func(string) {
		if n--; n > 0 {
			return
		}
		p, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = p.Kill()
		}
		if err != nil {
			panic(err)
		}
		select {}
	}
	if _, err := s.Install(context.Background(), vs[1], ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestKillAtEachStep kills an update between any two steps of it.
func TestKillAtEachStep(t *testing.T) {
	t.Parallel() // it waits for disks and other processes
	dir := prepareCrash(t)
	vs, err := childPlugins(dir)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		if n > 50 {
			t.Fatal("an update has more than 50 steps")
		}
		if err := os.RemoveAll(filepath.Join(dir, "store")); err != nil {
			t.Fatal(err)
		}
		s := openStore(t, filepath.Join(dir, "store"))
		if n%2 == 0 { // an update, else the first plugin of a new store
			if _, err := s.Install(ctx, vs[0], ""); err != nil {
				t.Fatal(err)
			}
		}
		before := current(t, s)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childDir+"="+dir, childDie+"="+strconv.Itoa((n+1)/2))
		stdin, err := cmd.StdinPipe() // open: the child lives as long as we do
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.CombinedOutput()
		if cerr := stdin.Close(); cerr != nil && !errors.Is(cerr, fs.ErrClosed) {
			t.Error(cerr)
		}
		after := current(t, openStore(t, s.Dir()))
		l := load(t, s)
		whole := len(l.Refused) == 0 && len(l.Plugins) == len(after.Entries)
		switch {
		case err == nil: // no such step: the update was made
			if after.summary() != "acme.a 1.1.0" || !whole {
				t.Errorf("after an update: %s", after.summary())
			}
			if n%2 == 0 {
				if n < 12 {
					t.Errorf("an update has only %d steps", n/2)
				}
				return
			}
		case len(out) > 0:
			t.Fatalf("step %d: %v\n%s", n, err, out)
		case !whole || after.Number != before.Number && after.summary() != "acme.a 1.1.0":
			t.Errorf("killed at step %d: generation %d, %s, refused %v", n, after.Number, after.summary(), l.Refused)
		}
	}
}
