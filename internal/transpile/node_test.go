package transpile

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"
)

// nodeCell is a transformed cell for testdata/node/run.mjs.
type nodeCell struct {
	Name   string `json:"name"`
	Code   string `json:"code"`
	Frozen bool   `json:"frozen"`
}

// nodeResult is what became of it. Value is JSON; Frames holds line and column of
// each frame of the stack, the column in UTF-16 code units.
type nodeResult struct {
	Name   string   `json:"name"`
	Value  *string  `json:"value"`
	Error  string   `json:"error"`
	Frames [][2]int `json:"frames"`
}

// runInNode runs cells under Node. Node is the judge of what the output does, so
// a machine without it fails the test instead of passing it unseen.
func runInNode(t *testing.T, cells []nodeCell) []nodeResult {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("this test runs the output under Node: install Node 20 or later and put `node` on PATH:", err)
	}
	input, err := json.Marshal(cells)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "testdata/node/run.mjs")
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, stderr.Bytes())
	}
	var results []nodeResult
	if err := json.Unmarshal(output, &results); err != nil {
		t.Fatalf("node answered %q: %v", output, err)
	}
	if len(results) != len(cells) {
		t.Fatalf("node ran %d of %d cells", len(results), len(cells))
	}
	return results
}
