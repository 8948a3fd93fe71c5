package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/cloister-wasm/cloister/internal/safefile"
	"golang.org/x/net/http/httpguts"
)

// Bounds on secrets.
const (
	maxSecretBytes = 64 << 10
	secretTimeout  = 30 * time.Second
)

// Value is a text of the configuration, or a secret that is looked up each time the
// server is connected to. Exactly one of Text, Env, File and Command is set; only
// Text is not a secret.
type Value struct {
	// Text is the value itself.
	Text string
	// Env names a variable of the host's environment.
	Env string
	// File is the absolute path of a file that holds the value; white space at its end is
	// dropped. Others must not be able to read it or to change it.
	File string
	// Command is a program and its arguments, whose standard output is the value. It has
	// 30 seconds and 64 KiB; white space at its end is dropped.
	Command []string
	// Prefix stands before the value, such as "Bearer ".
	Prefix string
}

// String says where the value comes from, and never what it is.
func (v Value) String() string {
	switch {
	case v.Env != "":
		return "the environment variable " + v.Env
	case v.File != "":
		return "the file " + v.File
	case len(v.Command) > 0:
		return "the output of " + v.Command[0]
	case v.Text != "":
		return "a text"
	default:
		return "nothing"
	}
}

// GoString keeps %#v from writing Text.
func (v Value) GoString() string { return "mcp.Value(" + v.String() + ")" }

func (v Value) empty() bool {
	return v.Text == "" && v.Env == "" && v.File == "" && len(v.Command) == 0
}

// resolve gets the value. Errors name its source and never its content.
func (v Value) resolve(ctx context.Context) (string, error) {
	raw, err := v.source(ctx)
	if errors.As(err, new(*safefile.FileError)) { // which names the file
		return "", fmt.Errorf("%w: %w", ErrSecret, err)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w", ErrSecret, v, err)
	}
	if strings.ContainsRune(raw, 0) {
		return "", fmt.Errorf("%w: %s holds a NUL character", ErrSecret, v)
	}
	return v.Prefix + raw, nil
}

// resolveHeader is resolve for what goes into an HTTP header.
func (v Value) resolveHeader(ctx context.Context) (string, error) {
	s, err := v.resolve(ctx)
	if err == nil && !httpguts.ValidHeaderFieldValue(s) {
		return "", fmt.Errorf("%w: %s holds characters that a header cannot have, such as line ends", ErrSecret, v)
	}
	return s, err
}

func (v Value) source(ctx context.Context) (string, error) {
	switch {
	case v.Env != "":
		s, ok := os.LookupEnv(v.Env)
		if !ok || s == "" {
			return "", errors.New("it is not set")
		}
		return s, nil
	case v.File != "":
		data, err := safefile.ReadSecret(v.File, maxSecretBytes)
		if err != nil {
			return "", err
		}
		return notEmpty(data)
	case len(v.Command) > 0:
		return v.run(ctx)
	default:
		return v.Text, nil
	}
}

func notEmpty(data []byte) (string, error) {
	s := strings.TrimRight(string(data), " \t\r\n")
	if s == "" {
		return "", errors.New("it is empty")
	}
	return s, nil
}

// run starts the command with the host's environment: the operator chose it, and it
// has to find its own key rings. What it writes to standard error stays there unread,
// since it may hold the secret.
func (v Value) run(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, secretTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, v.Command[0], v.Command[1:]...)
	out := &boundedBuffer{most: maxSecretBytes}
	cmd.Stdout = out
	cmd.SysProcAttr = groupAttributes()
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case out.over:
		return "", fmt.Errorf("it wrote more than %d bytes", maxSecretBytes)
	case ctx.Err() != nil:
		return "", fmt.Errorf("it did not end in time: %w", ctx.Err())
	case err != nil:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return "", fmt.Errorf("it ended with %s", exit.ProcessState)
		}
		return "", err
	}
	return notEmpty(out.buf.Bytes())
}

// boundedBuffer keeps the first bytes, and refuses to take more.
type boundedBuffer struct {
	buf  bytes.Buffer
	most int
	over bool
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.buf.Len()+len(p) > b.most {
		b.over = true
		return 0, errors.New("too much output")
	}
	return b.buf.Write(p)
}
