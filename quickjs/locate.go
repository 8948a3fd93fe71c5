package quickjs

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	// EngineName is the npm package of the engine.
	EngineName = "quickjs-wasi"
	// EngineVersion is the pinned version of that package.
	EngineVersion = "3.6.2"
	// EngineSHA256 is the digest of quickjs.wasm in that package.
	EngineSHA256 = "d4c9375f2b1ca4dc95f72c8aa2982a7a9951ac8011490d79c6582df732b4bbd9"

	engineFile = "quickjs.wasm"
	// maxEngine bounds what is read as an engine, in bytes.
	maxEngine = 16 << 20
	mend      = "run: cloister engine install"
)

// enginePackage is the package.json, lock file and npm settings with which the
// engine is fetched. The lock holds an integrity hash and no address.
//
//go:embed engine/package.json engine/package-lock.json engine/.npmrc
var enginePackage embed.FS

// Found says where the engine's bytes came from.
type Found struct {
	Wasm []byte
	// Path is a file name, or "embedded".
	Path string
}

// FindEngine looks the engine up: the file that CLOISTER_ENGINE names, the
// user's cache (filled by InstallEngine), the ignored folder of a checkout of
// this project at or above the working folder, and last the copy compiled in
// with the build tag embed_engine. A candidate that exists and is not the pinned
// engine is an error, not a reason to look on.
func FindEngine() (*Found, error) {
	for _, path := range engineCandidates() {
		b, err := readBounded(path)
		if os.IsNotExist(err) && path != os.Getenv("CLOISTER_ENGINE") {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%w: reading %s: %w; %s", ErrEngineUnavailable, path, err, mend)
		}
		if err := verifyEngine(b); err != nil {
			return nil, fmt.Errorf("%w (file %s)", err, path)
		}
		return &Found{Wasm: b, Path: path}, nil
	}
	if embeddedEngine != nil {
		if err := verifyEngine(embeddedEngine); err != nil {
			return nil, err
		}
		return &Found{Wasm: embeddedEngine, Path: "embedded"}, nil
	}
	return nil, fmt.Errorf("%w: %s %s is not installed; %s", ErrEngineUnavailable, EngineName, EngineVersion, mend)
}

func engineCandidates() []string {
	if p := os.Getenv("CLOISTER_ENGINE"); p != "" {
		return []string{p}
	}
	var out []string
	if p, err := InstalledEnginePath(); err == nil {
		out = append(out, p)
	}
	if p := checkoutEngine(); p != "" {
		out = append(out, p)
	}
	return out
}

// checkoutEngine finds the folder that `npm ci` fills in a checkout.
func checkoutEngine() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for range 32 {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(mod), "module github.com/cloister-wasm/cloister\n") {
			return filepath.Join(dir, "quickjs", "engine", "node_modules", EngineName, engineFile)
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return ""
}

// InstalledEnginePath is where InstallEngine puts the engine for this user. The
// file need not exist.
func InstalledEnginePath() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "cloister", "engine", EngineName+"-"+EngineVersion, engineFile), nil
}

// InstallEngine fetches the pinned engine with the npm client on the PATH, which
// checks the lock's integrity hash, checks the SHA-256 of the module, and puts
// it into the user's cache by one rename. It gives the path. Progress and npm's
// messages go to log, which may be nil.
func InstallEngine(ctx context.Context, log io.Writer) (string, error) {
	if log == nil {
		log = io.Discard
	}
	path, err := InstalledEnginePath()
	if err != nil {
		return "", fmt.Errorf("%w: no user cache folder: %w", ErrEngineUnavailable, err)
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
	if err := verifyEngine(b); err != nil {
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

func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxEngine+1))
	if err == nil && len(b) > maxEngine {
		err = fmt.Errorf("larger than %d bytes", maxEngine)
	}
	return b, err
}

// verifyEngine checks the bytes against the pinned digest.
func verifyEngine(b []byte) error {
	sum := sha256.Sum256(b)
	if got := hex.EncodeToString(sum[:]); got != EngineSHA256 {
		return fmt.Errorf("%w: the bytes are not %s %s: SHA-256 is %s, expected %s; %s",
			ErrEngineUnavailable, EngineName, EngineVersion, got, EngineSHA256, mend)
	}
	return nil
}
