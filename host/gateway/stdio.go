package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeStdio serves one client over a pair of streams, one JSON message a line. It
// returns when the client closes in, or with ctx's error when ctx ends. Both streams
// are closed then. A read from in that does not end when in is closed, such as one
// from a terminal, is left behind.
func (g *Gateway) ServeStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	t := &lineTransport{in: in, out: out, limit: g.o.Limits.MaxRequestBytes}
	// What closing a stream gives at the end is no matter any more.
	defer func() { _ = t.close() }()
	return g.serve(ctx, t)
}

// serve serves one client over a transport that is a session by itself.
func (g *Gateway) serve(ctx context.Context, t mcp.Transport) error {
	s, err := g.open(Client{Transport: TransportStdio}, false, false)
	if err != nil {
		return err
	}
	defer s.end()
	ss, err := s.newServer().Connect(ctx, t, nil)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	s.attach(ss)
	over := make(chan error, 1)
	go func() { over <- ss.Wait() }()
	select {
	case err := <-over:
		if err != nil && !hungUp(err) {
			return fmt.Errorf("serving: %w", err)
		}
		return nil
	case <-ctx.Done():
	}
	s.end()
	// A client that does not read keeps the last answer from being written.
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-over:
	case <-timer.C:
	}
	return ctx.Err()
}

// hungUp says whether an error is that the other side is gone: a client may be so
// while it is written to.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE)
}

// lineTransport is JSON messages by lines, each checked before it is decoded.
type lineTransport struct {
	in    io.ReadCloser
	out   io.WriteCloser
	limit int
	once  sync.Once
}

func (t *lineTransport) close() (err error) {
	t.once.Do(func() { err = errors.Join(t.in.Close(), t.out.Close()) })
	return err
}

// Connect implements mcp.Transport.
func (t *lineTransport) Connect(context.Context) (mcp.Connection, error) {
	c := &lineConn{lineTransport: t, lines: make(chan line), closed: make(chan struct{}), idle: make(chan struct{}, 1), open: map[jsonrpc.ID]struct{}{}}
	go c.read()
	return c, nil
}

type line struct {
	text []byte
	err  error
}

type lineConn struct {
	*lineTransport
	lines  chan line
	closed chan struct{}
	shut   sync.Once

	writing sync.Mutex

	mu   sync.Mutex
	open map[jsonrpc.ID]struct{} // requests that were read and not answered
	idle chan struct{}           // capacity 1: open has become 0
}

// errLong is for a line over the bound. The rest of it is skipped.
var errLong = fmt.Errorf("%w: the line is too long", ErrMessage)

// read reads lines until the stream ends. It runs beside Read, since a read from a
// stream may not end when the stream is closed.
func (c *lineConn) read() {
	r := bufio.NewReaderSize(c.in, 64<<10)
	for {
		text, err := readLine(r, c.limit)
		if err == nil && len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		select {
		case c.lines <- line{text, err}:
		case <-c.closed:
			return
		}
		if err != nil && !errors.Is(err, ErrMessage) {
			return
		}
	}
}

// readLine reads a line of at most limit bytes. What it holds grows with what came.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var text []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(text)+len(part) > limit+1; long {
			text = nil
		} else {
			text = append(text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (len(text) == 0 || !errors.Is(err, io.EOF)):
			return nil, err
		case long:
			return nil, errLong
		}
		return text, nil
	}
}

// Read implements mcp.Connection. A line that is refused is answered with an error
// and skipped.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case l := <-c.lines:
			if l.err != nil && !errors.Is(l.err, ErrMessage) {
				c.drain(ctx)
				return nil, l.err
			}
			msg, err := c.decode(l)
			if err == nil {
				return msg, nil
			}
			if err := c.refuse(err); err != nil {
				return nil, err
			}
		}
	}
}

func (c *lineConn) decode(l line) (jsonrpc.Message, error) {
	if l.err != nil {
		return nil, l.err
	}
	if _, err := checkMessage(l.text); err != nil {
		return nil, err
	}
	msg, err := jsonrpc.DecodeMessage(l.text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	// A subscription is answered when it ends, which is nothing to wait for.
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() && req.Method != "subscriptions/listen" {
		c.mu.Lock()
		c.open[req.ID] = struct{}{}
		c.mu.Unlock()
	}
	return msg, nil
}

// refuse answers a line whose id, if it has one, is not known.
func (c *lineConn) refuse(why error) error {
	text, err := refusal(why)
	if err != nil {
		return err
	}
	return c.send(text)
}

// drainTime is how long requests may take to be answered after the client has closed
// its side: what a pipe sent whole is answered, and a client that is gone does not
// keep programs running.
const drainTime = 2 * time.Second

func (c *lineConn) drain(ctx context.Context) {
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	for {
		c.mu.Lock()
		none := len(c.open) == 0
		c.mu.Unlock()
		if none {
			return
		}
		select {
		case <-c.idle:
		case <-timer.C:
			return
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Write implements mcp.Connection.
func (c *lineConn) Write(_ context.Context, msg jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	err = c.send(text)
	if res, ok := msg.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.open, res.ID)
		none := len(c.open) == 0
		c.mu.Unlock()
		if none {
			select {
			case c.idle <- struct{}{}:
			default:
			}
		}
	}
	return err
}

func (c *lineConn) send(text []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(text, '\n'))
	return err
}

// Close implements mcp.Connection.
func (c *lineConn) Close() error {
	c.shut.Do(func() { close(c.closed) })
	return c.close()
}

// SessionID implements mcp.Connection.
func (c *lineConn) SessionID() string { return "" }
