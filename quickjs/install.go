package quickjs

import (
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// enginePackage is the package.json, lock file and npm settings with which the
// engine is fetched. The lock holds an integrity hash and no address.
//
//go:embed engine/package.json engine/package-lock.json engine/.npmrc
var enginePackage embed.FS

// InstallEngine fetches the pinned engine with the npm client on the PATH, which
// checks the lock's integrity hash, checks the SHA-256 of the module, and puts
// it at InstalledEnginePath by one rename. It gives the path. Progress and npm's
// messages go to log, which may be nil.
func InstallEngine(ctx context.Context, log io.Writer) (string, error) {
	if log == nil {
		log = io.Discard
	}
	path, err := InstalledEnginePath()
	if err != nil {
		return "", fmt.Errorf("%w: no folder for data: %w", ErrEngineUnavailable, err)
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fmt.Errorf("%w: the npm client is not on the PATH; install Node.js with npm, or set CLOISTER_ENGINE to a copy of %s from the npm package %s %s",
			ErrEngineUnavailable, engineFile, EngineName, EngineVersion)
	}
	tmp, err := os.MkdirTemp("", "cloister-engine-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		b, err := enginePackage.ReadFile("engine/" + name)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(tmp, name), b, 0o600); err != nil {
			return "", err
		}
	}
	fmt.Fprintf(log, "fetching %s %s with npm\n", EngineName, EngineVersion)
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir, cmd.Stdout, cmd.Stderr = tmp, log, log
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w: npm could not fetch %s %s: %w", ErrEngineUnavailable, EngineName, EngineVersion, err)
	}
	b, err := readBounded(filepath.Join(tmp, "node_modules", EngineName, engineFile))
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrEngineUnavailable, err)
	}
	if err := verifyEngine(b, "what npm brought", false); err != nil {
		return "", err
	}
	return path, writeAtomic(path, b)
}

func writeAtomic(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(b); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
