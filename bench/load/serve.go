package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// program is what is measured.
const program = "github.com/cloister-wasm/cloister/cmd/cloister"

// serving is a running `cloister serve --http`.
type serving struct {
	cmd             *exec.Cmd
	url, approvals  string
	token, approver string
	mallory         string // the token of hostile clients
	ledger          string
	control         string // the file that has a server flood
	log             tail
	slowed, cut     atomic.Int64 // servers that were, as the log says
	ended           chan struct{}
	err             error // of Wait, when ended is closed
}

func (s *serving) pid() int { return s.cmd.Process.Pid }

// start builds cloister, if no binary was named, and starts it in dir.
func start(ctx context.Context, o settings, dir string) (*serving, error) {
	if o.cloister == "" {
		o.cloister = filepath.Join(dir, "cloister")
		if runtime.GOOS == "windows" {
			o.cloister += ".exe"
		}
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", o.cloister, program).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("building cloister: %w\n%s", err, out)
		}
	}
	s := &serving{
		token: rand.Text() + rand.Text(), approver: rand.Text() + rand.Text(), mallory: rand.Text() + rand.Text(),
		ledger: filepath.Join(dir, "ledger"), control: filepath.Join(dir, "flood"), ended: make(chan struct{}),
	}
	args, err := s.files(o, dir)
	if err != nil {
		return nil, err
	}
	s.cmd = exec.Command(o.cloister, args...)
	s.cmd.Env = append(os.Environ(), "CLOISTER_DATA_DIR="+filepath.Join(dir, "data"), "CLOISTER_CONFIG=", "CLOISTER_LOCK=", "CLOISTER_TRUST=")
	if o.engine != "" {
		s.cmd.Env = append(s.cmd.Env, "CLOISTER_ENGINE="+o.engine)
	}
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	return s, s.listening(stderr)
}

// snapshotTTL is how long a suspended cell waits for its client, which may have lost its
// connection just then.
func (o settings) snapshotTTL() time.Duration { return max(o.ttl, time.Second) + 2*resumeTime }

// resumeTime is how long a client may take to come back when its connection breaks: a
// second before its first attempt.
const resumeTime = 5 * time.Second

// commentTime is the time between two comments on a quiet stream.
const commentTime = time.Second

// files writes the configuration and the tokens, and gives the arguments.
func (s *serving) files(o settings, dir string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	file := func(name string) map[string]string { return map[string]string{"file": filepath.Join(dir, name)} }
	running := 4 * max(o.clients, 16) // half of it for each principal
	config, err := json.Marshal(map[string]any{
		"tools": map[string]any{"codeMode": map[string]any{"enabled": true, "maxSuspendedRuns": 4096, "snapshotTtlSeconds": int(o.snapshotTTL().Seconds())}},
		"mcp": map[string]any{"servers": map[string]any{
			"load": map[string]any{
				"command": self, "env": map[string]any{ledgerVariable: s.ledger, lifeVariable: o.life.String()}, "limits": map[string]any{"maxConcurrent": 64},
			},
			"flood": map[string]any{"command": self, "env": map[string]any{floodVariable: s.control}},
		}},
		"serve": map[string]any{
			"tokens": map[string]any{"load": file("token"), "mallory": file("mallory")},
			"limits": map[string]any{
				"maxSessions": 16 * max(o.clients, 16), "maxRunning": running, "maxRunningBytes": running << 26,
				"idleTimeoutMs": o.idle.Milliseconds(), "resumeTimeoutMs": resumeTime.Milliseconds(), "commentIntervalMs": commentTime.Milliseconds(),
			},
		},
		"approvals": map[string]any{"ttlSeconds": max(1, int(o.ttl.Seconds()))},
	})
	if err != nil {
		return nil, err
	}
	args := []string{"serve", "--http", "127.0.0.1:0", "--no-installed"}
	for _, f := range []struct{ flag, name, text string }{
		{"--config", "cloister.json5", string(config)}, {"", "token", s.token}, {"", "mallory", s.mallory}, {"--approvals-token-file", "approver", s.approver},
	} {
		path := filepath.Join(dir, f.name)
		if err := os.WriteFile(path, []byte(f.text), 0o600); err != nil {
			return nil, err
		}
		if f.flag != "" {
			args = append(args, f.flag, path)
		}
	}
	return args, nil
}

var servingAt = regexp.MustCompile(`msg="serving MCP" url=(\S+).* approvals=(\S+)`)

// listening waits until the process says where it listens.
func (s *serving) listening(stderr io.Reader) error {
	at := make(chan []string, 1)
	go func() {
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			s.log.add(lines.Text())
			switch {
			case strings.Contains(lines.Text(), "it is slowed down"):
				s.slowed.Add(1)
			case strings.Contains(lines.Text(), "MCP server failed") && strings.Contains(lines.Text(), "limits.maxUnaskedPerSecond"):
				s.cut.Add(1)
			}
			if m := servingAt.FindStringSubmatch(lines.Text()); m != nil && s.url == "" {
				s.url = m[1]
				at <- m
			}
		}
		close(at)
		s.err = s.cmd.Wait()
		close(s.ended)
	}()
	m := <-at
	if m == nil {
		<-s.ended
		return fmt.Errorf("cloister serve does not start: %w\n%s", s.err, s.log.String())
	}
	s.approvals = m[2]
	return nil
}

// stop ends the process and says whether it ended in order.
func (s *serving) stop() error {
	select {
	case <-s.ended:
		return errors.Join(errors.New("it had ended already"), s.err)
	default:
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		// Windows has no such signal.
		_ = s.cmd.Process.Kill()
	}
	select {
	case <-s.ended:
		return s.err
	case <-time.After(20 * time.Second):
		_ = s.cmd.Process.Kill() // Wait says how it ended
		<-s.ended
		return errors.New("it was still there after 20 seconds")
	}
}

// tail keeps the last lines of a log.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
	if len(t.lines) > 40 {
		t.lines = t.lines[1:]
	}
}

// String gives what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n") + "\n"
}
