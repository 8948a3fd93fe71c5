package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cloister-wasm/cloister/host"
)

// shared makes a folder with some files, beside a secret one.
func shared(t *testing.T) (tools []host.RawTool, dir string) {
	t.Helper()
	base := t.TempDir()
	dir = filepath.Join(base, "shared")
	for name, text := range map[string]string{
		"shared/a.txt": "hello", "shared/data/b.csv": "x,y\n1,2\n", "shared/data/deep/c.csv": "z\n", "shared/empty": "",
		"shared/binary": "\x00\xff\xfe", "secret/key": "s3cret", "shared-too/key": "s3cret",
	} {
		path := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return fileTools(root), dir
}

func pathInput(path string) string {
	text, err := json.Marshal(map[string]string{"path": path})
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestReadFile(t *testing.T) {
	tools, dir := shared(t)
	for _, test := range []struct {
		input string
		want  readOutput
	}{
		{`{"path":"a.txt"}`, readOutput{Text: "hello", Size: 5}},
		{`{"path":"data/../a.txt"}`, readOutput{Text: "hello", Size: 5}},
		{`{"path":"a.txt","offset":1,"limit":2}`, readOutput{Text: "el", Size: 5, Next: 3}},
		{`{"path":"a.txt","offset":5}`, readOutput{Size: 5}},
		{`{"path":"a.txt","offset":9223372036854775807}`, readOutput{Size: 5}},
		{`{"path":"empty"}`, readOutput{}},
		{`{"path":"binary","encoding":"base64"}`, readOutput{Text: base64.StdEncoding.EncodeToString([]byte("\x00\xff\xfe")), Size: 3}},
	} {
		if diff := cmp.Diff(test.want, result[readOutput](t, tools, "read_file", test.input)); diff != "" {
			t.Errorf("%s: %s", test.input, diff)
		}
	}
	wantCode(t, tools, "read_file", `{"path":"binary"}`, "not_text")
	wantCode(t, tools, "read_file", `{"path":"data"}`, "is_a_folder")
	wantCode(t, tools, "read_file", `{"path":""}`, "invalid_input")
	wantCode(t, tools, "read_file", `{"path":"nope"}`, "not_found")
	for _, input := range []string{`{"path":"a.txt","limit":262145}`, `{"path":"a.txt","limit":-1}`, `{"path":"a.txt","offset":-1}`, `{"path":"a.txt","encoding":"utf16"}`} {
		wantCode(t, tools, "read_file", input, "invalid_input")
	}

	// A long file comes in pieces that cut no character.
	long := strings.Repeat("ä漢😀x", 60_000)
	if err := os.WriteFile(filepath.Join(dir, "long"), []byte(long), 0o644); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for offset, n := int64(0), 0; ; n++ {
		out := result[readOutput](t, tools, "read_file", fmt.Sprintf(`{"path":"long","offset":%d}`, offset))
		got.WriteString(out.Text)
		if out.Next == 0 {
			break
		}
		if out.Next <= offset || n > 10 {
			t.Fatalf("next is %d after %d", out.Next, offset)
		}
		offset = out.Next
	}
	if got.String() != long {
		t.Errorf("%d bytes came back as %d", len(long), got.Len())
	}
}

// A limit smaller than one character must not look like the end of the file.
func TestReadFileTinyLimit(t *testing.T) {
	tools, dir := shared(t)
	if err := os.WriteFile(filepath.Join(dir, "kanji"), []byte("漢字"), 0o644); err != nil {
		t.Fatal(err)
	}
	wantCode(t, tools, "read_file", `{"path":"kanji","limit":2}`, "not_text")
}

func TestFilesStayInside(t *testing.T) {
	tools, dir := shared(t)
	for name, target := range map[string]string{
		"link-out": "../secret/key", "link-abs": filepath.Join(filepath.Dir(dir), "secret/key"), "dir-out": "../secret",
		"link-in": "a.txt", "loop": "loop", "data/up": "../../secret/key",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if got := result[readOutput](t, tools, "read_file", `{"path":"link-in"}`); got.Text != "hello" {
		t.Errorf("a link that stays inside gives %+v", got)
	}
	for _, path := range []string{
		"../secret/key", "../shared-too/key", "data/../../secret/key", "/etc/passwd", filepath.Join(filepath.Dir(dir), "secret/key"),
		"link-out", "link-abs", "dir-out/key", "data/up", "./../secret/key", "..", "a/../../../../../../etc/passwd",
	} {
		for _, tool := range []string{"read_file", "list_files"} {
			out, err := callTool(t, tools, tool, pathInput(path))
			var te *host.ToolError
			if !errors.As(err, &te) {
				t.Errorf("%s %s gives %s, %v", tool, path, out, err)
				continue
			}
			if strings.Contains(te.Message, dir) || !filepath.IsAbs(path) && strings.Contains(te.Message, os.TempDir()) {
				t.Errorf("%s %s: the message names a folder of the machine: %s", tool, path, te.Message)
			}
		}
	}
	wantCode(t, tools, "read_file", pathInput("link-out"), "outside")
	wantCode(t, tools, "read_file", pathInput("../secret/key"), "outside")
	wantCode(t, tools, "read_file", pathInput("loop"), "not_readable")
	wantCode(t, tools, "read_file", pathInput("a\x00b"), "not_readable")

	// The listing shows links and does not follow them.
	for _, f := range result[listOutput](t, tools, "list_files", `{"recursive":true}`).Files {
		if strings.HasPrefix(f.Path, "dir-out/") || strings.HasPrefix(f.Path, "..") {
			t.Errorf("the listing leads out: %s", f.Path)
		}
		if strings.HasPrefix(filepath.Base(f.Path), "link") && f.Type != "link" {
			t.Errorf("%s is a %s", f.Path, f.Type)
		}
	}
}

func TestListFiles(t *testing.T) {
	tools, dir := shared(t)
	when := time.Date(2024, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, name := range []string{"a.txt", "data/b.csv", "data/deep/c.csv", "empty", "binary"} {
		if err := os.Chtimes(filepath.Join(dir, name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	file := func(path string, size int64) listedFile {
		return listedFile{Path: path, Type: "file", Size: size, Modified: "2024-02-03T04:05:06Z"}
	}
	folder := func(path string) listedFile { return listedFile{Path: path, Type: "folder"} }
	for _, test := range []struct {
		input string
		want  []listedFile
	}{
		{`{}`, []listedFile{file("a.txt", 5), file("binary", 3), folder("data"), file("empty", 0)}},
		{`{"path":"data"}`, []listedFile{file("data/b.csv", 8), folder("data/deep")}},
		{`{"path":"data/"}`, []listedFile{file("data/b.csv", 8), folder("data/deep")}},
		{`{"pattern":"*.csv","recursive":true}`, []listedFile{file("data/b.csv", 8), file("data/deep/c.csv", 2)}},
		{`{"pattern":"*.nope"}`, []listedFile{}},
	} {
		got := result[listOutput](t, tools, "list_files", test.input)
		if diff := cmp.Diff(listOutput{Files: test.want}, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", test.input, diff)
		}
	}
	wantCode(t, tools, "list_files", `{"path":"a.txt"}`, "not_a_folder")
	wantCode(t, tools, "list_files", `{"path":"nope"}`, "not_found")
	wantCode(t, tools, "list_files", `{"pattern":"[a"}`, "invalid_input")
}

func TestListFilesIsBounded(t *testing.T) {
	tools, dir := shared(t)
	if err := os.Mkdir(filepath.Join(dir, "many"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range maxListed + 5 {
		if err := os.WriteFile(filepath.Join(dir, "many", fmt.Sprintf("%05d", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := result[listOutput](t, tools, "list_files", `{"path":"many"}`)
	if len(got.Files) != maxListed || !got.Truncated || got.Files[maxListed-1].Path != fmt.Sprintf("many/%05d", maxListed-1) {
		t.Errorf("%d files, truncated %v", len(got.Files), got.Truncated)
	}
	deep := filepath.Join(dir, "deep") + strings.Repeat("/d", maxListDepth+3)
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := result[listOutput](t, tools, "list_files", `{"path":"deep","recursive":true}`); !got.Truncated || len(got.Files) > maxListDepth+2 {
		t.Errorf("%d files, truncated %v", len(got.Files), got.Truncated)
	}
}
