package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/plugins"
)

const cellsLong = `Builds a plugin, loads it as a development plugin and tries it: every example of its
manifest's tools, and every cell in the folder cells, each in a run of its own with
this plugin and the core tools alone. An example's output and cells/NAME.json, where
they are there, say what the value must be; --update writes cells/NAME.json. Without
them it is enough that nothing fails.

Calls that need approval are approved: it is your own plugin. Configuration and
secrets that it asks for are given by flags; private and loopback addresses are
reachable only with --allow-private.`

type cellsFlags struct {
	noBuild, update, verbose, json bool
	run, wasm                      string
	config, secrets                []string
	private                        []string
}

func (a *app) pluginTest() *cobra.Command {
	f := &cellsFlags{}
	cmd := &cobra.Command{
		Use:   "test [DIR]",
		Short: "Build a plugin and run its cells and examples against it",
		Long:  cellsLong,
		Example: `  cloister plugin test
  cloister plugin test hello --update
  cloister plugin test --set 'baseUrl="http://127.0.0.1:8080"' --secret token=HELLO_TOKEN --allow-private 127.0.0.0/8`,
		Args: oneFolder("test"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return pluginFault(cmd.Context(), a.testPlugin(cmd.Context(), f, folderOf(args)))
		},
		ValidArgsFunction: completeFolder,
	}
	fs := cmd.Flags()
	fs.BoolVar(&f.noBuild, "no-build", false, "take dist as it is")
	fs.BoolVar(&f.update, "update", false, "write the values of the cells into cells/NAME.json")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "show what cells and the plugin put out, not only where something fails")
	fs.StringVar(&f.run, "run", "", "only those whose name matches `GLOB`, such as 'cells/greet*'")
	fs.StringArrayVar(&f.config, "set", nil, "a value of the plugin's configuration, `KEY=JSON`; repeatable")
	fs.StringArrayVar(&f.secrets, "secret", nil, "a secret of the plugin's, `NAME=VARIABLE` of the environment; repeatable")
	fs.StringArrayVar(&f.private, "allow-private", nil, "addresses the plugin may reach although they are private, `PREFIX` such as 127.0.0.0/8; repeatable")
	wasmFlag(cmd, &f.wasm)
	jsonFlag(cmd, &f.json)
	return cmd
}

