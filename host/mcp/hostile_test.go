package mcp

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// attacks are what a server does with its first call; want is the code of the error, and
// broken says that the connection ends. Without want the call succeeds.
var attacks = []struct {
	name   string
	call   func(s *scripted, m raw)
	want   string
	broken bool
}{
	{"duplicate-key", func(s *scripted, m raw) {
		s.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[]},"result":{"content":[],"isError":true}}`)
	}, CodeBadResult, true},
	{"duplicate-inner-key", func(s *scripted, m raw) { s.result(m, `{"content":[],"isError":false,"isError":true}`) }, CodeBadResult, true},
	{"escaped-duplicate-key", func(s *scripted, m raw) { s.result(m, `{"content":[],"isError":false,"\u0069sError":true}`) }, CodeBadResult, true},
	{"folded-envelope", func(s *scripted, m raw) {
		s.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[]},"Result":{"isError":true}}`)
	}, CodeBadResult, true},
	{"folded-with-kelvin", func(s *scripted, m raw) {
		s.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[]},"Method":"x"}`)
	}, CodeBadResult, true},
	{"folded-result", func(s *scripted, m raw) { s.result(m, `{"content":[],"isERROR":true}`) }, CodeBadResult, false},
	{"folded-content", func(s *scripted, m raw) { s.result(m, `{"content":[{"type":"text","text":"a","Text":"b"}]}`) }, CodeBadResult, false},
	{"nul", func(s *scripted, m raw) { s.result(m, "{\"content\":[]\x00}") }, CodeBadResult, true},
	{"utf8", func(s *scripted, m raw) { s.result(m, "{\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}") }, CodeBadResult, true},
	{"surrogate", func(s *scripted, m raw) { s.result(m, `{"content":[{"type":"text","text":"\ud800"}]}`) }, CodeBadResult, true},
	{"deep", func(s *scripted, m raw) {
		s.result(m, `{"content":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`)
	}, CodeBadResult, true},
	{"two-in-one-line", func(s *scripted, m raw) {
		s.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[]}} {"jsonrpc":"2.0","method":"x"}`)
	}, CodeBadResult, true},
	{"batch", func(s *scripted, m raw) {
		s.line(`[{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[]}}]`)
	}, CodeBadResult, true},
	{"unsent-id", func(s *scripted, m raw) { s.line(`{"jsonrpc":"2.0","id":999,"result":{"content":[]}}`) }, CodeBadResult, true},
	{"string-id", func(s *scripted, m raw) {
		s.line(`{"jsonrpc":"2.0","id":"` + string(m.ID) + `","result":{"content":[]}}`)
	}, CodeBadResult, true},
	{"float-id", func(s *scripted, m raw) {
		s.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `.0,"result":{"content":[]}}`)
	}, CodeBadResult, true},
	{"exponent-id", func(s *scripted, m raw) {
		s.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `e0,"result":{"content":[]}}`)
	}, CodeBadResult, true},
	{"huge-id", func(s *scripted, m raw) {
		s.line(`{"jsonrpc":"2.0","id":18446744073709551617,"result":{"content":[]}}`)
	}, CodeBadResult, true},
	{"null-id", func(s *scripted, m raw) {
		s.line(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`)
	}, CodeBadResult, true},
	{"no-id", func(s *scripted, m raw) { s.line(`{"jsonrpc":"2.0","result":{"content":[]}}`) }, CodeBadResult, true},
	{"no-version", func(s *scripted, m raw) { s.line(`{"id":` + string(m.ID) + `,"result":{"content":[]}}`) }, CodeBadResult, true},
	{"result-and-error", func(s *scripted, m raw) {
		s.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[]},"error":{"code":1,"message":"x"}}`)
	}, CodeBadResult, true},
	{"method-and-result", func(s *scripted, m raw) {
		s.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"method":"ping","result":{"content":[]}}`)
	}, CodeBadResult, true},
	{"list-params", func(s *scripted, m raw) { s.line(`{"jsonrpc":"2.0","method":"x","params":[1]}`) }, CodeBadResult, true},
	{"long-line", func(s *scripted, m raw) {
		s.result(m, `{"content":[{"type":"text","text":"`+strings.Repeat("a", 1<<20)+`"}]}`)
	}, CodeBadResult, true},
	{"endless-line", func(s *scripted, m raw) {
		for { // ends with the pipe
			if _, err := s.out.Write([]byte(strings.Repeat("{", 1<<16))); err != nil {
				os.Exit(0)
			}
		}
	}, CodeBadResult, true},
	{"endless-noise", func(s *scripted, m raw) {
		for {
			s.line("noise")
		}
	}, CodeBadResult, true},
	{"error-not-object", func(s *scripted, m raw) { s.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":"x"}`) }, CodeBadResult, true},
	{"open-requests", func(s *scripted, m raw) {
		// It reads no answers: once its pipe is full, requests stay open.
		for {
			s.line(`{"jsonrpc":"2.0","id":"same","method":"sampling/createMessage"}`)
		}
	}, CodeBadResult, true},
	{"result-null", func(s *scripted, m raw) { s.result(m, `null`) }, "", false},
	{"result-list", func(s *scripted, m raw) { s.result(m, `[]`) }, CodeBadResult, false},
	{"content-no-list", func(s *scripted, m raw) { s.result(m, `{"content":{"type":"text"}}`) }, CodeBadResult, false},
	{"content-no-type", func(s *scripted, m raw) { s.result(m, `{"content":[{"text":"x"}]}`) }, CodeBadResult, false},
	{"content-null", func(s *scripted, m raw) { s.result(m, `{"content":[null]}`) }, CodeBadResult, false},
	{"bad-base64", func(s *scripted, m raw) {
		s.result(m, `{"content":[{"type":"image","data":"$$$","mimeType":"image/png"}]}`)
	}, CodeBadResult, false},
	{"text-and-blob", func(s *scripted, m raw) {
		s.result(m, `{"content":[{"type":"resource","resource":{"uri":"a","text":"x","blob":"AAAA"}}]}`)
	}, CodeBadResult, false},
	{"asks-for-input", func(s *scripted, m raw) {
		s.result(m, `{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"password?"}}}}`)
	}, CodeInput, false},
	{"asks-for-input-quietly", func(s *scripted, m raw) { s.result(m, `{"content":[],"inputRequests":{}}`) }, CodeInput, false},
	{"unknown-result-type", func(s *scripted, m raw) { s.result(m, `{"resultType":"maybe","content":[]}`) }, CodeBadResult, false},
	{"rpc-error", func(s *scripted, m raw) { s.fail(m, -32000, "no \x1b[31mway") }, CodeRefused, false},
	{"some-noise", func(s *scripted, m raw) {
		s.line("starting…\n\n\x1b[1mwarning")
		s.result(m, `{"content":[]}`)
	}, "", false},
	{"log-on-stdout", func(s *scripted, m raw) {
		s.line("[INFO] called\n[2026-11-21T00:00:00Z] called\n[{\"level\":30}]")
		s.line(`{"name":"otel","level":30,"id":7,"msg":"\u001b[31mcalled","time":"2026-11-21T00:00:00Z"}`)
		s.line("{ port: 3000, host: 'x' }\n{\n  port: 3000\n}")
		s.result(m, `{"content":[]}`)
	}, "", false},
	{"folded-version", func(s *scripted, m raw) {
		s.line(`{"JSONRPC":"2.0","id":` + string(m.ID) + `,"result":{"content":[]}}`)
	}, CodeBadResult, true},
	{"escaped-version", func(s *scripted, m raw) {
		s.line(`{"\u006asonrpc":"2.0","Id":` + string(m.ID) + `,"result":{"content":[]}}`)
	}, CodeBadResult, true},
	{"broken-json-with-version", func(s *scripted, m raw) { s.line(`{"jsonRPC":"2.0","id":1,"result":{}`) }, CodeBadResult, true},
	{"null-params", func(s *scripted, m raw) {
		s.line(`{"jsonrpc":"2.0","method":"notifications/made/up","params":null}`)
		s.result(m, `{"content":[]}`)
	}, "", false},
	{"crlf", func(s *scripted, m raw) { s.result(m, `{"content":[]}`+"\r") }, "", false},
	{"unknown-notification", func(s *scripted, m raw) {
		s.line(`{"jsonrpc":"2.0","method":"notifications/made/up","params":{"a":1}}`)
		s.result(m, `{"content":[]}`)
	}, "", false},
	{"foreign-progress", func(s *scripted, m raw) {
		s.line(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"not yours","progress":1}}`)
		s.result(m, `{"content":[]}`)
	}, "", false},
	{"cancels-our-request", func(s *scripted, m raw) {
		s.line(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + string(m.ID) + `}}`)
		s.result(m, `{"content":[]}`)
	}, "", false},
	{"structured-null", func(s *scripted, m raw) { s.result(m, `{"content":[],"structuredContent":null}`) }, "", false},
}

var hostile = map[string]func(){}

func init() {
	for _, a := range attacks {
		hostile["attack-"+a.name] = func() { script(a.call) }
	}
}

func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			cfg := program(t, "attack-"+a.name)
			cfg.Limits.MaxMessageBytes = 512 << 10
			m := open(t, nil, cfg)
			s := one(t, m)
			_, err := s.Client.CallTool(testCtx(t), tool(t, s, "t"), nil, nil)
			if got := code(err); got != a.want || a.want == "" && err != nil {
				t.Fatalf("code %q, want %q: %v", got, a.want, err)
			}
			if a.broken != errors.Is(err, ErrProtocol) && a.broken {
				t.Errorf("it is no ErrProtocol: %v", err)
			}
			if err != nil && strings.ContainsAny(err.Error(), "\x1b\x00\n") {
				t.Errorf("control characters in %q", err)
			}
			if st := m.Status()[0].State; (st != StateReady) != a.broken {
				t.Errorf("state %s, broken %v", st, a.broken)
			}
		})
	}
}

// waitStatus waits for a status of the only server.
func waitStatus(t *testing.T, m *Manager, ok func(Status) bool) {
	t.Helper()
	ctx := testCtx(t)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok(m.Status()[0]) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the status is still %+v", m.Status()[0])
		}
	}
}
