package main

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cloister-wasm/cloister/plugins/trust"
)

// startRegistry starts a registry on loopback and gives its address. With a login,
// user:password, it wants to know who is there.
func startRegistry(t *testing.T, login string) string {
	t.Helper()
	var handler http.Handler = registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0)))
	if user, password, ok := strings.Cut(login, ":"); ok {
		inner := handler
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
				w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
				http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"who \u001b[31mare you"}]}`, http.StatusUnauthorized)
				return
			}
			inner.ServeHTTP(w, r)
		})
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// goEnvironment is what the Go toolchain needs in a script, which has another home
// folder: nothing is downloaded there.
func goEnvironment(t *testing.T) []string {
	t.Helper()
	names := []string{"GOCACHE", "GOMODCACHE", "GOTOOLCHAIN", "GOROOT"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatalf("go env: %v", err)
	}
	env := []string{"GOPROXY=off", "GONOSUMDB=*", "GOFLAGS="}
	for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		env = append(env, names[i]+"="+strings.TrimSpace(line))
	}
	return env
}

// flip turns a bit of a file around: flip FILE OFFSET. A negative offset counts from
// the end; "middle" is the middle.
func flip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: flip FILE OFFSET|middle")
	}
	name := ts.MkAbs(args[0])
	data, err := os.ReadFile(name)
	ts.Check(err)
	at := len(data) / 2
	if args[1] != "middle" {
		at, err = strconv.Atoi(args[1])
		ts.Check(err)
		if at < 0 {
			at += len(data)
		}
	}
	if at < 0 || at >= len(data) {
		ts.Fatalf("flip: %s has %d bytes", args[0], len(data))
	}
	data[at] ^= 1
	ts.Check(os.WriteFile(name, data, 0o644))
}

// expand puts variables of the script into a file: expand FILE.
func expand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: expand FILE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(os.Expand(ts.ReadFile(args[0]), func(name string) string {
		if value := ts.Getenv(name); value != "" {
			return value
		}
		return "$" + name
	})), 0o644))
}

// policy writes a trust policy with one publisher: policy FILE PUBLIC-KEY NAME ID
// TOOL [GLOBAL...].
func policy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 5 {
		ts.Fatalf("usage: policy FILE PUBLIC-KEY NAME ID TOOL [GLOBAL...]")
	}
	p := trust.Policy{Publishers: []trust.Publisher{{
		Name: args[2], Keys: []trust.Key{{PublicKey: ts.ReadFile(args[1])}},
		Owns: trust.Ownership{IDs: args[3:4], Tools: args[4:5], Globals: args[5:]},
	}}}
	ts.Check(p.Save(ts.MkAbs(args[0])))
}
