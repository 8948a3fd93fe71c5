package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// How a server is asked to end, after its standard input was closed.
const (
	closeGrace = time.Second            // until SIGTERM to the group
	termGrace  = 2 * time.Second        // until SIGKILL
	shortGrace = 200 * time.Millisecond // each of them for a server that broke the protocol, or never spoke it
	drainGrace = 500 * time.Millisecond
)

// maxLine bounds a line of standard error as it is handed on, in bytes.
const maxLine = 2000

// secretRoom is how much longer a line is read, so that a secret at the place where it is
// cut is still known as one.
const secretRoom = 4096

// process is a running stdio server. It is the SDK's transport and connection in one.
type process struct {
	wire   *wire
	frames *frames
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *os.File
	errs   *os.File

	writing chan struct{} // one place: who writes
	exited  chan struct{} // closed after the process was waited for
	drained chan struct{} // closed after standard error ended

	hurry atomic.Bool // until the handshake is over: before, there is nothing to wait for
	ended func(error) // told once why nothing can be read any more

	closing sync.Once
	closed  chan struct{}

	mu    sync.Mutex
	fault error  // the violation that ended the connection
	last  string // last line of standard error
	state *os.ProcessState
}

var (
	_ sdk.Transport  = (*process)(nil)
	_ sdk.Connection = (*process)(nil)
)

// start starts the program of a server in a process group of its own.
func start(ctx context.Context, cfg *Server, max int, w *wire, sec *secrets, line func(string), ended func(error)) (*process, error) {
	depth, err := cfg.deeper()
	if err != nil {
		return nil, because("it is not started", err)
	}
	env, err := environment(ctx, cfg, sec, depth)
	if err != nil {
		return nil, err
	}
	p := &process{
		wire: w, writing: make(chan struct{}, 1), ended: ended,
		exited: make(chan struct{}), drained: make(chan struct{}), closed: make(chan struct{}),
	}
	p.cmd = exec.Command(cfg.Command, cfg.Args...)
	p.cmd.Dir, p.cmd.Env, p.cmd.SysProcAttr = cfg.Dir, env, groupAttributes()
	out, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	errs, errsW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, out.Close(), outW.Close())
	}
	p.out, p.errs, p.cmd.Stdout, p.cmd.Stderr = out, errs, outW, errsW
	if p.in, err = p.cmd.StdinPipe(); err == nil {
		err = p.cmd.Start()
	}
	// The process has its own copies.
	if e := errors.Join(outW.Close(), errsW.Close()); err == nil {
		err = e
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: cannot start: %w", ErrUnavailable, err), out.Close(), errs.Close())
	}
	p.hurry.Store(true)
	p.frames = newFrames(out, max, func(s string) {
		line("stdout: " + s)
		p.spend(1 + float64(len(s))/unaskedBytes)
	})
	go p.wait()
	go p.readErrors(line)
	return p, nil
}

func (p *process) wait() {
	// What it started may live on and have its pipes open. The group is ours to end as long
	// as its leader was not waited for: then the number may be another's.
	if awaitExit(p.cmd.Process) {
		_ = killGroup(p.cmd.Process) // mostly, there is nobody left
	}
	_ = p.cmd.Wait() // how it ended is in ProcessState
	p.mu.Lock()
	p.state = p.cmd.ProcessState
	p.mu.Unlock()
	close(p.exited)
	// Nothing that is written from now on is waited for long.
	time.AfterFunc(drainGrace, func() {
		_ = p.out.Close() // wakes up who reads; only read from
		_ = p.errs.Close()
	})
}

// readErrors hands standard error on, line by line.
func (p *process) readErrors(line func(string)) {
	defer close(p.drained)
	lines(&metered{p.errs, p.spend}, maxLine+secretRoom, func(s string) {
		p.mu.Lock()
		p.last = s
		p.mu.Unlock()
		line(s)
	})
}

