package transpile

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"testing"
)

func TestWorkerNonce(t *testing.T) {
	n := newNonce()
	variable := hex.EncodeToString(n[:])
	if got, ok := workerNonce([]string{workerName}, variable); !ok || got != n {
		t.Errorf("got %x, %v, want %x", got, ok, n)
	}
	// A program that only has the variable, or only the name, goes on as usual.
	for name, c := range map[string]struct {
		args     []string
		variable string
	}{
		"only the variable": {[]string{"/usr/bin/agent"}, variable},
		"only the name":     {[]string{workerName}, ""},
		"arguments":         {[]string{workerName, "-test.v"}, variable},
		"no arguments":      {nil, variable},
		"path":              {[]string{"/tmp/" + workerName}, variable},
		"no nonce":          {[]string{workerName}, "1"},
		"short nonce":       {[]string{workerName}, variable[1:]},
		"long nonce":        {[]string{workerName}, variable + "0"},
		"no hex":            {[]string{workerName}, "x" + variable[1:]},
	} {
		if _, ok := workerNonce(c.args, c.variable); ok {
			t.Errorf("%s makes a worker", name)
		}
	}
}

// TestStrayWorker: a process that was made a worker by somebody who is no Worker
// says so and ends, before it has changed anything of itself.
func TestStrayWorker(t *testing.T) {
	n := newNonce()
	other := hello{nonce: newNonce(), memory: minMemory, maxSource: 1, maxOutput: 1}
	for name, in := range map[string][]byte{
		"nothing":       nil,
		"a text":        []byte("print('hello')\n"),
		"another nonce": appendFrame(nil, other.encode()),
		"half a hello":  appendFrame(nil, other.encode())[:20],
	} {
		var out, stderr bytes.Buffer
		if code := runWorker(n, bytes.NewReader(in), &out, &stderr); code != exitProtocol {
			t.Errorf("%s: exit %d, want %d", name, code, exitProtocol)
		}
		if out.Len() > 0 || stderr.Len() == 0 {
			t.Errorf("%s: said %q and %q", name, out.Bytes(), stderr.Bytes())
		}
	}
}

// TestServe talks to serve as a parent does.
func TestServe(t *testing.T) {
	in, toServe := io.Pipe()
	fromServe, out := io.Pipe()
	exit := make(chan int)
	h := hello{maxSource: 10, maxOutput: 100}
	go func() { exit <- serve(in, out, h, transformSource) }()
	var buf bytes.Buffer
	ask := func(source string) (*Output, error) {
		if _, err := toServe.Write(appendFrame(nil, source)); err != nil {
			t.Fatal(err)
		}
		payload, err := readFrame(fromServe, &buf, h.maxOutput)
		if err != nil {
			t.Fatal(err)
		}
		got, outcome, malformed := decodeReply(payload)
		if malformed != nil {
			t.Fatal(malformed)
		}
		return got, outcome
	}
	if got, err := ask("return 1"); err != nil || got.Code != "\"use strict\";\nreturn 1;\n" {
		t.Errorf("got %+v, %v", got, err)
	}
	var syntax *SyntaxError
	if got, err := ask("return }"); !errors.As(err, &syntax) {
		t.Errorf("got %+v, %v, want a syntax error", got, err)
	}
	if got, err := ask("a+a+a+a+a"); err != nil || got.Map.Len() == 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := toServe.Write(appendFrame(nil, "12345678901")[:frameHeader]); err != nil {
		t.Fatal(err)
	}
	if code := <-exit; code != exitProtocol {
		t.Errorf("after a source that is too long: exit %d, want %d", code, exitProtocol)
	}
}

// TestServeEndsInTheMidst: when the parent goes away, serve returns although a
// source is being transformed.
func TestServeEndsInTheMidst(t *testing.T) {
	in, toServe := io.Pipe()
	started, release := make(chan bool), make(chan bool)
	exit := make(chan int)
	go func() {
		exit <- serve(in, io.Discard, hello{maxSource: 10}, func(string) (*Output, error) {
			started <- true
			<-release
			return nil, ErrInternal
		})
	}()
	if _, err := toServe.Write(appendFrame(nil, "a")); err != nil {
		t.Fatal(err)
	}
	<-started
	if err := toServe.Close(); err != nil {
		t.Fatal(err)
	}
	if code := <-exit; code != exitDone {
		t.Errorf("exit %d, want %d", code, exitDone)
	}
	close(release)
}
