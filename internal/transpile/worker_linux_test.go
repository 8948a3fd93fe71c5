package transpile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestParentKilled: a worker ends with its parent, even with one that was killed
// while the worker was busy.
func TestParentKilled(t *testing.T) {
	// Orphans come to us, so that we can wait for them.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0); err != nil {
			t.Error(err)
		}
	}()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{orphanVariable + "=1"}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 100)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the parent was not killed")
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		t.Fatalf("waiting for the orphan: %v", err)
	}
	if !status.Exited() || status.ExitStatus() != exitDone {
		t.Errorf("the orphan ended with %v, want exit %d", status, exitDone)
	}
}

// TestWorkerProcess looks at a worker from outside: it has nothing of our
// environment, and the limits it should have.
func TestWorkerProcess(t *testing.T) {
	t.Setenv("SECRET_OF_THE_HOST", "hunter2")
	// A descriptor as a careless library leaves it: open for every program.
	leaked, err := unix.Open(t.TempDir(), unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leaked)
	c, _ := startedChild(t)
	defer c.dispose()
	proc := fmt.Sprintf("/proc/%d/", c.cmd.Process.Pid)

	environ, err := os.ReadFile(proc + "environ")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, v := range bytes.Split(bytes.TrimRight(environ, "\x00"), []byte{0}) {
		name, _, _ := bytes.Cut(v, []byte("="))
		names = append(names, string(name))
	}
	if diff := cmp.Diff([]string{workerVariable, "GOTRACEBACK", "GOMAXPROCS"}, names); diff != "" {
		t.Errorf("environment (-want +got)\n%s", diff)
	}

	if dir, err := os.Readlink(proc + "cwd"); err != nil || dir != "/" {
		t.Errorf("it stands in %q, %v", dir, err)
	}
	limits, err := os.ReadFile(proc + "limits")
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(strings.Fields(string(limits)), " ")
	for _, want := range []string{"Max core file size 0 0", "Max file size 0 0", "Max open files 0 0"} {
		if !strings.Contains(said, want) {
			t.Errorf("no limit %q in\n%s", want, limits)
		}
	}
	for _, bad := range []string{"Max address space unlimited", "Max data size unlimited"} {
		if strings.Contains(said, bad) {
			t.Error(bad)
		}
	}
	descriptors, err := os.ReadDir(proc + "fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range descriptors {
		target, err := os.Readlink(proc + "fd/" + d.Name())
		if err != nil {
			t.Error(err)
		}
		// Besides the pipes there is what Go's runtime opens for itself.
		own := []string{"pipe:", "anon_inode:", "/sys/fs/cgroup/"}
		if !slices.ContainsFunc(own, func(prefix string) bool { return strings.HasPrefix(target, prefix) }) {
			t.Errorf("descriptor %s is %s", d.Name(), target)
		}
	}
}

// TestMemoryStaysBounded sets off bombs that eat memory and looks at the most
// that their processes ever held.
func TestMemoryStaysBounded(t *testing.T) {
	names := []string{"enum references", "closed braces", "ifs", "awaits", "closed templates"}
	if testing.Short() {
		names = names[1:2]
	}
	for _, name := range names {
		c, w := startedChild(t)
		_, _, err := c.exchange(t.Context(), bombs()[name], maxOutputBytes)
		if err == nil {
			c.kill()
		}
		c.dispose()
		usage := c.cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if got := usage.Maxrss << 10; got > w.opts.MemoryLimitBytes*5/4 {
			t.Errorf("%s: the process held %d MiB, the limit is %d", name, got>>20, w.opts.MemoryLimitBytes>>20)
		}
		t.Logf("%s: %d MiB, %v", name, usage.Maxrss>>10, c.cause())
	}
}

// TestCauses: each way to die has its name.
func TestCauses(t *testing.T) {
	w := newTestWorker(t, &Options{MemoryLimitBytes: minMemory})
	for name, want := range map[string]Cause{"bangs": CauseStack, "enum references": CauseMemory} {
		_, err := w.Transform(t.Context(), Input{Source: bombs()[name]})
		var died *WorkerDiedError
		if !errors.As(err, &died) || !errors.Is(err, ErrWorkerDied) || died.Cause != want {
			t.Errorf("%s: got %v, want a worker that died %s", name, err, want)
		}
	}
}
