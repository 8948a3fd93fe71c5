package main

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Bounds of the file tools.
const (
	maxReadBytes  = 256 << 10 // of one read_file
	maxListed     = 1000      // entries of one list_files
	maxListWalked = 100_000   // entries that one list_files looks at
	maxListDepth  = 32
)

// fileTools are the tools that --root adds: reading below one folder. os.Root
// keeps every path inside, symbolic links included, whatever changes meanwhile.
func fileTools(root *os.Root) []host.RawTool {
	f := files{root}
	return []host.RawTool{
		host.Tool("read_file", "Reads a file below the shared folder, at most 256 KiB a call. Paths are relative, with slashes. "+
			"Where next is given, there is more: pass it as offset.", f.read),
		host.Tool("list_files", "Lists a folder below the shared folder, sorted by path; recursive goes into folders. "+
			"pattern filters by file name, with * and ?, such as *.csv.", f.list),
	}
}

type files struct{ root *os.Root }

// open opens for reading. Without O_NONBLOCK a named pipe would wait for a
// writer.
func (f files) open(name string) (*os.File, error) {
	return f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

type readInput struct {
	Path     string `json:"path" jsonschema:"relative path with slashes, such as data/sales.csv"`
	Offset   int64  `json:"offset,omitempty" jsonschema:"byte to start at; default 0"`
	Limit    int    `json:"limit,omitempty" jsonschema:"bytes to read, 1 to 262144; default 262144"`
	Encoding string `json:"encoding,omitempty" jsonschema:"utf8 (default) or base64"`
}

type readOutput struct {
	Text string `json:"text" jsonschema:"the content, in the encoding asked for"`
	Size int64  `json:"size" jsonschema:"bytes of the whole file"`
	Next int64  `json:"next,omitempty" jsonschema:"offset of what was not read; absent at the end"`
}

func (f files) read(_ context.Context, in readInput) (readOutput, error) {
	if in.Limit == 0 {
		in.Limit = maxReadBytes
	}
	switch {
	case in.Path == "":
		return readOutput{}, badInput("path must not be empty; list_files shows what there is")
	case in.Limit < 1 || in.Limit > maxReadBytes:
		return readOutput{}, badInput("limit must be 1 to %d", maxReadBytes)
	case in.Offset < 0:
		return readOutput{}, badInput("offset must not be negative")
	case in.Encoding != "" && in.Encoding != "utf8" && in.Encoding != "base64":
		return readOutput{}, badInput("encoding %q is not known; use utf8 or base64", in.Encoding)
	}
	file, err := f.open(in.Path)
	if err != nil {
		return readOutput{}, fileError(in.Path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return readOutput{}, fileError(in.Path, err)
	}
	if !info.Mode().IsRegular() {
		return readOutput{}, notRegular(in.Path, info)
	}
	data, err := io.ReadAll(io.NewSectionReader(file, in.Offset, int64(in.Limit)))
	if err != nil {
		return readOutput{}, fileError(in.Path, err)
	}
	return readResult(in, data, info.Size())
}

func readResult(in readInput, data []byte, size int64) (readOutput, error) {
	out := readOutput{Size: size}
	if in.Encoding == "base64" {
		out.Text = base64.StdEncoding.EncodeToString(data)
	} else {
		if in.Offset+int64(len(data)) < size {
			data = wholeRunes(data)
		}
		if !utf8.Valid(data) || in.Limit > 0 && len(data) == 0 && in.Offset < size {
			return readOutput{}, &host.ToolError{Code: "not_text", Message: quotePath(in.Path) + " is not UTF-8 text here; read it with encoding base64"}
		}
		out.Text = string(data)
	}
	if next := in.Offset + int64(len(data)); next < size && len(data) > 0 {
		out.Next = next
	}
	return out, nil
}

// wholeRunes cuts a character off that the end of data splits.
func wholeRunes(data []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(data); i++ {
		if tail := data[len(data)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return data[:len(data)-i]
			}
			break
		}
	}
	return data
}

type listInput struct {
	Path      string `json:"path,omitempty" jsonschema:"relative path of a folder; default the shared folder itself"`
	Pattern   string `json:"pattern,omitempty" jsonschema:"file names to list, with * and ?; default all"`
	Recursive bool   `json:"recursive,omitempty"`
}

type listedFile struct {
	Path     string `json:"path" jsonschema:"relative to the shared folder, ready for read_file"`
	Type     string `json:"type" jsonschema:"file, folder, link or other"`
	Size     int64  `json:"size,omitempty"`
	Modified string `json:"modified,omitempty" jsonschema:"RFC 3339"`
}

type listOutput struct {
	Files []listedFile `json:"files"`
	// Truncated is a plain statement rather than an error: what is there is useful.
	Truncated bool `json:"truncated,omitempty" jsonschema:"there is more than the 1000 entries listed, or it lies too deep"`
}

func (f files) list(ctx context.Context, in listInput) (listOutput, error) {
	if in.Path == "" {
		in.Path = "."
	}
	if _, err := path.Match(in.Pattern, ""); err != nil {
		return listOutput{}, badInput("pattern %q is malformed", in.Pattern)
	}
	l := lister{files: f, in: in, out: listOutput{Files: []listedFile{}}}
	if err := l.folder(ctx, path.Clean(in.Path), 0); err != nil {
		return listOutput{}, err
	}
	slices.SortFunc(l.out.Files, func(a, b listedFile) int { return strings.Compare(a.Path, b.Path) })
	if len(l.out.Files) > maxListed {
		l.out.Files, l.out.Truncated = l.out.Files[:maxListed], true
	}
	return l.out, nil
}

// lister walks folders, deeper ones after the ones above them.
type lister struct {
	files
	in     listInput
	walked int
	out    listOutput
}

func (l *lister) folder(ctx context.Context, name string, depth int) error {
	dir, err := l.open(name)
	if err != nil {
		return fileError(name, err)
	}
	defer dir.Close()
	if info, err := dir.Stat(); err != nil || !info.IsDir() {
		return &host.ToolError{Code: "not_a_folder", Message: quotePath(name) + " is not a folder; read it with read_file"}
	}
	var below []string
	for {
		entries, err := dir.ReadDir(256)
		for _, e := range entries {
			if l.walked++; l.walked > maxListWalked {
				l.out.Truncated = true
				return nil
			}
			full := path.Join(name, e.Name())
			l.add(full, e)
			if e.IsDir() {
				below = append(below, full)
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return fileError(name, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if !l.in.Recursive {
		return nil
	}
	return l.deeper(ctx, below, depth+1)
}

func (l *lister) deeper(ctx context.Context, folders []string, depth int) error {
	if depth > maxListDepth && len(folders) > 0 {
		l.out.Truncated = true
		return nil
	}
	slices.Sort(folders)
	for _, name := range folders {
		err := l.folder(ctx, name, depth)
		var te *host.ToolError
		if errors.As(err, &te) {
			continue // a folder below that cannot be read, or is gone again, is left out
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *lister) add(full string, e fs.DirEntry) {
	if l.in.Pattern != "" {
		// The pattern has been checked; matching has no other errors.
		if ok, _ := path.Match(l.in.Pattern, e.Name()); !ok {
			return
		}
	}
	entry := listedFile{Path: full, Type: "other"}
	switch {
	case e.IsDir():
		entry.Type = "folder"
	case e.Type().IsRegular():
		entry.Type = "file"
		if info, err := e.Info(); err == nil {
			entry.Size, entry.Modified = info.Size(), info.ModTime().UTC().Format(time.RFC3339)
		}
	case e.Type()&fs.ModeSymlink != 0:
		entry.Type = "link"
	}
	l.out.Files = append(l.out.Files, entry)
}

// fileError says what went wrong in terms of the path that the cell gave. It
// names no folder of the machine.
func fileError(name string, err error) error {
	te := &host.ToolError{Code: "not_readable", Message: quotePath(name) + " cannot be read"}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		te.Code, te.Message = "not_found", quotePath(name)+" does not exist; list_files shows what does"
	case errors.Is(err, fs.ErrPermission):
		te.Code, te.Message = "not_readable", quotePath(name)+" may not be read by this user"
	case escapesRoot(name, err):
		te.Code, te.Message = "outside", quotePath(name)+" leads out of the shared folder; give a relative path below it"
	}
	return te
}

// escapesRoot tells the error of os.Root, which has no exported value.
func escapesRoot(name string, err error) bool {
	var pe *fs.PathError
	return !fs.ValidPath(path.Clean(name)) || errors.As(err, &pe) && strings.Contains(pe.Err.Error(), "escapes")
}

func notRegular(name string, info fs.FileInfo) error {
	if info.IsDir() {
		return &host.ToolError{Code: "is_a_folder", Message: quotePath(name) + " is a folder; list it with list_files"}
	}
	return &host.ToolError{Code: "not_a_file", Message: quotePath(name) + " is not a regular file"}
}

// quotePath shows a path of the cell's in an error text.
func quotePath(name string) string { return `"` + plaintext.Show(name, 200) + `"` }
