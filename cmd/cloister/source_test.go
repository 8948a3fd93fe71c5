package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/cloister-wasm/cloister/host"
)

func TestLanguageOf(t *testing.T) {
	for _, test := range []struct{ file, flag, want string }{
		{"a.ts", "", host.TypeScript}, {"a.MTS", "", host.TypeScript}, {"a.js", "", host.JavaScript}, {"a.mjs", "", host.JavaScript},
		{"-", "", host.JavaScript}, {"script", "", host.JavaScript}, {"a.ts", "javascript", host.JavaScript}, {"-", "ts", host.TypeScript},
		{"a.txt", "TypeScript", host.TypeScript}, {"a.txt", "", ""}, {"a.tsx", "", ""}, {"a.js", "python", ""},
	} {
		got, err := languageOf(test.file, test.flag)
		if got != test.want || (err != nil) != (test.want == "") || err != nil && codeOf(err) != exitUsage {
			t.Errorf("languageOf(%q, %q) = %q, %v; want %q", test.file, test.flag, got, err, test.want)
		}
	}
}

func TestReadSource(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{filepath.Join(dir, "none.js"), dir} {
		if _, err := readSource(file, "js", nil); codeOf(err) != exitUsage {
			t.Errorf("%s: %v", file, err)
		}
	}
	if _, err := readSource("-", "", strings.NewReader(" \n")); codeOf(err) != exitUsage {
		t.Errorf("an empty cell: %v", err)
	}
	big := filepath.Join(dir, "big.js")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, 1<<40); err == nil {
		if _, err := readSource(big, "", nil); codeOf(err) != exitUsage || !strings.Contains(err.Error(), "more than") {
			t.Errorf("a huge cell: %v", err)
		}
	}
	src, err := readSource("-", "", strings.NewReader("#!/usr/bin/env -S cloister run\nreturn 1"))
	if err != nil || src.name != "stdin" {
		t.Fatalf("%+v, %v", src, err)
	}
	if got, want := src.code(), "///usr/bin/env -S cloister run\nreturn 1"; got != want {
		t.Errorf("code is %q, want %q", got, want)
	}
}

func TestLimitFlags(t *testing.T) {
	for _, test := range []struct {
		args string
		want func(*host.CodeModeConfig)
	}{
		{"", func(*host.CodeModeConfig) {}},
		{"--timeout=2s", func(c *host.CodeModeConfig) { c.TimeoutMs = 2000 }},
		{"--timeout=100ms --memory=1MiB --max-output=1k --max-pending=128", func(c *host.CodeModeConfig) {
			c.TimeoutMs, c.MemoryLimitBytes, c.MaxOutputBytes, c.MaxPendingToolCalls = 100, 1<<20, 1024, 128
		}},
		{"--memory=1.5gib", nil}, {"--memory=1000", nil}, {"--timeout=0", nil}, {"--timeout=-1s", nil}, {"--timeout=90s", nil},
		{"--timeout=1000000h", nil}, {"--max-pending=0", nil}, {"--max-pending=129", nil}, {"--max-output=0", nil},
		{"--memory=many", nil}, {"--memory=-1MiB", nil}, {"--memory=NaN", nil}, {"--memory=Inf", nil}, {"--memory=1e300", nil},
	} {
		var f limitFlags
		fs := pflag.NewFlagSet("run", pflag.ContinueOnError)
		f.register(fs)
		err := fs.Parse(strings.Fields(test.args))
		got := limits
		if err == nil {
			err = f.apply(&got)
		}
		if test.want == nil {
			if codeOf(err) != exitUsage {
				t.Errorf("%s: %v", test.args, err)
			}
			continue
		}
		want := limits
		test.want(&want)
		if err != nil || got.TimeoutMs != want.TimeoutMs || got.MemoryLimitBytes != want.MemoryLimitBytes ||
			got.MaxOutputBytes != want.MaxOutputBytes || got.MaxPendingToolCalls != want.MaxPendingToolCalls {
			t.Errorf("%s: %+v, %v; want %+v", test.args, got, err, want)
		}
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]string{
		"64MiB": "64MiB", "64m": "64MiB", "1536k": "1572864", "65536": "64KiB", "1gb": "1000000000", "1000000000": "1000000000", "0.5MiB": "512KiB", "10 KiB": "10KiB",
	} {
		var s size
		if err := s.Set(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got := s.String(); got != want {
			t.Errorf("%s is shown as %s, want %s", text, got, want)
		}
	}
}
