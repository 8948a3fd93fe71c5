package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/mod/module"

	"github.com/cloister-wasm/cloister/quickjs"
)

// notices are the licences of all that is inside of a program, which its copies have to
// carry: of the modules linked, of Go, and of the engine.
func (o *options) notices(ctx context.Context, info *debug.BuildInfo) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("Cloister is under the Apache License 2.0:\n\n")
	own, err := os.ReadFile(filepath.Join(o.root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	b.Write(own)
	b.WriteString("\nThe program contains the following, under the licences that follow each.\n")
	cache, root, err := goFolders(ctx, o.root)
	if err != nil {
		return nil, err
	}
	if err := notice(&b, "Go "+strings.TrimPrefix(info.GoVersion, "go"), root); err != nil {
		return nil, err
	}
	if err := notice(&b, quickjs.EngineName+" "+quickjs.EngineVersion, filepath.Join(o.root, "quickjs", "engine", "node_modules", quickjs.EngineName)); err != nil {
		return nil, err
	}
	for _, d := range info.Deps {
		path, err := module.EscapePath(d.Path)
		if err != nil {
			return nil, err
		}
		version, err := module.EscapeVersion(d.Version)
		if err != nil {
			return nil, err
		}
		if err := notice(&b, d.Path+" "+d.Version, filepath.Join(cache, filepath.FromSlash(path)+"@"+version)); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// goFolders gives the cache of modules and the folder of Go itself.
func goFolders(ctx context.Context, dir string) (modules, root string, err error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOMODCACHE", "GOROOT")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", "", fmt.Errorf("go env: %w", err)
	}
	modules, root, ok := strings.Cut(strings.TrimSpace(strings.ReplaceAll(string(out), "\r", "")), "\n")
	if !ok {
		return "", "", errors.New("go env does not say where modules are")
	}
	return modules, root, nil
}

// notice adds the texts of one part. A part without a licence must not be shipped
// unseen.
func notice(b *bytes.Buffer, what, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("the licence of %s: %w", what, err)
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && isNotice(e) {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("%s has no file with its licence", what)
	}
	slices.Sort(names)
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "\n%s\n%s: %s\n%s\n\n%s\n", strings.Repeat("-", 78), what, name, strings.Repeat("-", 78), bytes.TrimSpace(text))
	}
	return nil
}

func isNotice(e fs.DirEntry) bool {
	name := strings.ToUpper(e.Name())
	return slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"}, func(p string) bool { return strings.HasPrefix(name, p) }) &&
		!strings.HasSuffix(name, ".GO")
}
