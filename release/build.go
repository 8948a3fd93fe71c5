package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// build compiles the program for a platform, with the engine inside.
func (o *options) build(ctx context.Context, t target) (program []byte, path string, err error) {
	engine := filepath.Join(o.root, "quickjs", "engine", "node_modules", "quickjs-wasi", "quickjs.wasm")
	if _, err := os.Stat(engine); err != nil {
		return nil, "", fmt.Errorf("the engine is not in the checkout: %w; run: make engine", err)
	}
	dir, err := filepath.Abs(filepath.Join(o.out, t.os+"_"+t.arch))
	if err != nil {
		return nil, "", err
	}
	path = filepath.Join(dir, "cloister"+t.exe())
	link := "-s -w -buildid= -X main.releaseVersion=" + o.version + " -X main.releaseRevision=" + o.revision
	// Neither the folder nor the version control's stamp is part of the bytes.
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-tags=embed_engine", "-ldflags="+link, "-o", path, "./cmd/cloister")
	cmd.Dir = o.root
	// Nothing of the builder's settings decides what is built.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	program, err = os.ReadFile(path)
	return program, path, err
}

func readBuild(path string) (*buildinfo.BuildInfo, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading what %s is made of: %w", path, err)
	}
	return info, nil
}

// shells are the shells with completions, and how such a file is called.
var shells = []struct{ shell, name string }{
	{"bash", "completions/cloister.bash"},
	{"zsh", "completions/_cloister"},
	{"fish", "completions/cloister.fish"},
	{"powershell", "completions/cloister.ps1"},
}

// sharedFiles are those that are the same on all platforms: what the program built for
// this machine says about itself, and texts of the checkout.
func sharedFiles(ctx context.Context, o *options) ([]file, error) {
	tmp, err := os.MkdirTemp("", "cloister-release-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	native := *o
	native.out = tmp
	_, program, err := native.build(ctx, target{runtime.GOOS, runtime.GOARCH})
	if err != nil {
		return nil, err
	}
	if err := checkInside(ctx, program, tmp); err != nil {
		return nil, err
	}
	var out []file
	for _, s := range shells {
		text, err := run(ctx, program, tmp, "completion", s.shell)
		if err != nil {
			return nil, err
		}
		out = append(out, file{s.name, 0o644, text})
	}
	man := filepath.Join(tmp, "man")
	if _, err := run(ctx, program, tmp, "man", man); err != nil {
		return nil, err
	}
	pages, err := filepath.Glob(filepath.Join(man, "*.1"))
	if err != nil || len(pages) == 0 {
		return nil, fmt.Errorf("there are no manual pages: %w", err)
	}
	for _, page := range pages {
		if out, err = appendFile(out, "man/man1/"+filepath.Base(page), page); err != nil {
			return nil, err
		}
	}
	for name, from := range map[string]string{
		"LICENSE": "LICENSE", "README.md": "README.md", "install.md": "docs/install.md",
		"systemd/cloister.service": "release/files/cloister.service", "cloister.json5": "release/files/cloister.json5",
	} {
		if out, err = appendFile(out, name, filepath.Join(o.root, filepath.FromSlash(from))); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func appendFile(to []file, name, path string) ([]file, error) {
	data, err := os.ReadFile(path)
	return append(to, file{name, 0o644, data}), err
}

// checkInside holds that the engine is part of the program: a release without it would
// fail at its users' first cell.
func checkInside(ctx context.Context, program, home string) error {
	out, err := run(ctx, program, home, "engine", "path")
	if got := strings.TrimSpace(string(out)); err != nil || got != "embedded" {
		return fmt.Errorf("the engine is not inside the program: engine path says %q: %w", got, err)
	}
	return nil
}

// run runs the program in a world of its own.
func run(ctx context.Context, program, home string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "CLOISTER_DATA_DIR=" + filepath.Join(home, "data"), "CLOISTER_CACHE_DIR=off", "SystemRoot=" + os.Getenv("SystemRoot")}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cloister %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out, nil
}
