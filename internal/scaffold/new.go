package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/sdk"
)

// Languages that there is an SDK for.
const (
	Go             = "go"
	AssemblyScript = "assemblyscript"
	C              = "c"
)

// Languages lists the languages of [New].
func Languages() []string { return []string{Go, AssemblyScript, C} }

//go:embed all:templates
var templates embed.FS

// idForm is that of the manifest's schema.
var idForm = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*\.[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

const maxID = 80

// names is what templates know.
type names struct {
	ID, Tool string
	Project  string // the id without a point
}

// New writes the folder of a new plugin and gives the files' names, relative to dir, with slashes, sorted. The folder is
// made if it is missing; one that holds anything but .git is refused. After an error, what was written is gone again.
//
// Errors: [ErrID], [ErrLanguage], [ErrNotEmpty], those of the file system.
func New(dir, id, language string) ([]string, error) {
	if len(id) > maxID || !idForm.MatchString(id) {
		return nil, fmt.Errorf("%w: %.100q; write publisher.name in lower-case letters, digits and single hyphens, for example \"acme.hello\"", ErrID, id)
	}
	_, name, _ := strings.Cut(id, ".")
	n := names{ID: id, Tool: strings.ReplaceAll(name, "-", "_") + "_greet", Project: strings.ReplaceAll(id, ".", "-")}
	files, err := render(n, language)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Name() != ".git" {
			return nil, fmt.Errorf("%w: %s holds %s; choose another folder", ErrNotEmpty, dir, e.Name())
		}
	}
	return write(dir, files)
}

// write makes the files, or none.
func write(dir string, files map[string][]byte) (list []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, root.Close())
	}()
	for name := range files {
		list = append(list, name)
	}
	slices.Sort(list)
	for i, name := range list {
		if err := writeFile(root, name, files[name]); err != nil {
			for _, done := range list[:i] {
				// The first error is what counts.
				_ = root.Remove(done)
			}
			return nil, err
		}
	}
	return list, nil
}

func writeFile(root *os.Root, name string, data []byte) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// render gives the files of a new plugin.
func render(n names, language string) (map[string][]byte, error) {
	files := map[string][]byte{}
	var err error
	switch language {
	case Go:
		err = copySDK(files, "*.go", "cloister/sdk/")
		files["cloister/guestabi/plugin.go"] = []byte(guestabi.PluginSource)
	case AssemblyScript:
		err = copySDK(files, "assemblyscript/assembly/*.ts", "assembly/cloister/")
	case C:
		err = copySDK(files, "c/cloister.h", "")
	default:
		return nil, fmt.Errorf("%w: %.40q; choose one of %s", ErrLanguage, language, strings.Join(Languages(), ", "))
	}
	if err != nil {
		return nil, err
	}
	top := "templates/" + language
	err = fs.WalkDir(templates, top, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := templates.ReadFile(p)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(strings.TrimPrefix(p, top+"/"), ".tmpl")
		t, err := template.New(name).Delims("<<", ">>").Option("missingkey=error").Parse(string(raw))
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := t.Execute(&b, n); err != nil {
			return err
		}
		files[name] = b.Bytes()
		return nil
	})
	return files, err
}

// copySDK adds files of the SDK, under another folder.
func copySDK(files map[string][]byte, pattern, to string) error {
	matches, err := fs.Glob(sdk.Sources, pattern)
	if err != nil {
		return err
	}
	for _, m := range matches {
		if files[to+path.Base(m)], err = sdk.Sources.ReadFile(m); err != nil {
			return err
		}
	}
	return nil
}
