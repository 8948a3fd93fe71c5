package main

import (
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/host/mcp"
)

// errItself refuses Cloister in the list of its own servers, where the configuration of a
// client that uses it has it.
var errItself = errors.New("this is Cloister itself: as a server of its own it would start itself again and again; the others of that client can be taken without it")

// itself says whether a command serves Cloister, also by way of a program that starts
// others, such as env or npx. It knows Cloister by its name or its file; what hides both
// is known by its depth when it runs.
func itself(command []string) bool {
	for i, word := range command {
		if !slices.Contains(command[i+1:], "serve") {
			return false
		}
		name, _, _ := strings.Cut(path.Base(filepath.ToSlash(word)), "@") // a version
		if strings.TrimSuffix(strings.ToLower(name), ".exe") == "cloister" {
			return true
		}
		if (&mcp.Server{Command: word, Args: command[i+1:]}).StartsItself() {
			return true
		}
	}
	return false
}
