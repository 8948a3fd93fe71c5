package main

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// lockVersion1 makes a lock file one of version 1, as earlier releases wrote it: lockversion1 FILE.
func lockVersion1(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: lockversion1 FILE")
	}
	var file struct {
		Version int                       `json:"version"`
		Plugins map[string]map[string]any `json:"plugins"`
		Tools   map[string]map[string]any `json:"tools"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &file))
	if file.Version == 1 {
		ts.Fatalf("%s is of version 1 already", args[0])
	}
	file.Version = 1
	for id, tool := range file.Tools {
		for _, later := range []string{"title", "annotations", "approval"} {
			delete(tool, later)
		}
		if strings.HasSuffix(id, ":server/resources") || strings.HasSuffix(id, ":server/prompts") {
			delete(file.Tools, id)
		}
	}
	text, err := json.MarshalIndent(file, "", "  ")
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), append(text, '\n'), 0o600))
}
