package lint

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	modules "golang.org/x/mod/module"
)

// tracked gives the files of the repository: those that git knows and those that are
// about to be added.
func tracked(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("git", "-C", root(t), "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	var names []string
	dirs := map[string]bool{}
	for _, name := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		file := filepath.Join(root(t), name)
		if dir := filepath.Dir(file); !dirs[dir] {
			dirs[dir] = true
			// What a command lists is no input that the cache of go test knows; what os lists is.
			if _, err := os.ReadDir(dir); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
		if _, err := os.Lstat(file); err == nil { // not about to be removed
			names = append(names, name)
		}
	}
	if len(names) < 1000 {
		t.Fatalf("git lists %d files", len(names))
	}
	return names
}

// maxSeeds is how many files the corpus of a fuzz target may have. More of them say
// nothing more to a reader; what the fuzzing engine finds belongs into a table with what
// is wanted of it, and seeds that code can make into f.Add.
const maxSeeds = 5

// TestFuzzCorpora wants a corpus for every fuzz target, and no large one.
func TestFuzzCorpora(t *testing.T) {
	seeds := map[string]int{}
	for _, name := range tracked(t) {
		if dir := path.Dir(name); path.Base(path.Dir(dir)) == "fuzz" && strings.Contains(name, "testdata/fuzz/") {
			seeds[dir]++
		}
	}
	target := regexp.MustCompile(`(?m)^func (Fuzz[A-Z]\w*)\(`)
	goFiles(t, func(file string) {
		if !strings.HasSuffix(file, "_test.go") {
			return
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			return
		}
		dir, err := filepath.Rel(root(t), filepath.Dir(file))
		if err != nil {
			t.Error(err)
			return
		}
		for _, m := range target.FindAllStringSubmatch(string(b), -1) {
			corpus := path.Join(filepath.ToSlash(dir), "testdata", "fuzz", m[1])
			if seeds[corpus] == 0 {
				t.Errorf("%s: %s has no corpus", file, m[1])
			}
			if seeds[corpus] > maxSeeds {
				t.Errorf("%s has %d files, more than %d", corpus, seeds[corpus], maxSeeds)
			}
			delete(seeds, corpus)
		}
	})
	for dir := range seeds {
		t.Errorf("%s is the corpus of no target", dir)
	}
}

// TestFileNames wants names that every user can have on disk: a module's archive with
// another name cannot be made, and Windows cannot check out a file called nul.
func TestFileNames(t *testing.T) {
	folded := map[string]string{}
	for _, name := range tracked(t) {
		if err := modules.CheckFilePath(name); err != nil {
			t.Error(err)
		}
		key := strings.ToLower(name)
		if other, ok := folded[key]; ok {
			t.Errorf("%s and %s are one file where case does not count", name, other)
		}
		folded[key] = name
	}
}
