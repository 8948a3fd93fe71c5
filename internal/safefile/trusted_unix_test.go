//go:build linux || darwin || freebsd || netbsd || openbsd

package safefile

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

const most = 64

// stranger is a user that is neither root nor whoever runs the tests.
const stranger = 54321

// makeFile makes a file with a mode, whatever the umask is.
func makeFile(t *testing.T, path, text string, mode fs.FileMode) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	chmod(t, path, mode)
	return path
}

func chmod(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func folder(t *testing.T, mode fs.FileMode) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "folder")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	chmod(t, dir, mode)
	return dir
}

// wrong wants a *FileError about a path, of a kind, with a command that mends it.
func wrong(t *testing.T, err, want error, path, mend string) {
	t.Helper()
	var fe *FileError
	if !errors.As(err, &fe) || !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
	if fe.Path != path || fe.Mend != mend {
		t.Errorf("got %q, mended by %q, want %q, mended by %q", fe.Path, fe.Mend, path, mend)
	}
	if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), mend) {
		t.Errorf("the text does not name %q and %q: %v", path, mend, err)
	}
}

func TestModesOfFiles(t *testing.T) {
	for _, c := range []struct {
		mode            fs.FileMode
		trusted, secret error
	}{
		{0o600, nil, nil}, {0o400, nil, nil}, {0o700, nil, nil},
		{0o644, nil, ErrReadable}, {0o640, nil, ErrReadable}, {0o604, nil, ErrReadable}, {0o611, nil, ErrReadable},
		{0o620, ErrWritable, ErrWritable}, {0o602, ErrWritable, ErrWritable}, {0o666, ErrWritable, ErrWritable},
		{0o664, ErrWritable, ErrWritable}, {0o646, ErrWritable, ErrWritable},
	} {
		path := makeFile(t, filepath.Join(t.TempDir(), "file"), "text", c.mode)
		for _, r := range []struct {
			read func(string, int64) ([]byte, error)
			want error
			mend string
		}{{ReadTrusted, c.trusted, "chmod go-w " + path}, {ReadSecret, c.secret, "chmod 600 " + path}, {ReadSecretLine, c.secret, "chmod 600 " + path}} {
			data, err := r.read(path, most)
			if r.want == nil {
				if err != nil || string(data) != "text" {
					t.Errorf("%04o: %q, %v", c.mode, data, err)
				}
				continue
			}
			if data != nil {
				t.Errorf("%04o: %q was read", c.mode, data)
			}
			wrong(t, err, r.want, path, r.mend)
		}
	}
}

func TestModesOfFolders(t *testing.T) {
	for mode, want := range map[fs.FileMode]error{
		0o700: nil, 0o755: nil, 0o777 | fs.ModeSticky: nil, 0o770 | fs.ModeSticky: nil,
		0o777: ErrWritable, 0o770: ErrWritable, 0o707: ErrWritable, 0o730: ErrWritable,
	} {
		dir := folder(t, mode)
		path := makeFile(t, filepath.Join(dir, "file"), "text", 0o600)
		data, err := ReadTrusted(path, most)
		if want == nil {
			if err != nil || string(data) != "text" {
				t.Errorf("%v: %q, %v", mode, data, err)
			}
			continue
		}
		wrong(t, err, want, dir, "chmod go-w "+dir)
	}
}

// The folder of a name without a slash is the working folder.
func TestWorkingFolder(t *testing.T) {
	dir := folder(t, 0o777)
	makeFile(t, filepath.Join(dir, "file"), "text", 0o600)
	t.Chdir(dir)
	_, err := ReadTrusted("file", most)
	wrong(t, err, ErrWritable, ".", "chmod go-w .")
	chmod(t, dir, 0o755)
	if data, err := ReadTrusted("file", most); err != nil || string(data) != "text" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := ReadTrusted("missing", most); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := ReadTrusted("none/file", most); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}

// A pipe without a writer, a socket and a device are refused at once, also behind a link.
func TestWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("pipe", link); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // the name of a socket has to be short
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for path, named := range map[string]string{
		pipe: pipe, link: pipe, filepath.Join(dir, "socket"): filepath.Join(dir, "socket"), "/dev/zero": "/dev/zero", dir: dir, dir + "/": dir + "/", "/": "/",
	} {
		for _, read := range []func(string, int64) ([]byte, error){ReadTrusted, ReadSecret} {
			data, err := read(path, most)
			if data != nil {
				t.Errorf("%s: %q was read", path, data)
			}
			wrong(t, err, ErrNotRegular, named, "")
		}
	}
}

