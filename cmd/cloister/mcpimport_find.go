package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/internal/clientconfig"
	"github.com/cloister-wasm/cloister/internal/safefile"
	"github.com/cloister-wasm/cloister/internal/suggest"
)

// thisSystem is where the files of this user are.
func thisSystem() clientconfig.System {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // then there are only files that are named
	}
	return clientconfig.System{GOOS: runtime.GOOS, Home: home, Getenv: os.Getenv}
}

// clientFiles are the files where clients keep a user's servers.
func clientFiles() map[string][]string {
	out := map[string][]string{}
	for _, c := range clientconfig.Clients {
		out[c.Name] = c.Files(thisSystem())
	}
	out["claude"] = append(slices.Clone(out["claude-desktop"]), out["claude-code"]...)
	return out
}

// find reads the servers of the files that --from means.
func (f *mcpImportFlags) find() ([]imported, error) {
	clients := clientFiles()
	var files []string
	if f.from == "" {
		for _, client := range clientconfig.Names() {
			files = append(files, clients[client]...)
		}
	} else if files = clients[f.from]; files == nil {
		list, err := f.read(f.from)
		if errors.Is(err, errNoServers) && f.quietEmpty {
			return nil, nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			names := slices.Sorted(maps.Keys(clients))
			if near := suggest.Closest(f.from, names); near != "" {
				err = fmt.Errorf("%w; did you mean %s?", err, near)
			} else if !strings.ContainsAny(f.from, `./\`) {
				err = fmt.Errorf("%w, and the clients are %s", err, strings.Join(names, ", "))
			}
		}
		return list, err
	}
	return f.findIn(files)
}

// findIn reads the servers of those files that are there.
func (f *mcpImportFlags) findIn(files []string) ([]imported, error) {
	var all []imported
	seen := 0
	for _, file := range files {
		list, err := f.read(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if seen++; errors.Is(err, errNoServers) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	if seen == 0 {
		return nil, fmt.Errorf("no configuration is there to import from; looked for %s", strings.Join(files, ", "))
	}
	return all, nil
}

func (f *mcpImportFlags) read(file string) ([]imported, error) {
	data, err := safefile.Read(file, maxImportBytes)
	if err != nil {
		return nil, err
	}
	project := f.project
	if project == "" {
		project = "."
	}
	r := &importReader{file: absolute(file), project: absolute(project), exact: f.project != ""}
	list, err := r.read(file, data)
	f.others = append(f.others, r.others...)
	return list, err
}
