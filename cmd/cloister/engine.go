package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/quickjs"
)

func (a *app) engineCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "engine",
		Short: "Install and check the JavaScript engine",
		Long: fmt.Sprintf(`The JavaScript engine is the npm package %s %s, whose WebAssembly
module Cloister pins by its SHA-256. It is looked for in this order: the file
that CLOISTER_ENGINE names, the program itself if it was built with the engine
inside, as releases are, this user's data folder (where "install" puts it), this
user's cache (where older versions put it), a checkout of Cloister around the
working folder.`, quickjs.EngineName, quickjs.EngineVersion),
		Args: noArguments, RunE: group,
	}
	cmd.AddCommand(a.engineInstall(), a.engineVerify(), a.enginePath(), a.engineEmbed())
	return cmd
}

func (a *app) engineInstall() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Fetch the engine with npm into this user's data folder",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if found, err := quickjs.FindEngine(); err == nil && found.Path == quickjs.EmbeddedPath && !force {
				return a.write(fmt.Sprintf("%s %s is inside this program: there is nothing to install\n", quickjs.EngineName, quickjs.EngineVersion))
			}
			if path, ok := installed(); ok && !force {
				return a.write(fmt.Sprintf("%s %s is installed: %s\n", quickjs.EngineName, quickjs.EngineVersion, path))
			}
			path, err := quickjs.InstallEngine(cmd.Context(), escapedWriter{a.stderr})
			if err != nil {
				return engineError(cmd.Context(), err)
			}
			if env := os.Getenv("CLOISTER_ENGINE"); env != "" {
				a.complain("note: CLOISTER_ENGINE is set and is used instead: "+env, "")
			}
			return a.write(fmt.Sprintf("installed %s %s: %s\n", quickjs.EngineName, quickjs.EngineVersion, path))
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "fetch it again even if it is there")
	return cmd
}

// installed says where the engine is if it has been installed and is intact.
func installed() (path string, ok bool) {
	path, err := quickjs.InstalledEnginePath()
	if err != nil {
		return "", false
	}
	f, err := os.Open(path)
	if err != nil {
		return path, false
	}
	defer f.Close()
	sum := sha256.New()
	const maxEngine = 16 << 20
	if _, err := io.Copy(sum, io.LimitReader(f, maxEngine)); err != nil {
		return path, false
	}
	return path, hex.EncodeToString(sum.Sum(nil)) == quickjs.EngineSHA256
}

func (a *app) engineVerify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Check the engine's bytes and compile it",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := quickjs.FindEngine()
			if err != nil {
				return engineError(cmd.Context(), err)
			}
			sum := sha256.Sum256(found.Wasm)
			start := time.Now()
			e, err := quickjs.Load(cmd.Context(), &quickjs.EngineOptions{Wasm: found.Wasm, CacheDir: "off"})
			if err != nil {
				return engineError(cmd.Context(), err)
			}
			took := time.Since(start)
			if err := e.Close(context.WithoutCancel(cmd.Context())); err != nil {
				return hostError(err)
			}
			return a.write(fmt.Sprintf("engine    %s %s\npath      %s\nsize      %d bytes\nsha256    %s (as pinned)\ncompiled  in %.2f s without cache\n",
				quickjs.EngineName, quickjs.EngineVersion, a.stdout.text(found.Path), len(found.Wasm), hex.EncodeToString(sum[:]), took.Seconds()))
		},
	}
}

func (a *app) enginePath() *cobra.Command {
	return &cobra.Command{
		Use:   "path",
		Short: "Print where the engine is that cells run in",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := quickjs.FindEngine()
			if err != nil {
				return engineError(cmd.Context(), err)
			}
			return a.write(a.stdout.text(found.Path) + "\n")
		},
	}
}

func engineError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	if errors.Is(err, quickjs.ErrEngineUnavailable) {
		return hostError(err)
	}
	return &exitError{code: exitRuntime, err: err}
}

// escapedWriter makes what other programs say safe for a terminal.
type escapedWriter struct{ w io.Writer }

func (e escapedWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(e.w, escapeText(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