// spend spends the server's budget for what is no message. Once it is over the connection
// is, whoever is reading.
func (p *process) spend(cost float64) error {
	err := p.wire.unasked.spend(cost)
	if errors.Is(err, ErrFlood) {
		p.broke(err)
		p.ended(err)
		_ = p.out.Close() // wakes up who reads; only read from
	}
	return err
}

// broke notes the first violation.
func (p *process) broke(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fault == nil {
		p.fault = err
	}
}

// Connect implements sdk.Transport.
func (p *process) Connect(context.Context) (sdk.Connection, error) { return p, nil }

// SessionID implements sdk.Connection.
func (*process) SessionID() string { return "" }

// Read implements sdk.Connection.
func (p *process) Read(context.Context) (jsonrpc.Message, error) {
	for {
		data, err := p.frames.next()
		if err == nil {
			var msg jsonrpc.Message
			msg, err = p.wire.incoming(data)
			if err == nil && msg == nil {
				continue
			}
			if err == nil {
				return msg, nil
			}
		}
		if errors.Is(err, ErrProtocol) || errors.Is(err, ErrFlood) {
			p.broke(err)
		} else if errors.Is(err, os.ErrClosed) {
			err = io.EOF
		}
		p.ended(p.cause())
		return nil, err
	}
}

// Write implements sdk.Connection. A server that does not read blocks nobody for longer
// than the context of the message.
func (p *process) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	select {
	case p.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-p.closed:
		return sdk.ErrConnectionClosed
	}
	if err := p.wire.outgoing(ctx, msg); err != nil {
		<-p.writing
		return err
	}
	done := make(chan error, 1)
	go func() {
		_, err := p.in.Write(append(data, '\n'))
		<-p.writing
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-p.closed:
		return sdk.ErrConnectionClosed
	}
}

// Close implements sdk.Connection: it ends the process and what it started.
func (p *process) Close() error {
	p.closing.Do(func() {
		close(p.closed)
		_ = p.in.Close() // tells the server to end; a broken pipe says that it has
		first, second := closeGrace, termGrace
		if p.hurry.Load() || p.violation() != nil {
			first, second = shortGrace, shortGrace
		}
		if !p.gone(first) && (terminateGroup(p.cmd.Process) != nil || !p.gone(second)) {
			_ = killGroup(p.cmd.Process) // the last means
		}
		<-p.exited
		select {
		case <-p.drained:
		case <-time.After(2 * drainGrace):
		}
	})
	return nil
}

func (p *process) gone(within time.Duration) bool {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-p.exited:
		return true
	case <-t.C:
		return false
	}
}

// cause says why the connection ended, as far as the process knows.
func (p *process) cause() error {
	if fault := p.violation(); fault != nil {
		return fault
	}
	select {
	case <-p.exited:
		select {
		case <-p.drained:
		case <-time.After(drainGrace):
		}
	case <-time.After(drainGrace): // it closed its output and lives
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	text := "it closed its output"
	if p.state != nil {
		text = "it ended: " + p.state.String()
	}
	if p.last != "" {
		text += `; its last line was "` + plaintext.Clip(p.last, 300) + `"`
	}
	return fmt.Errorf("%w: %s", ErrUnavailable, text)
}

// redacted is cause without secrets.
func (p *process) redacted(sec *secrets) error { return sec.clean(p.cause()) }

func (p *process) violation() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

// lines reads lines of any length, and hands on the first most bytes of each, without
// control characters.
func lines(r io.Reader, most int, line func(string)) {
	buf := make([]byte, 4096)
	var have []byte
	for {
		n, err := r.Read(buf)
		for _, b := range buf[:n] {
			if b == '\n' {
				line(plaintext.Line(string(have), plaintext.Whole))
				have = have[:0]
			} else if len(have) < most {
				have = append(have, b)
			}
		}
		if err != nil {
			if len(have) > 0 {
				line(plaintext.Line(string(have), plaintext.Whole))
			}
			return
		}
	}
}
