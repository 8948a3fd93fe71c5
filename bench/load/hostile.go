package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// attack is what the hostile tenth does in one phase. It returns when the connections and
// processes of it are gone, which says nothing of what the server still holds.
func (l *load) attack(ctx context.Context) {
	l.rep.count("hostile phases")
	if err := os.WriteFile(l.srv.control, nil, 0o600); err != nil {
		l.rep.fault("starting the flood: %v", err)
		return
	}
	var all sync.WaitGroup
	all.Go(func() {
		held := l.drip.install(ctx)
		l.rep.count(map[bool]string{true: "installations that a registry held until the phase ended", false: "installations that gave a registry up"}[held])
	})
	for slot := range l.o.attackers() {
		all.Go(func() { l.attacker(ctx, slot) })
	}
	all.Wait()
	if err := os.Remove(l.srv.control); err != nil {
		l.rep.fault("ending the flood: %v", err)
	}
}

// attackers is how many of the clients are hostile: a tenth, and one at least.
func (o *settings) attackers() int { return max(1, (o.clients+5)/10) }

// attacker does one thing after the other.
func (l *load) attacker(ctx context.Context, slot int) {
	random := rand.New(rand.NewPCG(l.o.seed, uint64(1000+slot)))
	var held []net.Conn
	defer func() {
		for _, c := range held {
			_ = c.Close() // it may have ended
		}
	}()
	for ctx.Err() == nil {
		k := misdeeds[random.IntN(len(misdeeds))]
		conn := l.misdeed(ctx, &k)
		if conn != nil {
			if k.holds && len(held) < maxHeld {
				held = append(held, conn)
			} else {
				abandon(conn)
			}
			l.rep.count("hostile: " + k.name)
		}
		select {
		case <-time.After(time.Duration(5+random.IntN(30)) * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// maxHeld bounds the connections that one attacker holds.
const maxHeld = 50

// misdeed is what a hostile client does with one connection.
type misdeed struct {
	name    string
	session bool // it needs one of its own
	holds   bool // the connection is held until the phase ends; else it is reset
	send    func(l *load, session string) string
}

// misdeeds are chosen from by chance. Each leaves a connection in the middle of a request.
var misdeeds = []misdeed{
	{"half a header", false, true, func(l *load, _ string) string { return "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Hal" }},
	{"half a message, no token", false, true, func(l *load, _ string) string {
		return l.request("POST", "", "", "Content-Length: 100000\r\n") + "{"
	}},
	{"half a message", true, true, func(l *load, id string) string {
		return l.request("POST", l.srv.mallory, id, "Content-Length: 400\r\n") + "{"
	}},
	{"stream with a body", true, false, func(l *load, id string) string {
		return l.request("GET", l.srv.mallory, id, "Content-Length: 1\r\nConnection: close\r\n")
	}},
	{"stream and half a request more", true, false, func(l *load, id string) string {
		return l.request("GET", l.srv.mallory, id, "") + "POST /m"
	}},
	{"program and half a request more", true, false, func(l *load, id string) string {
		nonce := l.nonce()
		l.expect("echo", nonce, 0, 1, "a hostile client asked for it")
		return l.program(id, fmt.Sprintf(`return await MCP.load.echo({nonce: %q, pauseMs: 2000})`, nonce)) + "POST /m"
	}},
	{"approval that never comes", true, true, func(l *load, id string) string {
		nonce := l.nonce()
		l.expect("guarded", nonce, 0, 0, "nobody approved it")
		return l.program(id, fmt.Sprintf(`return await MCP.load.guarded({nonce: %q, plan: "leave"})`, nonce))
	}},
	{"call of the server that floods", true, false, func(l *load, id string) string {
		return l.program(id, `return await MCP.flood.shout({nonce: "x"})`)
	}},
}

// misdeed opens a connection and sends what it is for; nil if there was none to be had.
func (l *load) misdeed(ctx context.Context, k *misdeed) net.Conn {
	id := ""
	if k.session {
		var status int
		var err error
		if id, status, err = l.hostileSession(ctx); err != nil || id == "" {
			if ctx.Err() == nil && err == nil {
				l.rep.count(fmt.Sprintf("hostile: no session, HTTP status %d", status))
			}
			return nil
		}
	}
	at, err := url.Parse(l.srv.url)
	if err != nil {
		l.rep.fault("%v", err)
		return nil
	}
	conn, err := net.DialTimeout("tcp", at.Host, callTime)
	if err != nil {
		l.rep.fault("the server takes no connection: %v", err)
		return nil
	}
	// What of it arrives is the server's business.
	_, _ = io.WriteString(conn, k.send(l, id))
	return conn
}

// abandon ends a connection without the words that end one.
func abandon(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // else it ends in order, which is as well
	}
	_ = conn.Close() // it is cut either way
}

// request writes the header of a request.
func (l *load) request(method, token, session, more string) string {
	var b strings.Builder
	b.WriteString(method + " /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n")
	if token != "" {
		b.WriteString("Authorization: Bearer " + token + "\r\n")
	}
	if session != "" {
		b.WriteString("Mcp-Session-Id: " + session + "\r\nMcp-Protocol-Version: 2025-11-25\r\n")
	}
	return b.String() + more + "\r\n"
}

// program writes a whole request that runs a program.
func (l *load) program(session, code string) string {
	text, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": map[string]any{"name": "exec", "arguments": map[string]any{"code": code}},
	})
	if err != nil {
		l.rep.fault("%v", err) // strings
	}
	return l.request("POST", l.srv.mallory, session, fmt.Sprintf("Content-Length: %d\r\n", len(text))) + string(text)
}

// hostileSession opens a session of the hostile principal, which has a bound of its own.
func (l *load) hostileSession(ctx context.Context) (id string, status int, err error) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"mallory","version":"1"}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.srv.url, bytes.NewReader([]byte(hello)))
	if err != nil {
		return "", 0, err
	}
	req.Header.Set("Authorization", "Bearer "+l.srv.mallory)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", 0, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.Header.Get("Mcp-Session-Id"), res.StatusCode, err
}