// cellReport is how one cell or example ended.
type cellReport struct {
	// Name is "cells/greet.ts" or "greet example 1".
	Name string `json:"name"`
	// Status is "pass", "fail" or "updated".
	Status string  `json:"status"`
	Ms     float64 `json:"ms"`
	// Error says why it failed.
	Error string          `json:"error,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
	Want  json.RawMessage `json:"want,omitempty"`

	details string // for people
	fatal   error  // of the machine: no other test can do better
}

// cellsReport is what test prints.
type cellsReport struct {
	Plugin  string       `json:"plugin"`
	Version string       `json:"version"`
	Passed  int          `json:"passed"`
	Failed  int          `json:"failed"`
	Tests   []cellReport `json:"tests"`
}

func (a *app) testPlugin(ctx context.Context, f *cellsFlags, dir string) error {
	services, err := f.services()
	if err != nil {
		return err
	}
	if f.noBuild && f.wasm != "" {
		return usageError(errors.New("--no-build and --wasm contradict each other"), "")
	}
	if !f.noBuild {
		if _, err := a.buildPlugin(ctx, dir, f.wasm); err != nil {
			return err
		}
	}
	tests, err := findCells(dir)
	if err != nil {
		return err
	}
	t := &tester{app: a, flags: f, dir: dir}
	if err := t.load(ctx, services); err != nil {
		return err
	}
	defer t.close()
	report := &cellsReport{Plugin: t.plugin.ID(), Version: t.plugin.Version(), Tests: []cellReport{}}
	for _, one := range append(t.examples(), tests...) {
		if ok, err := filepath.Match(f.run, one.name); err != nil {
			return usageError(fmt.Errorf("--run: %w", err), "")
		} else if f.run != "" && !ok {
			continue
		}
		r := t.try(ctx, &one)
		switch {
		case ctx.Err() != nil:
			return errInterrupted
		case r.fatal != nil:
			return r.fatal
		}
		if r.Status == "fail" {
			report.Failed++
		} else {
			report.Passed++
		}
		report.Tests = append(report.Tests, r)
		if err := t.show(&r); err != nil {
			return err
		}
	}
	return a.finishTest(f, dir, report)
}

func (a *app) finishTest(f *cellsFlags, dir string, report *cellsReport) error {
	if len(report.Tests) == 0 {
		return usageError(fmt.Errorf("there is nothing to test in %s", dir), "put cells into "+filepath.Join(dir, cellsDir)+", or examples into the manifest")
	}
	var err error
	if f.json {
		err = a.printJSON(report)
	} else {
		err = a.write(fmt.Sprintf("%s %s: %d passed, %d failed\n", report.Plugin, report.Version, report.Passed, report.Failed))
	}
	if err == nil && report.Failed > 0 {
		return silently(exitFailed)
	}
	return err
}

// services are what the flags give the plugin.
func (f *cellsFlags) services() (plugins.Services, error) {
	var s plugins.Services
	config, secrets := map[string]json.RawMessage{}, map[string]string{}
	for _, set := range f.config {
		key, value, ok := strings.Cut(set, "=")
		if !ok || !json.Valid([]byte(value)) {
			return s, usageError(fmt.Errorf("--set %s is not KEY=JSON", set), `a text is in quotes: --set 'name="value"'`)
		}
		config[key] = json.RawMessage(value)
	}
	for _, set := range f.secrets {
		name, variable, ok := strings.Cut(set, "=")
		value, there := os.LookupEnv(variable)
		if !ok || !there {
			return s, usageError(fmt.Errorf("--secret %s is not NAME=VARIABLE with a variable that is set", set), "the secret is not put on the command line, where others see it")
		}
		secrets[name] = value
	}
	var private []netip.Prefix
	for _, text := range f.private {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return s, usageError(fmt.Errorf("--allow-private: %w", err), "such as 127.0.0.0/8 or ::1/128")
		}
		private = append(private, p)
	}
	s.Config = func(_, key string) (json.RawMessage, bool) { v, ok := config[key]; return v, ok }
	s.Secrets = func(_ context.Context, _, name string) (string, error) {
		if v, ok := secrets[name]; ok {
			return v, nil
		}
		return "", fmt.Errorf("the secret %s is not given; add --secret %s=VARIABLE", name, name)
	}
	s.HTTP = &plugins.HTTPOptions{AllowPrivate: private}
	return s, nil
}

// cellsDir is the folder of a plugin's own cells.
const cellsDir = "cells"

// oneTest is a cell or an example.
type oneTest struct {
	name string
	// cell and golden are the files of a cell, golden whether it is there or not.
	cell, golden string
	// tool and example are those of an example.
	tool    string
	example *plugins.Example
}

// findCells lists the cells of a folder, in order.
func findCells(dir string) ([]oneTest, error) {
	entries, err := os.ReadDir(filepath.Join(dir, cellsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, usageError(err, "")
	}
	var tests []oneTest
	taken := map[string]string{}
	for _, e := range entries {
		extension := filepath.Ext(e.Name())
		if !slices.Contains([]string{".js", ".mjs", ".ts", ".mts"}, extension) || e.IsDir() {
			continue
		}
		base := strings.TrimSuffix(e.Name(), extension)
		if other, ok := taken[base]; ok {
			return nil, usageError(fmt.Errorf("%s and %s would share %s.json", other, e.Name(), base), "rename one")
		}
		taken[base] = e.Name()
		cell := filepath.Join(dir, cellsDir, e.Name())
		tests = append(tests, oneTest{name: cellsDir + "/" + e.Name(), cell: cell, golden: strings.TrimSuffix(cell, extension) + ".json"})
	}
	return tests, nil
}
