package scaffold

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/extism"
	"github.com/cloister-wasm/cloister/internal/namespace"
	"github.com/cloister-wasm/cloister/internal/schema"
	"github.com/cloister-wasm/cloister/plugins"
)

const examples = "../../examples/plugins"

// TestExamples builds the example plugins and holds them to their manifests: imports, exports, names, and the examples of
// every tool.
func TestExamples(t *testing.T) {
	for _, name := range []string{"csvquery", "issues", "texttools", "hashes"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(examples, name)
			m := manifestOf(t, dir)
			cellsOf(t, dir)
			wasm := buildExample(t, name)
			functions := granted(m)
			exports := []string{guestabi.ExportDescribe}
			for _, tool := range m.Tools {
				if tool.Export != "" {
					exports = append(exports, tool.Export)
				} else {
					exports = append(exports, guestabi.ExportCall)
				}
			}
			if err := extism.Check(wasm, functionNames(functions), exports...); err != nil {
				t.Fatal(err)
			}
			i := instance(t, wasm, functions...)
			sameNames(t, m, call(t, i, guestabi.ExportDescribe, ""))
			ran := 0
			for _, tool := range m.Tools {
				for _, e := range tool.Examples {
					if e.Output == nil {
						continue
					}
					ran++
					got, err := runTool(t, i, &tool, e.Input)
					if err != nil {
						t.Errorf("%s: %v", tool.Name, err)
						continue
					}
					sameJSON(t, tool.Name, got, string(e.Output))
				}
			}
			if ran == 0 && name != "issues" {
				t.Error("no examples")
			}
		})
	}
}

var builtExamples = map[string][]byte{}

// buildExample builds an example once.
func buildExample(t *testing.T, name string) []byte {
	t.Helper()
	if wasm := builtExamples[name]; wasm != nil {
		return wasm
	}
	needsBuild(t)
	builtExamples[name] = buildDir(t, filepath.Join(examples, name))
	return builtExamples[name]
}

func manifestOf(t *testing.T, dir string) *plugins.Manifest {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, plugins.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	m, err := plugins.ParseManifest(raw)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// cellsOf wants cells, each with the value it must give.
func cellsOf(t *testing.T, dir string) {
	t.Helper()
	cells, err := filepath.Glob(filepath.Join(dir, "cells", "*.[jt]s"))
	if err != nil || len(cells) == 0 {
		t.Errorf("no cells, %v", err)
	}
	for _, c := range cells {
		raw, err := os.ReadFile(strings.TrimSuffix(c, filepath.Ext(c)) + ".json")
		if err != nil || schema.Check(raw) != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
}

// granted are the host functions that a manifest's permissions give, none of which is called.
func granted(m *plugins.Manifest) []extism.HostFunction {
	names := []string{guestabi.HostLog, guestabi.HostProgress, guestabi.HostInterrupt, guestabi.HostNow, guestabi.HostRandom}
	p := m.Permissions
	for name, ok := range map[string]bool{guestabi.HostHTTP: len(p.Hosts) > 0, guestabi.HostConfigGet: len(p.Config) > 0, guestabi.HostCallTool: len(p.Tools) > 0,
		guestabi.HostKVGet: p.KV, guestabi.HostKVPut: p.KV, guestabi.HostKVDelete: p.KV} {
		if ok {
			names = append(names, name)
		}
	}
	var functions []extism.HostFunction
	for _, name := range names {
		functions = append(functions, extism.HostFunction{Name: name, Call: func(context.Context, []byte) []byte {
			return []byte(`{"abi":1,"error":{"message":"not in this test"}}`)
		}})
	}
	return functions
}

func functionNames(functions []extism.HostFunction) (names []string) {
	for _, f := range functions {
		names = append(names, f.Name)
	}
	return names
}

func sameNames(t *testing.T, m *plugins.Manifest, answer string) {
	t.Helper()
	var e envelope
	e.read(t, answer)
	var d guestabi.Description
	if err := json.Unmarshal(e.Value, &d); err != nil || len(d.Tools) != len(m.Tools) {
		t.Fatalf("describes %d tools, the manifest has %d: %v", len(d.Tools), len(m.Tools), err)
	}
	for i := range d.Tools {
		if d.Tools[i].Name != m.Tools[i].Name {
			t.Errorf("tool %d is %s, in the manifest %s", i, d.Tools[i].Name, m.Tools[i].Name)
		}
	}
}

// runTool calls a tool as the host does.
func runTool(t *testing.T, i *extism.Instance, tool *plugins.Tool, input json.RawMessage) (string, error) {
	t.Helper()
	if tool.Export != "" {
		out, err := i.Call(context.Background(), tool.Export, input)
		return string(out), err
	}
	request, err := json.Marshal(guestabi.CallRequest{ABI: guestabi.PluginABI, Tool: tool.Name, Input: input})
	if err != nil {
		t.Fatal(err)
	}
	var e envelope
	e.read(t, call(t, i, guestabi.ExportCall, string(request)))
	if e.Error != nil {
		return "", errors.New(e.Error.Code + ": " + e.Error.Message)
	}
	return string(e.Value), nil
}

// exampleInstance is one of an example, with its tools by name.
func exampleInstance(t *testing.T, name string) (*extism.Instance, map[string]*plugins.Tool) {
	t.Helper()
	dir := filepath.Join(examples, name)
	m := manifestOf(t, dir)
	tools := map[string]*plugins.Tool{}
	for i := range m.Tools {
		tools[m.Tools[i].Name] = &m.Tools[i]
	}
	return instance(t, buildExample(t, name), granted(m)...), tools
}

// TestIssuesScope computes the namespace in the module and holds it to the rules for scopes.
func TestIssuesScope(t *testing.T) {
	i, tools := exampleInstance(t, "issues")
	var names []string
	for name := range tools {
		names = append(names, name)
	}
	var e envelope
	e.read(t, call(t, i, guestabi.ExportScope, `{"abi":1,"namespace":"issues","context":{"runId":"r","config":{"repository":"o/n"}}}`))
	root, err := namespace.ParseScope(e.Value, names)
	if err != nil {
		t.Fatal(err)
	}
	if calls := root.Calls(); len(calls) != len(tools) {
		t.Errorf("%d calls for %d tools", len(calls), len(tools))
	}
	e.read(t, call(t, i, guestabi.ExportMapInput, `{"abi":1,"namespace":"issues","path":["list"],"tool":"issues_list","args":["all",{"page":2}]}`))
	sameJSON(t, "the input", string(e.Value), `{"state":"all","page":2}`)
	e.read(t, call(t, i, guestabi.ExportMapInput, `{"abi":1,"namespace":"other","path":[],"tool":"x","args":[]}`))
	if e.Error == nil || e.Error.Code != "unknown_namespace" {
		t.Errorf("another namespace: %+v", e.Error)
	}
}
