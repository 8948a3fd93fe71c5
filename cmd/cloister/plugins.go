package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/cloister-wasm/cloister/plugins"
)

// compilePlugins makes the machine code of the plugins that the cell is going to
// need, all at once: those whose tools or globals it names, and those that compute
// a scope before the cell starts. Without it their first call would pay, within the
// time that a turn of the cell may take: seconds, where nothing is cached yet.
//
// The others are compiled at their first call, if there is one: with many plugins
// installed a cell that uses one pays for that one. The time that a plugin's call
// may take does not begin before it is compiled.
func (s *session) compilePlugins(ctx context.Context, code string) error {
	visible := map[string]bool{}
	for _, e := range s.run.Catalog() {
		visible[e.ID] = true
	}
	loaded := s.Plugins().Loaded
	errs := make([]error, len(loaded))
	var wg sync.WaitGroup
	for i, p := range loaded {
		if needed(p, visible, code) {
			wg.Go(func() { errs[i] = p.Compile(ctx) })
		}
	}
	wg.Wait()
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err := errors.Join(errs...); err != nil {
		return usageError(err, "")
	}
	return nil
}

// needed guesses whether a cell is going to call a plugin. A wrong guess costs
// time and nothing else.
func needed(p *plugins.Plugin, visible map[string]bool, code string) bool {
	m := p.Manifest()
	for _, t := range m.Tools {
		if visible[toolID(m.ID, t.Name)] && strings.Contains(code, t.Name) {
			return true
		}
	}
	for i := range m.Namespaces {
		n := &m.Namespaces[i]
		if shown(m.ID, n, visible) && (n.ScopeExport || strings.Contains(code, n.GlobalName)) {
			return true
		}
	}
	return false
}

// shown says whether cells get a namespace: all of its tools are in the catalog.
func shown(plugin string, n *plugins.Namespace, visible map[string]bool) bool {
	for _, name := range n.RequiredToolNames {
		if !visible[toolID(plugin, name)] {
			return false
		}
	}
	return len(n.RequiredToolNames) > 0
}

// withProblems adds the list of a manifest's mistakes to an error that only says
// that there are some.
func withProblems(err error) error {
	var me *plugins.ManifestError
	if !errors.As(err, &me) || len(me.Problems) > 0 && strings.Contains(err.Error(), me.Problems[0].String()) {
		return err
	}
	text := ""
	for _, p := range me.Problems {
		text += "\n  " + p.String()
	}
	if me.More {
		text += "\n  and more"
	}
	return fmt.Errorf("%w%s", err, text)
}
