package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/internal/forms"
	"github.com/cloister-wasm/cloister/internal/scaffold"
	"github.com/cloister-wasm/cloister/internal/suggest"
)

func (a *app) pluginNew() *cobra.Command {
	language, dir, asJSON := "", "", false
	cmd := &cobra.Command{
		Use:   "new PUBLISHER.NAME",
		Short: "Make a folder with a working plugin to start from",
		Long: `Makes a folder with a plugin that works: a manifest, code with one tool, a cell that
tests it, README.md and LICENSE. Nothing that is there is overwritten. The kit that
the code needs is put beside it, so nothing of Cloister is downloaded to build it.`,
		Example: `  cloister plugin new acme.hello
  cloister plugin new acme.hello --language c --dir plugins/hello`,
		Args: exactly(1, "new takes one id, PUBLISHER.NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return pluginFault(cmd.Context(), a.newPlugin(args[0], language, dir, asJSON))
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	fs := cmd.Flags()
	fs.StringVar(&language, "language", "go", "`NAME` of the language: go, assemblyscript or c")
	fs.StringVar(&dir, "dir", "", "`DIR` to make, new or empty (default: NAME)")
	jsonFlag(cmd, &asJSON)
	mustComplete(cmd.MarkFlagDirname("dir"))
	mustComplete(cmd.RegisterFlagCompletionFunc("language", cobra.FixedCompletions(scaffold.Languages(), cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (a *app) newPlugin(id, language, dir string, asJSON bool) error {
	if dir == "" {
		_, dir, _ = strings.Cut(id, ".")
	}
	if dir == "" {
		dir = id // has not the right form, as scaffold says
	}
	dir = filepath.Clean(dir)
	files, err := scaffold.New(dir, id, language)
	if err != nil {
		return usageError(err, newHint(err, id, language))
	}
	if asJSON {
		return a.printJSON(map[string]any{"plugin": id, "dir": dir, "language": language, "files": files})
	}
	shown := a.stdout.text(dir)
	var b strings.Builder
	fmt.Fprintf(&b, "made %s\n", shown)
	kit := false
	for _, f := range files {
		if strings.HasPrefix(f, "cloister/") || strings.Contains(f, "/cloister/") {
			kit = true // a copy of the SDK: nothing to look at now
			continue
		}
		fmt.Fprintf(&b, "  %s\n", a.stdout.text(f))
	}
	if kit {
		b.WriteString("and the kit that the code needs\n")
	}
	fmt.Fprintf(&b, "\nnext:\n  cloister plugin test %s\n  cloister plugin build %s\n", shown, shown)
	return a.write(b.String())
}

// newHint guesses what was meant.
func newHint(err error, id, language string) string {
	switch {
	case errors.Is(err, scaffold.ErrID):
		if fixed := strings.ReplaceAll(strings.ToLower(id), "_", "-"); forms.PluginID(fixed) == "" {
			return "did you mean " + fixed + "?"
		}
	case errors.Is(err, scaffold.ErrLanguage):
		if near := suggest.Closest(language, scaffold.Languages()); near != "" {
			return "did you mean " + near + "?"
		}
	case errors.Is(err, scaffold.ErrNotEmpty):
		return "--dir DIR names another"
	}
	return ""
}
