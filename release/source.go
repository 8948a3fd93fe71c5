package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// allTargets are the platforms of a release.
var allTargets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// target is a platform, in Go's names.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

// exe is how the names of programs end.
func (t target) exe() string {
	if t.os == "windows" {
		return ".exe"
	}
	return ""
}

func parseTargets(text string) ([]target, error) {
	var out []target
	for _, name := range strings.Split(text, ",") {
		if !slices.Contains(allTargets, name) {
			return nil, fmt.Errorf("--targets: there are %s, not %q", strings.Join(allTargets, ", "), name)
		}
		system, arch, _ := strings.Cut(name, "/")
		out = append(out, target{system, arch})
	}
	return out, nil
}

// source finds out which version, revision and time the source has.
func (o *options) source(ctx context.Context) error {
	revision, err := o.git(ctx, "rev-parse", "HEAD")
	if err == nil && o.revision == "" {
		o.revision = revision
	}
	if err := o.sourceTime(ctx); err != nil {
		return err
	}
	if o.version == "" {
		if err != nil {
			return fmt.Errorf("this is no checkout, so the version is not known; give --version: %w", err)
		}
		if o.version, err = o.git(ctx, "describe", "--tags", "--exact-match", "--match=v*"); err != nil {
			o.version = module.PseudoVersion("v0", "", o.time, revision[:12])
		}
		changed, err := o.git(ctx, "status", "--porcelain", "--untracked-files=no")
		if err != nil {
			return err
		}
		if changed != "" {
			o.version += "+dirty"
		}
	}
	if !semver.IsValid(o.version) || strings.Count(o.version, ".") < 2 {
		return fmt.Errorf("--version %q is no version such as v0.2.0", o.version)
	}
	return nil
}

// sourceTime is the time of all files in archives.
func (o *options) sourceTime(ctx context.Context) error {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		var err error
		if text, err = o.git(ctx, "log", "-1", "--format=%ct"); err != nil {
			return fmt.Errorf("this is no checkout, so its time is not known; set SOURCE_DATE_EPOCH: %w", err)
		}
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	// A zip file knows no time before 1980.
	if err != nil || seconds < 315532800 || seconds > 1<<32 {
		return fmt.Errorf("SOURCE_DATE_EPOCH %q is not a time in seconds since 1970, from 1980 on", text)
	}
	o.time = time.Unix(seconds, 0).UTC()
	return nil
}

func (o *options) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", o.root}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(string(out)), nil
}

// number is the version without the letter.
func (o *options) number() string { return strings.TrimPrefix(o.version, "v") }

// marker is a file that says that a folder is of this program, which may empty it.
const marker = ".cloister-release"

// prepare makes an empty folder. It empties only what it made.
func prepare(dir string) error {
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(dir, marker)); err != nil {
			return fmt.Errorf("%s holds files that are not of a release; name another folder with --out, or empty it", dir)
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, marker), nil, 0o644)
}
