package transpile

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// child is one worker process as its parent sees it. One goroutine at a time
// owns it: the call that uses it, the Worker while it is idle, or the one that
// disposes of it.
type child struct {
	cmd     *exec.Cmd
	in, out *os.File // our ends of its standard input and output
	stderr  firstBytes
	reply   bytes.Buffer
	exited  chan struct{} // closed when the process has been reaped
	idle    *time.Timer   // set by the Worker
	once    sync.Once
}

// startChild starts a process. The caller must see to it that reap is called.
func startChild(executable string, n nonce) (*child, error) {
	c := &child{exited: make(chan struct{})}
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer childIn.Close()
	out, childOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer childOut.Close()
	c.in, c.out = in, out
	c.cmd = &exec.Cmd{
		Path:   executable,
		Args:   []string{workerName},
		Stdin:  childIn,
		Stdout: childOut,
		Stderr: &c.stderr,
		// Nothing of the host's environment: it may hold secrets. Of a crash one
		// line is enough, and two threads are.
		Env:         []string{workerVariable + "=" + hex.EncodeToString(n[:]), "GOTRACEBACK=none", "GOMAXPROCS=2"},
		SysProcAttr: processAttributes(),
		Dir:         workerDirectory,
		// What has inherited stderr must not keep reap waiting.
		WaitDelay: time.Second,
	}
	if err := c.cmd.Start(); err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	return c, nil
}

// reap waits for the end of the process.
func (c *child) reap() {
	// That it failed or was killed is in cmd.ProcessState.
	_ = c.cmd.Wait()
	close(c.exited)
}

// kill ends the process and whatever waits for it. It may be called by anybody
// and more than once.
func (c *child) kill() {
	c.once.Do(func() {
		// The only failure is that it has ended by itself.
		_ = c.cmd.Process.Kill()
		// Where pipes know no deadlines, the end of the process ends the waiting.
		_ = c.in.SetDeadline(time.Unix(0, 0))
		_ = c.out.SetDeadline(time.Unix(0, 0))
	})
}

// dispose kills the process, waits until it is reaped and closes the pipes.
func (c *child) dispose() {
	c.kill()
	<-c.exited
	c.in.Close()
	c.out.Close()
}

// hasExited reports whether the process has been reaped.
func (c *child) hasExited() bool {
	select {
	case <-c.exited:
		return true
	default:
		return false
	}
}

// exchange sends one frame and returns the payload of the answer, valid until
// the next exchange. When ctx ends first the child is killed; alive is false
// then, and after every error.
func (c *child) exchange(ctx context.Context, request string, most int) (reply []byte, alive bool, err error) {
	stop := context.AfterFunc(ctx, c.kill)
	defer func() { alive = stop() && err == nil }()
	if _, err = c.in.Write(appendFrame(nil, request)); err != nil {
		return nil, false, err
	}
	reply, err = readFrame(c.out, &c.reply, most)
	return reply, false, err
}

// greet exchanges the hellos.
func (c *child) greet(ctx context.Context, h hello) error {
	answer, alive, err := c.exchange(ctx, string(h.encode()), helloBytes)
	if err != nil {
		return err
	}
	got, err := decodeGreeting(answer)
	if err != nil {
		return err
	}
	if got != h.nonce || !alive {
		return fmt.Errorf("%w: hello with another nonce", errMalformed)
	}
	return nil
}

// What Go's runtime, or that of C, says last when memory or stack runs out.
var (
	saidOfMemory = []string{"out of memory", "cannot allocate memory", "pthread_create failed", "failed to create new OS thread", "failed to allocate"}
	saidOfStack  = []string{"stack overflow", "stack exceeds"}
)

// cause says why the process ended, once it has exited.
func (c *child) cause() Cause {
	text := c.stderr.get()
	says := func(s string) bool { return strings.Contains(text, s) }
	switch {
	case c.cmd.ProcessState.ExitCode() == exitMemory, slices.ContainsFunc(saidOfMemory, says):
		return CauseMemory
	case slices.ContainsFunc(saidOfStack, says):
		return CauseStack
	case signaled(c.cmd.ProcessState):
		return CauseSignal
	}
	return CauseCrash
}

// firstBytes keeps the first bytes that are written and takes the rest without
// keeping it, so that a child can neither fill our memory nor block.
type firstBytes struct {
	mu   sync.Mutex
	kept []byte
}

const keptStderr = 2 << 10

func (f *firstBytes) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept = append(f.kept, p[:min(len(p), keptStderr-len(f.kept))]...)
	return len(p), nil
}

func (f *firstBytes) get() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return string(f.kept)
}

func newNonce() nonce {
	var n nonce
	rand.Read(n[:]) // never fails
	return n
}

var errForeignProgram = errors.New("this Go code runs inside a foreign program (a c-archive, c-shared or plugin build); set Options.Executable to a Go program that links Cloister")

// defaultExecutable returns the running program. Inside a foreign one there is
// none that could serve, and starting that one again might do anything.
func defaultExecutable() (string, error) {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key != "-buildmode" {
				continue
			}
			switch s.Value {
			case "c-archive", "c-shared", "plugin":
				return "", errForeignProgram
			}
		}
	}
	return selfExecutable()
}
