package scaffold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Language tells the language of the plugin in a folder: [Go], [AssemblyScript] or [C]. Without sources of one of them it
// is an [ErrLanguage].
func Language(dir string) (string, error) {
	if _, err := os.Stat(dir); err != nil {
		return "", err
	}
	has := func(pattern string) bool {
		matches, err := filepath.Glob(filepath.Join(escapeGlob(dir), pattern))
		return err == nil && len(matches) > 0
	}
	switch {
	case has("asconfig.json") && has("package.json"):
		return AssemblyScript, nil
	case has("*.go"):
		return Go, nil
	case has("*.c"):
		return C, nil
	}
	return "", fmt.Errorf("%w: %s holds neither Go files, nor asconfig.json and package.json, nor C files", ErrLanguage, dir)
}

// escapeGlob keeps a folder's name from being a pattern.
func escapeGlob(dir string) string {
	if filepath.Separator == '\\' {
		return dir // Glob has no escapes there, and [ and * cannot both be meant
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// Build builds the plugin in dir and gives its WebAssembly. What the tools say goes to out, which may be nil. dir stays as
// it is, but for node_modules in AssemblyScript.
//
// Errors: [ErrLanguage], [ErrMissingTool], a [*BuildError].
func Build(ctx context.Context, dir string, out io.Writer) (wasm []byte, err error) {
	language, err := Language(dir)
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "cloister-build-")
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, os.RemoveAll(temp))
	}()
	b := &builder{ctx: ctx, dir: dir, target: filepath.Join(temp, "plugin.wasm"), out: out}
	switch language {
	case AssemblyScript:
		err = b.assemblyScript()
	case Go:
		err = b.golang()
	default:
		err = b.c()
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(b.target)
}

type builder struct {
	ctx         context.Context
	dir, target string
	out         io.Writer
}

func (b *builder) golang() error {
	tool, err := find("go", "install Go 1.24 or newer (https://go.dev/dl)")
	if err != nil {
		return err
	}
	// Nothing of the machine goes into the module: no paths, no version control, no experiments.
	env := []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOWASM=", "GOFLAGS=", "GOWORK=off"}
	return b.run("go build", env, tool, "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", b.target, ".")
}

const nodeAdvice = "install Node.js 20 or newer with npm (https://nodejs.org)"

func (b *builder) assemblyScript() error {
	node, err := find("node", nodeAdvice)
	if err != nil {
		return err
	}
	if err := b.install(); err != nil {
		return err
	}
	return b.run("asc", nil, node, filepath.Join("node_modules", "assemblyscript", "bin", "asc.js"), "--config", "asconfig.json", "--outFile", b.target)
}

// install fetches what package-lock.json pins, unless it is there.
func (b *builder) install() error {
	if b.installed() {
		return nil
	}
	npm, err := find("npm", nodeAdvice)
	if err != nil {
		return err
	}
	return b.run("npm ci", nil, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
}

// installed reports whether node_modules is as the lock file has it: npm writes a copy of the lock when it is done.
func (b *builder) installed() bool {
	lock, err := os.Stat(filepath.Join(b.dir, "package-lock.json"))
	if err != nil {
		return false
	}
	done, err := os.Stat(filepath.Join(b.dir, "node_modules", ".package-lock.json"))
	return err == nil && !done.ModTime().Before(lock.ModTime())
}

func (b *builder) c() error {
	const advice = "install clang and lld (Debian: apt-get install clang lld; macOS: brew install llvm lld, since Apple's clang has no WebAssembly)"
	clang, err := find("clang", advice)
	if err != nil {
		return err
	}
	if _, err := find("wasm-ld", advice); err != nil {
		return err
	}
	targets, err := exec.CommandContext(b.ctx, clang, "--print-targets").Output()
	if err != nil || !bytes.Contains(targets, []byte("wasm32")) {
		return fmt.Errorf("%w: %s cannot build for wasm32; %s", ErrMissingTool, clang, advice)
	}
	sources, err := filepath.Glob(filepath.Join(escapeGlob(b.dir), "*.c"))
	if err != nil {
		return err
	}
	for i, s := range sources {
		sources[i] = filepath.Base(s)
	}
	slices.Sort(sources)
	args := []string{"--target=wasm32", "-std=c11", "-O2", "-Wall", "-Wextra", "-ffreestanding", "-mbulk-memory", "-nostdlib",
		"-Wl,--no-entry,--strip-all,--stack-first,-z,stack-size=65536", "-o", b.target}
	return b.run("clang", nil, clang, append(args, sources...)...)
}

// find looks for a program.
func find(name, advice string) (string, error) {
	tool, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: %s was not found; %s", ErrMissingTool, name, advice)
	}
	return tool, nil
}

// run runs one step in the plugin's folder.
func (b *builder) run(step string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(b.ctx, name, args...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = 5 * time.Second
	end := &tail{}
	cmd.Stdout, cmd.Stderr = end, end
	if b.out != nil {
		both := io.MultiWriter(b.out, end)
		cmd.Stdout, cmd.Stderr = both, both
	}
	if err := cmd.Run(); err != nil {
		if ctxErr := context.Cause(b.ctx); ctxErr != nil {
			err = errors.Join(ctxErr, err)
		}
		return &BuildError{Step: step, Output: strings.TrimSpace(strings.ToValidUTF8(string(end.b), "\uFFFD")), cause: err}
	}
	return nil
}

const maxTail = 4 << 10

// tail keeps the end of what is written.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > maxTail {
		t.b = append(t.b[:0], t.b[len(t.b)-maxTail:]...)
	}
	return len(p), nil
}
