//go:build conformance

package mcp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// everything is the SDK's own server for the suite: it has the tools, resources and
// prompts that the scenarios name.
const everything = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"

// upstreamPrefix stands in front of the names of its tools and prompts without code mode: start configures it as "everything".
const upstreamPrefix = "everything__"

// token is what clients show. Nobody else learns of it.
const token = "conformance-client-of-this-run-alone"

// goBuild builds a program into dir.
func goBuild(t *testing.T, dir, name, pkg string) string {
	t.Helper()
	out := filepath.Join(dir, name)
	if runtime.GOOS == "windows" {
		out += ".exe"
	}
	if text, err := exec.Command("go", "build", "-o", out, pkg).CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", pkg, err, text)
	}
	return out
}

// start starts cloister serve with flags and gives its endpoint. It ends with the test.
func start(t *testing.T, cloister, upstream string, flags ...string) (endpoint string) {
	t.Helper()
	dir := t.TempDir()
	address := freeAddress(t)
	config, err := json.Marshal(map[string]any{
		"mcp": map[string]any{"servers": map[string]any{"everything": map[string]any{"command": upstream}}},
		// The suite says that it is a page of the server that it was told of.
		"serve": map[string]any{"allowedOrigins": []string{"http://" + address}},
	})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "cloister.json5"), config)
	write(t, filepath.Join(dir, "token"), []byte(token))
	args := []string{"serve", "--http", address, "--config", filepath.Join(dir, "cloister.json5"), "--token-file", filepath.Join(dir, "token"), "--no-installed"}
	return run(t, exec.Command(cloister, append(args, flags...)...), dir)
}

// freeAddress gives an address on loopback: the configuration has to name it before
// anything listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// servingAt is what serve logs when it listens.
var servingAt = regexp.MustCompile(`msg="serving MCP" url=(\S+)`)

// run starts the command and gives the address that it logs.
func run(t *testing.T, cmd *exec.Cmd, dir string) string {
	t.Helper()
	engine, err := filepath.Abs("../../quickjs/engine/node_modules/quickjs-wasi/quickjs.wasm")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CLOISTER_ENGINE="+engine, "CLOISTER_DATA_DIR="+filepath.Join(dir, "data"), "CLOISTER_CONFIG=", "CLOISTER_LOCK=", "CLOISTER_TRUST=")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	var log bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(address)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			log.WriteString(lines.Text() + "\n")
			if m := servingAt.FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
		}
	}()
	t.Cleanup(func() {
		// A process that has ended already cannot be asked to; Wait says how it ended.
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			_ = cmd.Process.Kill() // as above
		}
		kill := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() }) // Wait tells
		defer kill.Stop()
		<-read
		if err := cmd.Wait(); err != nil {
			t.Errorf("cloister serve: %v", err)
		}
		if t.Failed() {
			t.Logf("cloister serve wrote:\n%s", log.String())
		}
	})
	at, ok := <-address
	if !ok {
		t.Fatal("cloister serve does not listen")
	}
	return at
}

// node gives the Node that the suite needs: the pinned one, or that of the PATH where
// npm has none for the platform.
func node(t *testing.T) string {
	t.Helper()
	pinned, err := filepath.Glob("node_modules/node-*/bin/node")
	if err != nil {
		t.Fatal(err)
	}
	name := "node"
	if len(pinned) > 0 {
		if name, err = filepath.Abs(pinned[0]); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(name, "--version").Output()
	if err != nil {
		t.Fatalf("the suite needs Node 22 or newer: %v", err)
	}
	t.Logf("Node %s", strings.TrimSpace(string(out)))
	return name
}

// post sends one message to an endpoint, with or without the token.
func post(t *testing.T, url, bearer, body string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}
