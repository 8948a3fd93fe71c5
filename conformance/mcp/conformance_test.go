//go:build conformance

// Package mcp_test runs the MCP conformance suite against `cloister serve` over HTTP, once
// with code mode and once without, with the SDK's own server for the suite behind it:
//
//	make conformance
//
// What cannot pass is in baseline-code.yml and baseline-direct.yml, each with the reason.
// A scenario that fails and is not there fails the test, and so does one that is there
// and passes. The figures in docs/conformance.md are those that were measured: the test
// compares, and writes them with -update.
package mcp_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the measured figures into docs/conformance.md")

const (
	suiteProgram = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
	figures      = "../../docs/conformance.md"
)

// modes are the ways to serve, with the files of what cannot pass.
var modes = []struct {
	name, baseline string
	flags          []string
	prefix         string // of the names of tools and prompts, which the suite does not know
}{
	{"code", "baseline-code.yml", nil, ""},
	{"direct", "baseline-direct.yml", []string{"--no-code-mode"}, upstreamPrefix},
}

func TestConformance(t *testing.T) {
	programs := t.TempDir()
	cloister := goBuild(t, programs, "cloister", "../../cmd/cloister")
	upstream := goBuild(t, programs, "everything", everything)
	nodeProgram := node(t)
	results := map[string]map[string]outcome{}
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			endpoint := start(t, cloister, upstream, mode.flags...)
			checkToken(t, endpoint)
			checkReach(t, endpoint, mode.name)
			results[mode.name] = runSuite(t, nodeProgram, endpoint, mode.baseline, mode.prefix)
		})
	}
	if !t.Failed() {
		compareFigures(t, table(results))
	}
}

// checkToken makes sure that what is measured is a server that wants the token.
func checkToken(t *testing.T, endpoint string) {
	t.Helper()
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"probe","version":"1"}}}`
	for _, wrong := range []string{"", token + "x"} {
		if status, text := post(t, endpoint, wrong, initialize); status != 401 {
			t.Errorf("token %q: got %d %s, want 401", wrong, status, text)
		}
	}
	if status, text := post(t, endpoint, token, initialize); status != 200 || !strings.Contains(text, `"cloister"`) {
		t.Errorf("with the token: got %d %s", status, text)
	}
}

// outcome is what a scenario gave.
type outcome struct {
	passed, failed int
	why            []string
}

// runSuite runs all scenarios. The suite itself compares with the baseline.
func runSuite(t *testing.T, nodeProgram, endpoint, baseline, prefix string) map[string]outcome {
	t.Helper()
	out := t.TempDir()
	cmd := exec.CommandContext(t.Context(), nodeProgram, "--import", "./authorize.mjs", suiteProgram, "server", "--url", endpoint, "--suite", "all", "--expected-failures", baseline, "--output-dir", out)
	cmd.Env = append(os.Environ(), "CONFORMANCE_ORIGIN="+strings.TrimSuffix(endpoint, "/mcp"), "CONFORMANCE_TOKEN="+token, "CONFORMANCE_PREFIX="+prefix)
	text, err := cmd.CombinedOutput()
	results := read(t, out)
	if err != nil {
		_, summary, _ := strings.Cut(string(text), "=== SUMMARY ===")
		t.Errorf("the suite against %s: %v%s", baseline, err, summary)
		for name, o := range results {
			for _, why := range o.why {
				t.Logf("%s: %s", name, why)
			}
		}
	}
	if len(results) < 30 {
		t.Fatalf("the suite ran %d scenarios only:\n%s", len(results), text)
	}
	return results
}

// folder is that of one scenario: server-<name>-<time>.
var folder = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[0-9-]+Z$`)

// read reads the checks that the suite wrote.
func read(t *testing.T, dir string) map[string]outcome {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	results := map[string]outcome{}
	for _, e := range entries {
		m := folder.FindStringSubmatch(e.Name())
		if m == nil {
			t.Fatalf("the suite wrote %s, which is not the folder of a scenario", e.Name())
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name(), "checks.json"))
		if err != nil {
			t.Fatal(err)
		}
		var checks []struct {
			ID, Status, ErrorMessage string
			Details                  json.RawMessage
		}
		if err := json.Unmarshal(data, &checks); err != nil {
			t.Fatal(err)
		}
		var o outcome
		for _, c := range checks {
			switch c.Status {
			case "SUCCESS":
				o.passed++
			case "FAILURE", "WARNING": // the suite takes both as failures
				o.failed++
				o.why = append(o.why, fmt.Sprintf("%s: %s: %s %.600s", c.Status, c.ID, c.ErrorMessage, c.Details))
			}
		}
		results[m[1]] = o
	}
	return results
}

// table gives the figures as they are in the documentation.
func table(results map[string]map[string]outcome) string {
	var b strings.Builder
	b.WriteString("| scenario | code mode | direct |\n|---|---|---|\n")
	names := []string{}
	for name := range results["direct"] {
		names = append(names, name)
	}
	slices.Sort(names)
	sums := map[string][2]int{}
	for _, name := range names {
		fmt.Fprintf(&b, "| %s |", name)
		for _, mode := range modes {
			o := results[mode.name][name]
			word := "passes"
			if o.failed > 0 {
				word = "expected failure"
			}
			s := sums[mode.name]
			if o.failed == 0 {
				s[0]++
			}
			s[1]++
			sums[mode.name] = s
			fmt.Fprintf(&b, " %s |", word)
		}
		b.WriteByte('\n')
	}
	code, direct := sums["code"], sums["direct"]
	fmt.Fprintf(&b, "| **scenarios that pass** | **%d of %d** | **%d of %d** |\n", code[0], code[1], direct[0], direct[1])
	return b.String()
}

const (
	begin = "<!-- figures: written by the test -->\n"
	end   = "<!-- end of figures -->\n"
)

// compareFigures holds the documentation to what was measured.
func compareFigures(t *testing.T, measured string) {
	t.Helper()
	data, err := os.ReadFile(figures)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	written, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the figures", figures)
	}
	if *update {
		if err := os.WriteFile(figures, []byte(before+begin+measured+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if written != measured {
		t.Errorf("%s does not say what was measured; -update mends it:\n%s", figures, measured)
	}
}
