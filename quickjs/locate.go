package quickjs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cloister-wasm/cloister/internal/datadir"
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
	// engineVariable names a file to use before all others.
	engineVariable = "CLOISTER_ENGINE"
)

// Found says where the engine's bytes came from.
type Found struct {
	Wasm []byte
	// Path is a file name, or EmbeddedPath.
	Path string
}

// EmbeddedPath is the Path of an engine that is part of the program.
const EmbeddedPath = "embedded"

// embeddedEngine is what EmbedEngine was given.
var embeddedEngine []byte

// EmbedEngine makes bytes that are part of the program the engine that FindEngine
// gives, before any that is installed. They are checked as every other copy is,
// when they are looked for. It is for the init function of a file that embeds them,
// such as "cloister engine embed" writes, and must not run beside FindEngine or
// Load. The bytes must not change.
func EmbedEngine(wasm []byte) { embeddedEngine = wasm }

// FindEngine looks the engine up: the file that CLOISTER_ENGINE names, what
// EmbedEngine was given, the user's data folder (filled by InstallEngine), the
// user's cache folder, where older builds put it, and last the ignored folder
// of a checkout of this project at or above the working folder. A candidate that
// exists and is not the pinned engine is an error, not a reason to look on. The
// error is an *EngineError.
func FindEngine() (*Found, error) {
	if path := os.Getenv(engineVariable); path != "" {
		return readEngine(path, true)
	}
	if embeddedEngine != nil {
		return &Found{embeddedEngine, EmbeddedPath}, verifyEngine(embeddedEngine, EmbeddedPath, false)
	}
	for _, path := range engineCandidates() {
		found, err := readEngine(path, false)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return found, err
		}
	}
	return nil, &EngineError{Problem: EngineMissing}
}

// readEngine reads a candidate. named says that CLOISTER_ENGINE names it.
func readEngine(path string, named bool) (*Found, error) {
	b, err := readBounded(path)
	if err != nil {
		problem := EngineUnreadable
		if errors.Is(err, fs.ErrNotExist) {
			problem = EngineMissing
		}
		return nil, &EngineError{Problem: problem, Path: path, Named: named, Err: err}
	}
	if err := verifyEngine(b, path, named); err != nil {
		return nil, err
	}
	return &Found{b, path}, nil
}

func engineCandidates() []string {
	var out []string
	if p, err := InstalledEnginePath(); err == nil {
		out = append(out, p)
	}
	// It is read where it lies: who has no npm any more keeps an engine that works.
	if base, err := os.UserCacheDir(); err == nil {
		out = append(out, filepath.Join(base, "cloister", installedEngine))
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

// installedEngine is where an installed engine lies in the data folder.
var installedEngine = filepath.Join("engine", EngineName+"-"+EngineVersion, engineFile)

// InstalledEnginePath is where InstallEngine puts the engine for this user: in the
// folder of data (CLOISTER_DATA_DIR, else XDG_DATA_HOME or what the system has for
// it), which no cleaner of caches empties. The file need not exist.
func InstalledEnginePath() (string, error) {
	base, err := datadir.Find()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, installedEngine), nil
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

// verifyEngine checks the bytes against the pinned digest. The error is an
// *EngineError about path, which may be empty for bytes that a caller gave.
func verifyEngine(b []byte, path string, named bool) error {
	sum := sha256.Sum256(b)
	if got := hex.EncodeToString(sum[:]); got != EngineSHA256 {
		return &EngineError{Problem: EngineAltered, Path: path, Named: named, SHA256: got}
	}
	return nil
}
