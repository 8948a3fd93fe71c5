package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/host/setup"
	"github.com/cloister-wasm/cloister/internal/waittest"
)

// floodServer shakes hands and then says more than anybody asked for.
func floodServer(t *testing.T) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, `data: {"jsonrpc":"2.0","method":"x","params":{"x":"`+strings.Repeat("x", 400<<10)+"\"}}\n\n"); err != nil {
					return
				}
			}
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answer := map[string]string{
			"initialize": `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"loud","version":"0"}}`,
			"tools/list": `"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`,
		}[m.Method]
		if answer == "" {
			answer = `"error":{"code":-32601,"message":"not found"}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,`+answer+`}`)
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv
}

// A server that was cut off says so in the list, for whoever did not read the log.
func TestListTellsWhoWasCutOff(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CLOISTER_DATA_DIR", filepath.Join(dir, "data"))
	t.Setenv("CLOISTER_CACHE_DIR", filepath.Join(dir, "cache"))
	file := filepath.Join(dir, "cloister.json5")
	text := `{mcp: {servers: {
		loud: {url: "` + floodServer(t).URL + `", limits: {maxUnaskedPerSecond: 1}},
		still: {command: "true"},
	}}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := settings.Load(&settings.Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	m, err := setup.NewManager(&setup.Options{Settings: cfg, OnlyServers: []string{"loud"}})
	if err != nil {
		t.Fatal(err)
	}
	m.Load(t.Context())
	waittest.Until(t, "the server is cut off", func() bool { return errors.Is(m.Status()[0].Err, mcp.ErrFlood) })
	if err := m.Close(); err != nil { // what it notes is written
		t.Fatal(err)
	}
	var out, complaints bytes.Buffer
	a := &app{stdout: plainStream(&out), stderr: plainStream(&complaints)}
	if err := a.listServers(file, false); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "cut off at 20"); n != 1 || !strings.Contains(out.String(), "(limits.maxUnaskedPerSecond)") || complaints.Len() > 0 {
		t.Errorf("got %s%s", &out, &complaints)
	}
	out.Reset()
	if err := a.listServers(file, true); err != nil {
		t.Fatal(err)
	}
	var list []serverJSON
	if err := json.Unmarshal(out.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[0].Ended == nil || list[0].Ended.At.IsZero() || list[0].Ended.Reason == "" || list[1].Ended != nil {
		t.Errorf("got %s", &out)
	}
}