func TestSizeIsBounded(t *testing.T) {
	path := makeFile(t, filepath.Join(t.TempDir(), "file"), strings.Repeat("x", most), 0o600)
	if data, err := ReadTrusted(path, most); err != nil || len(data) != most {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if data, err := ReadTrusted(path, most-1); !errors.Is(err, ErrTooLarge) || data != nil {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

// Links are followed where nobody else can have made them; each folder on the way counts.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	makeFile(t, filepath.Join(dir, "file"), "text", 0o600)
	for _, step := range [][2]string{{"file", "one"}, {"one", "two"}, {filepath.Join(dir, "two"), "absolute"}, {"circle", "circle"}, {"none", "dangling"}} {
		if err := os.Symlink(step[0], filepath.Join(dir, step[1])); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"one", "two", "absolute"} {
		if data, err := ReadSecret(filepath.Join(dir, name), most); err != nil || string(data) != "text" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	_, err := ReadTrusted(filepath.Join(dir, "circle"), most)
	wrong(t, err, ErrLinks, filepath.Join(dir, "circle"), "")
	if _, err := ReadTrusted(filepath.Join(dir, "dangling"), most); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("dangling: %v", err)
	}
	open := folder(t, 0o777)
	makeFile(t, filepath.Join(open, "file"), "text", 0o600)
	if err := os.Symlink(filepath.Join(open, "file"), filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	_, err = ReadTrusted(filepath.Join(dir, "out"), most)
	wrong(t, err, ErrWritable, open, "chmod go-w "+open)
	// What ".." means behind a link is the system's to say.
	inner := filepath.Join(dir, "inner")
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(inner, filepath.Join(open, "inner")); err != nil {
		t.Fatal(err)
	}
	if data, err := ReadTrusted(open+"/inner/../file", most); err != nil || string(data) != "text" {
		t.Errorf("behind a link: %q, %v", data, err)
	}
}

// What belongs to somebody else decides nothing, whatever its mode is.
func TestOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := t.TempDir()
	path := makeFile(t, filepath.Join(dir, "file"), "text", 0o600)
	give := func(path string, uid int) {
		t.Helper()
		if err := os.Lchown(path, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	give(path, stranger)
	_, err := ReadTrusted(path, most)
	wrong(t, err, ErrForeign, path, "chown 0 "+path)
	if !strings.Contains(err.Error(), "uid 54321") {
		t.Errorf("whose is it? %v", err)
	}
	give(path, 0)
	give(dir, stranger)
	_, err = ReadTrusted(path, most)
	wrong(t, err, ErrForeign, dir, "chown 0 "+dir)
	give(dir, 0)
	// In a folder such as /tmp a link of somebody else's leads to a good file.
	shared := folder(t, 0o777|fs.ModeSticky)
	link := filepath.Join(shared, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if data, err := ReadTrusted(link, most); err != nil || string(data) != "text" {
		t.Errorf("%q, %v", data, err)
	}
	give(link, stranger)
	_, err = ReadTrusted(link, most)
	wrong(t, err, ErrForeign, link, "chown -h 0 "+link)
}

// Root gives a secret to a service by its group, and to nobody else.
func TestSecretsOfRoot(t *testing.T) {
	for _, c := range []struct {
		mode          uint32
		owner, reader int
		want          bool
	}{
		{0o640, 0, 1000, true}, {0o440, 0, 1000, true}, {0o644, 0, 1000, false}, {0o660, 0, 1000, false}, {0o650, 0, 1000, false},
		{0o640, 0, 0, false}, {0o600, 0, 0, true}, {0o640, 1000, 1000, false}, {0o600, 1000, 1000, true},
	} {
		if got := c.mode&secretBits(c.owner, c.reader) == 0; got != c.want {
			t.Errorf("%04o of %d for %d: %v", c.mode, c.owner, c.reader, got)
		}
	}
}

// A name that another process keeps exchanging is never read as what it must not be, and
// nothing waits for a pipe.
func TestExchangedNames(t *testing.T) {
	dir := t.TempDir()
	names := map[string]func(path string){
		"good":  func(path string) { makeFile(t, path, "good", 0o600) },
		"open":  func(path string) { makeFile(t, path, "evil", 0o666) },
		"other": func(path string) { makeFile(t, path, "evil", 0o600); _ = os.Chown(path, stranger, stranger) },
		"pipe":  func(path string) { _ = unix.Mkfifo(path, 0o600) },
		"link":  func(path string) { _ = os.Symlink("/dev/zero", path) },
	}
	if os.Geteuid() != 0 {
		delete(names, "other") // nobody else can give it away
	}
	path := filepath.Join(dir, "file")
	names["good"](path)
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	for name, plant := range names {
		swapping.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				spare := filepath.Join(dir, name)
				plant(spare)
				if err := os.Rename(spare, path); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	read := 0
	for range 3000 {
		data, err := ReadTrusted(path, most)
		var fe *FileError
		switch {
		case err == nil && string(data) == "good":
			read++
		case err == nil:
			t.Errorf("%q was read", data)
		case !errors.As(err, &fe):
			t.Errorf("got %v", err)
		}
	}
	close(stop)
	swapping.Wait()
	t.Logf("read %d of 3000 times", read)
}

func TestForShell(t *testing.T) {
	for path, want := range map[string]string{
		"/a/b.json": "/a/b.json", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "-rf": "'./-rf'", "$(x)": "'$(x)'", "ä": "'ä'", "~": "'~'",
	} {
		if got := forShell(path); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}
