package plugins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cloister-wasm/cloister/internal/extism"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/safefile"
)

// maxFolders bounds what LoadDirs looks at.
const maxFolders = 512

// LoadOptions are the choices of loading. The zero value loads nothing unsigned, which from folders is nothing.
type LoadOptions struct {
	// AllowUnsignedUnsafe lets plugins without a signature in, as they lie in a folder: for development. Whoever can
	// write to the folder decides what the plugin does.
	AllowUnsignedUnsafe bool
	// CacheDir keeps machine code between processes; "" keeps none. It must be private to this user (0700).
	CacheDir string
	// Limits bound every plugin.
	Limits Limits
	// Eager compiles while loading instead of at the first instance.
	Eager bool
	// Progress is told before and after a compilation, on the goroutine that waits for it. It may be nil.
	Progress func(CompileEvent)
	// Log takes what plugins write, on the goroutine of the call. It may be nil.
	Log func(LogRecord)
	// Services are behind the host functions.
	Services Services
}

// CompileEvent tells of one compilation, first with Done false, then with Done true.
type CompileEvent struct {
	Plugin    string
	Done      bool
	Elapsed   time.Duration // when Done
	FromCache bool          // when Done: the machine code was on disk
	Err       error         // when Done
}

// LogRecord is one line that a plugin wrote.
type LogRecord struct {
	Plugin string
	// Level is "stdout" or "stderr", or "trace", "debug", "info", "warn" or "error" from log functions.
	Level string
	// Text is one line, valid UTF-8, at most 4 KiB. It is the plugin's: do not trust it.
	Text string
	// Truncated marks the record that says that the rest of a call's log was dropped.
	Truncated bool
}

// LoadDir loads a plugin from its folder: [ManifestFile] and [WasmFile], both regular files in the folder itself. Nil
// options are the zero value. Errors are a [*PluginError]: ErrUnsigned, ErrFiles, ErrManifest (with a [*ManifestError]),
// ErrPermission, ErrModule, ErrImport, ErrExport, ErrLimit.
func LoadDir(ctx context.Context, dir string, opts *LoadOptions) (*Plugin, error) {
	o := LoadOptions{}
	if opts != nil {
		o = *opts
	}
	o.Limits = o.Limits.withDefaults()
	if !o.AllowUnsignedUnsafe {
		return nil, &PluginError{Plugin: dir, Kind: ErrUnsigned,
			Detail: "a folder carries no signature; to load it while developing, set LoadOptions.AllowUnsignedUnsafe"}
	}
	manifest, wasm, err := readFolder(dir)
	if err != nil {
		return nil, err
	}
	p, err := newPlugin(manifest, wasm, Origin{Unsigned: true}, o)
	if err != nil {
		return nil, err
	}
	if o.Eager {
		if err := p.Compile(ctx); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func readFolder(dir string) (*Manifest, []byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, filesError(dir, err)
	}
	defer root.Close()
	text, err := safefile.ReadIn(root, ManifestFile, MaxManifestBytes)
	if err != nil {
		return nil, nil, filesError(dir, err)
	}
	manifest, err := ParseManifest(text)
	if err != nil {
		return nil, nil, &PluginError{Plugin: dir, Kind: ErrManifest, Detail: ManifestFile, cause: err}
	}
	wasm, err := safefile.ReadIn(root, WasmFile, extism.MaxWasmBytes)
	if err != nil {
		return nil, nil, filesError(dir, err)
	}
	return manifest, wasm, nil
}

func filesError(dir string, err error) error {
	detail := err.Error()
	if errors.Is(err, fs.ErrNotExist) {
		detail += "; a plugin folder holds " + ManifestFile + " and " + WasmFile + ", which building the plugin makes"
	}
	return &PluginError{Plugin: dir, Kind: ErrFiles, Detail: plaintext.Line(detail, 600), cause: err}
}

// newPlugin checks what manifest and module have to do with each other.
func newPlugin(m *Manifest, wasm []byte, origin Origin, o LoadOptions) (*Plugin, error) {
	memory, ok := o.Limits.memory(m.Permissions.MemoryBytes)
	if !ok {
		return nil, &PluginError{Plugin: m.ID, Kind: ErrPermission, Detail: fmt.Sprintf(
			"%d bytes of memory, the host allows %d; lower permissions.memoryBytes or raise Limits.MemoryBytes",
			m.Permissions.MemoryBytes, o.Limits.MemoryBytes)}
	}
	var rt runtime = extismRuntime{}
	b := newBroker(m, o)
	granted := b.granted()
	var offered []string
	for _, f := range granted {
		offered = append(offered, f.Name)
	}
	ready, err := rt.prepare(wasm, offered, exportsOf(m))
	if err != nil {
		return nil, fault(m.ID, "", err)
	}
	digest := sha256.Sum256(wasm)
	p := &Plugin{manifest: m, digest: hex.EncodeToString(digest[:]), origin: origin, options: o, prepared: ready, broker: b, turn: make(chan struct{}, 1)}
	p.config = extism.Config{
		CacheDir: o.CacheDir, MemoryBytes: memory, LogBytes: o.Limits.LogBytes, CallTime: o.Limits.CallTime,
		InputBytes: o.Limits.InputBytes + envelopeBytes, OutputBytes: o.Limits.OutputBytes + envelopeBytes,
		Functions: granted,
	}
	if o.Log != nil {
		p.config.Log = func(r extism.LogRecord) {
			o.Log(LogRecord{Plugin: m.ID, Level: r.Level, Text: r.Text, Truncated: r.Truncated})
		}
	}
	p.turn <- struct{}{}
	return p, nil
}

// exportsOf lists the exports a manifest needs.
func exportsOf(m *Manifest) []string {
	var names []string
	for i := range m.Namespaces {
		names = append(names, m.Namespaces[i].exports()...)
	}
	for _, t := range m.Tools {
		name := t.Export
		if name == "" {
			name = CallExport
		}
		names = append(names, name)
	}
	return names
}

// LoadDirs loads the plugin of each folder in dir, in the order of their names. Hidden folders and files are passed over.
// A folder that fails, or whose id, global or a tool's name an earlier one has, is an error in the list and takes no other
// with it.
func LoadDirs(ctx context.Context, dir string, opts *LoadOptions) ([]*Plugin, []error) {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return nil, []error{filesError(dir, err)}
	}
	var plugins []*Plugin
	var errs []error
	owners := map[string]*Plugin{}
	folders := 0
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		switch {
		case strings.HasPrefix(entry.Name(), "."), !entry.IsDir() && entry.Type()&fs.ModeSymlink == 0:
			continue
		case !entry.IsDir():
			errs = append(errs, &PluginError{Plugin: path, Kind: ErrFiles, Detail: "it is a symbolic link; move the folder here"})
			continue
		}
		if folders++; folders > maxFolders {
			return plugins, append(errs, &PluginError{Plugin: dir, Kind: ErrFiles, Detail: fmt.Sprintf("it holds more than %d folders", maxFolders)})
		}
		p, err := LoadDir(ctx, path, opts)
		if err == nil {
			if conflict := claim(owners, p); conflict != nil {
				err = errors.Join(fmt.Errorf("%s: %w", plaintext.Line(path, 300), conflict), p.Close())
			}
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		plugins = append(plugins, p)
	}
	return plugins, errs
}
