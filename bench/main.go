// Command bench measures Cloister on the cells of bench/cells and, unless told
// otherwise, the peers of bench/peers in the same run, and prints one table. See
// bench/README.md.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cloister-wasm/cloister/host"
)

type row struct {
	Peer    string  `json:"peer"`
	Version string  `json:"version"`
	Case    string  `json:"case"`
	Unit    string  `json:"unit"`
	P50     float64 `json:"p50"`
	P90     float64 `json:"p90"`
	N       int     `json:"n"`
}

type settings struct {
	dir          string
	only         string // names of peers
	box          time.Duration
	cells, width int
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "-first" {
		exitOn(first(os.Args[2]))
		return
	}
	var s settings
	asJSON := flag.Bool("json", false, "print rows as JSON")
	peers := flag.Bool("peers", true, "measure the peers as well (needs npm ci in bench/peers)")
	flag.StringVar(&s.only, "peer", "", "names of peers, with commas between; all if empty")
	flag.StringVar(&s.dir, "dir", "bench", "this folder")
	flag.DurationVar(&s.box, "box", 2*time.Second, "time for the samples of one case")
	flag.IntVar(&s.cells, "cells", 2000, "cells in a round of throughput")
	flag.IntVar(&s.width, "width", 32, "cells in flight in throughput")
	flag.Parse()
	exitOn(run(s, *peers, *asJSON, os.Stdout))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(s settings, peers, asJSON bool, out io.Writer) error {
	rows, err := ours(s)
	if err != nil {
		return err
	}
	if peers {
		theirs, err := measurePeers(s)
		if err != nil {
			return err
		}
		rows = append(rows, theirs...)
	}
	if asJSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(rows)
	}
	_, err = io.WriteString(out, table(rows))
	return err
}

// measurePeers runs bench/peers, which starts itself under the pinned Node 24.
func measurePeers(s settings) ([]row, error) {
	cmd := exec.Command("node", "run.mjs", "--json", "--box", fmt.Sprint(s.box.Milliseconds()), "--cells", fmt.Sprint(s.cells), "--width", fmt.Sprint(s.width))
	for name := range strings.SplitSeq(s.only, ",") {
		if name != "" {
			cmd.Args = append(cmd.Args, "--peer", name)
		}
	}
	cmd.Dir = filepath.Join(s.dir, "peers")
	cmd.Stderr = os.Stderr
	b, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("measuring the peers (was npm ci run in %s?): %w", cmd.Dir, err)
	}
	var rows []row
	return rows, json.Unmarshal(b, &rows)
}

// table prints one line a case and one column a peer.
func table(rows []row) string {
	var cases, peers []string
	cells := map[[2]string]string{}
	for _, r := range rows {
		name := r.Case + " (" + r.Unit + ")"
		if !slices.Contains(cases, name) {
			cases = append(cases, name)
		}
		if !slices.Contains(peers, r.Peer) {
			peers = append(peers, r.Peer)
		}
		cells[[2]string{name, r.Peer}] = fmt.Sprintf("%.4g", r.P50)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-28s", "p50")
	for _, p := range peers {
		fmt.Fprintf(&b, " %22s", p[:min(len(p), 22)])
	}
	for _, c := range cases {
		fmt.Fprintf(&b, "\n%-28s", c)
		for _, p := range peers {
			fmt.Fprintf(&b, " %22s", cells[[2]string{c, p}])
		}
	}
	b.WriteByte('\n')
	return b.String()
}

type echoIn struct {
	N    int `json:"n"`
	Size int `json:"size,omitempty"`
}

type echoOut struct {
	N    int    `json:"n"`
	Text string `json:"text,omitempty"`
}

var filler = strings.Repeat("x", 1<<20)

// newRun makes a host with the echo tool that the cells call.
func newRun(ctx context.Context, cfg host.CodeModeConfig, tools ...host.RawTool) (*host.Host, *host.Run, error) {
	return newRunOn(ctx, cfg, nil, tools...)
}

// newRunOn is newRun with a store for suspended cells.
func newRunOn(ctx context.Context, cfg host.CodeModeConfig, store host.SnapshotStore, tools ...host.RawTool) (*host.Host, *host.Run, error) {
	cfg.Enabled = true
	echo := host.Tool("echo", "Give back the number, and a text of the given size.", func(_ context.Context, in echoIn) (echoOut, error) {
		if in.Size < 0 || in.Size > len(filler) {
			return echoOut{}, errors.New("size is out of range")
		}
		return echoOut{N: in.N, Text: filler[:in.Size]}, nil
	})
	h, err := host.New(ctx, &host.Options{CodeMode: cfg, Snapshots: store, Tools: append(tools, echo)})
	if err != nil {
		return nil, nil, err
	}
	r, err := h.NewRun(ctx, host.RunOptions{AgentRunID: "bench", SessionID: "bench"})
	if err != nil {
		h.Close()
		return nil, nil, err
	}
	return h, r, nil
}

// first is the start case: a process that prints the value of one cell.
func first(path string) error {
	ctx := context.Background()
	code, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	h, r, err := newRun(ctx, host.CodeModeConfig{})
	if err != nil {
		return err
	}
	defer h.Close()
	res, err := r.Exec(ctx, host.ExecInput{Code: string(code)})
	if err != nil {
		return err
	}
	fmt.Println(string(res.Value))
	return nil
}

// expectations are the values that every peer must give, by case.
func expectations(s settings) (map[string]json.RawMessage, error) {
	b, err := os.ReadFile(filepath.Join(s.dir, "cells", "expected.json"))
	if err != nil {
		return nil, err
	}
	var m map[string]json.RawMessage
	return m, json.Unmarshal(b, &m)
}

// cell runs a cell and checks its value.
func cell(ctx context.Context, r *host.Run, code string, want json.RawMessage) error {
	res, err := r.Exec(ctx, host.ExecInput{Code: code})
	if err != nil {
		return err
	}
	if res.Status != "completed" || !sameJSON(res.Value, want) {
		return fmt.Errorf("got %s %s %s, want %s", res.Status, res.Value, res.Error, want)
	}
	return nil
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, err := json.Marshal(x)
	if err != nil {
		return false
	}
	q, err := json.Marshal(y)
	return err == nil && bytes.Equal(p, q)
}
