//go:build !wasip1

package sdk

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/guestabi"
)

// TestHostFunctions calls each with its message, and reads the answer.
func TestHostFunctions(t *testing.T) {
	type use struct {
		function, request string
		answer            any
		call              func() (any, error)
		want              any
	}
	var n int
	var picked struct{ OK bool }
	uses := []use{
		{guestabi.HostLog, `{"abi":1,"level":"info","message":"7 left"}`, nil, func() (any, error) { Log("info", "%d left", 7); return nil, nil }, nil},
		{guestabi.HostProgress, `{"abi":1,"progress":1,"total":3,"message":"one"}`, nil, func() (any, error) { Progress(1, 3, "one"); return nil, nil }, nil},
		{guestabi.HostConfigGet, `{"abi":1,"key":"limit"}`, 5, func() (any, error) { ok, err := Config("limit", &n); return []any{ok, n}, err }, []any{true, 5}},
		{guestabi.HostConfigGet, `{"abi":1,"key":"limit"}`, nil, func() (any, error) { ok, err := Config("limit", &n); return ok, err }, false},
		{guestabi.HostKVGet, `{"abi":1,"key":"k"}`, guestabi.KVValue{Found: true, Value: "v"}, func() (any, error) { v, ok, err := KVGet("k"); return []any{v, ok}, err }, []any{"v", true}},
		{guestabi.HostKVPut, `{"abi":1,"key":"k","value":"v","ttlSeconds":2}`, nil, func() (any, error) { return nil, KVPut("k", "v", 1001*time.Millisecond) }, nil},
		{guestabi.HostKVPut, `{"abi":1,"key":"k","value":""}`, nil, func() (any, error) { return nil, KVPut("k", "", 0) }, nil},
		{guestabi.HostKVDelete, `{"abi":1,"key":"k"}`, nil, func() (any, error) { return nil, KVDelete("k") }, nil},
		{guestabi.HostHTTP, `{"abi":1,"url":"https://example.com/<x>","secretHeaders":{"authorization":{"secret":"token","prefix":"Bearer "}}}`,
			guestabi.HTTPResponse{Status: 404, Body: "no"}, func() (any, error) {
				return HTTP(&guestabi.HTTPRequest{URL: "https://example.com/<x>", SecretHeaders: map[string]guestabi.SecretHeader{"authorization": {Secret: "token", Prefix: "Bearer "}}})
			}, &guestabi.HTTPResponse{Status: 404, Body: "no"}},
		{guestabi.HostCallTool, `{"abi":1,"tool":"clock_now","input":{}}`, map[string]bool{"OK": true}, func() (any, error) { return nil, CallTool("clock_now", nil, &picked) }, nil},
		{guestabi.HostInterrupt, `{"abi":1,"payload":{"ask":"sure?"}}`, "yes", func() (any, error) {
			var answer string
			return &answer, Interrupt(map[string]string{"ask": "sure?"}, &answer)
		}, "yes"},
		{guestabi.HostNow, `{"abi":1}`, guestabi.NowResponse{UnixMs: 1500}, func() (any, error) { return Now().Format(time.RFC3339Nano), nil }, "1970-01-01T00:00:01.5Z"},
		{guestabi.HostRandom, `{"abi":1,"bytes":3}`, guestabi.RandomResponse{Base64: "AQID"}, func() (any, error) { return Random(3) }, []byte{1, 2, 3}},
	}
	for _, u := range uses {
		t.Run(u.function, func(t *testing.T) {
			called := 0
			defer SetTestHost(func(function string, request json.RawMessage) (any, error) {
				called++
				if function != u.function || string(request) != u.request {
					t.Errorf("the host got %s %s, want %s %s", function, request, u.function, u.request)
				}
				return u.answer, nil
			})()
			got, err := u.call()
			if p, ok := got.(*string); ok {
				got = *p
			}
			if err != nil || called != 1 {
				t.Fatalf("error %v, %d calls", err, called)
			}
			if diff := cmp.Diff(u.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if !picked.OK {
		t.Error("the result of the tool was not read")
	}
}

func TestHostFailures(t *testing.T) {
	var f *Failure
	if err := KVDelete("k"); !errors.As(err, &f) || f.Code != "no_host" || !strings.Contains(f.Message, "SetTestHost") {
		t.Errorf("without a host: %v", err)
	}
	if d := time.Since(Now()); d < -time.Minute || d > time.Minute {
		t.Errorf("Now without a host is %s off", d)
	}
	Log("info", "nobody hears this")

	restore := SetTestHost(func(string, json.RawMessage) (any, error) {
		return nil, &Failure{Name: "PolicyError", Code: "not_allowed", Message: "no"}
	})
	err := CallTool("x", struct{}{}, nil)
	if !errors.As(err, &f) || f.Code != "not_allowed" || f.Name != "PolicyError" || f.Message != "no" {
		t.Errorf("a refusal: %#v", err)
	}
	restore()

	defer SetTestHost(func(function string, _ json.RawMessage) (any, error) {
		if function == guestabi.HostRandom {
			return guestabi.RandomResponse{Base64: base64.StdEncoding.EncodeToString([]byte{1})}, nil
		}
		return "text", nil
	})()
	var n int
	for name, call := range map[string]func() error{
		"config":           func() error { _, err := Config("x", &n); return err },
		"few random bytes": func() error { _, err := Random(2); return err },
		"many":             func() error { _, err := Random(maxRandom + 1); return err },
		"negative":         func() error { _, err := Random(-1); return err },
		"ttl":              func() error { return KVPut("k", "v", -1) },
		"kv":               func() error { _, _, err := KVGet("x"); return err },
		"http":             func() error { _, err := HTTP(&guestabi.HTTPRequest{}); return err },
		"payload":          func() error { return Interrupt(func() {}, nil) },
		"input":            func() error { return CallTool("x", func() {}, nil) },
	} {
		if err := call(); !errors.As(err, &f) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b, err := Random(0); err != nil || len(b) != 0 {
		t.Errorf("Random(0) = %v, %v", b, err)
	}
}

// A host that answers nonsense must not end a plugin.
func TestHostAnswers(t *testing.T) {
	for _, raw := range []string{``, `null`, `[]`, `{"abi":1}`, `{"abi":2,"value":1}`, `{"value":1}`, `{"abi":1,"value":"x"`} {
		err := ask(func([]byte) ([]byte, error) { return []byte(raw), nil }, struct{}{}, new(int))
		var f *Failure
		if !errors.As(err, &f) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestRandomInParts(t *testing.T) {
	var sizes []int
	defer SetTestHost(func(_ string, request json.RawMessage) (any, error) {
		var r guestabi.RandomRequest
		if err := json.Unmarshal(request, &r); err != nil {
			return nil, err
		}
		sizes = append(sizes, r.Bytes)
		return guestabi.RandomResponse{Base64: base64.StdEncoding.EncodeToString(make([]byte, r.Bytes))}, nil
	})()
	if b, err := Random(10000); err != nil || len(b) != 10000 {
		t.Errorf("Random = %d bytes, %v", len(b), err)
	}
	if diff := cmp.Diff([]int{4096, 4096, 1808}, sizes); diff != "" {
		t.Error(diff)
	}
}
