package bundle

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// tarWith writes headers as they are, then the layout.
func tarWith(t testing.TB, headers ...*tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	for _, h := range headers {
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write(bytes.Repeat([]byte("x"), int(h.Size))); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Flush(); err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), tarOf(t, signed(t, "one").layout())...)
}

func TestTarKinds(t *testing.T) {
	blob := "blobs/sha256/" + strings.Repeat("a", 64)
	tests := []struct {
		name string
		h    tar.Header
		text string
	}{
		{"symlink", tar.Header{Typeflag: tar.TypeSymlink, Name: blob, Linkname: "/etc/passwd"}, "is a link"},
		{"symlink for the index", tar.Header{Typeflag: tar.TypeSymlink, Name: "index.json", Linkname: "oci-layout"}, "is a link"},
		{"hard link", tar.Header{Typeflag: tar.TypeLink, Name: blob, Linkname: "index.json"}, "is a link"},
		{"device", tar.Header{Typeflag: tar.TypeChar, Name: blob, Devmajor: 1, Devminor: 3}, "is of the kind"},
		{"block device", tar.Header{Typeflag: tar.TypeBlock, Name: blob, Devmajor: 1, Devminor: 3}, "is of the kind"},
		{"pipe", tar.Header{Typeflag: tar.TypeFifo, Name: blob}, "is of the kind"},
		{"contiguous file", tar.Header{Typeflag: tar.TypeCont, Name: blob}, "is of the kind"},
		{"vendor's kind", tar.Header{Typeflag: 'A', Name: blob}, "is of the kind"},
		{"other directory", tar.Header{Typeflag: tar.TypeDir, Name: "evil/"}, "is of the kind"},
		{"directory above", tar.Header{Typeflag: tar.TypeDir, Name: "../"}, "is of the kind"},
		{"current directory", tar.Header{Typeflag: tar.TypeDir, Name: "./"}, "is of the kind"},
		{"directory for the index", tar.Header{Typeflag: tar.TypeDir, Name: "index.json/"}, "is of the kind"},
		{"GNU", tar.Header{Typeflag: tar.TypeReg, Name: "oci-layout", Format: tar.FormatGNU}, "--format=ustar"},
		{"global header", tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"path": "index.json"}}, "extended header"},
		{"global times", tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"mtime": "1"}}, "is of the kind"},
		{"long name", tar.Header{Typeflag: tar.TypeReg, Name: "oci-layout", PAXRecords: map[string]string{"comment": "x"}}, "extended header"},
		{"vendor's record", tar.Header{Typeflag: tar.TypeReg, Name: "oci-layout", PAXRecords: map[string]string{"SCHILY.xattr.user.x": "x"}}, "extended header"},
		{"name in a pax record", tar.Header{Typeflag: tar.TypeReg, Name: "blobs/" + strings.Repeat("a", 300)}, "extended header"},
		{"name beyond ASCII", tar.Header{Typeflag: tar.TypeReg, Name: "índex.json"}, "extended header"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadTar(bytes.NewReader(tarWith(t, &tt.h)))
			wantError(t, err, ErrFormat, tt.text)
		})
	}
}

// Extended headers that change what a file is, as no writer of the standard library makes them.
func TestTarExtendedHeaders(t *testing.T) {
	for name, records := range map[string]string{
		"size":          record("size", "3"),
		"path":          record("path", "index.json"),
		"linkpath":      record("linkpath", "/etc/passwd"),
		"sparse 0.1":    record("GNU.sparse.numblocks", "1") + record("GNU.sparse.map", "0,1") + record("GNU.sparse.size", "1099511627776"),
		"sparse 1.0":    record("GNU.sparse.major", "1") + record("GNU.sparse.minor", "0") + record("GNU.sparse.realsize", "1099511627776"),
		"charset":       record("hdrcharset", "BINARY"),
		"twice":         record("mtime", "1") + record("path", "x"),
		"of no length":  "0 path=x\n",
		"longer":        "99 mtime=1\n",
		"without value": "7 mtime",
	} {
		t.Run(name, func(t *testing.T) {
			x := header("x", int64(len(records)))
			x[156] = 'x'
			sum(x)
			body := make([]byte, 512)
			copy(body, records)
			b := append(x, body...)
			b = append(b, header("oci-layout", 4)...)
			b = append(b, append([]byte("0\n{}"), make([]byte, 508)...)...)
			a, err := ReadTar(bytes.NewReader(append(b, tarOf(t, signed(t).layout())...)))
			if a != nil {
				t.Fatal("it was read")
			}
			wantError(t, err, ErrFormat, "")
		})
	}
}

// record is one line of an extended header; its length counts itself.
func record(key, value string) string {
	n := len(key) + len(value) + 3
	for n != len(fmt.Sprintf("%d %s=%s\n", n, key, value)) {
		n++
	}
	return fmt.Sprintf("%d %s=%s\n", n, key, value)
}

// Directories of a layout, and times in extended headers, are what other tools write.
func TestTarTolerates(t *testing.T) {
	b := tarWith(t,
		&tar.Header{Typeflag: tar.TypeDir, Name: "blobs/", Mode: 0o755},
		&tar.Header{Typeflag: tar.TypeDir, Name: "blobs/sha256/", Mode: 0o755, PAXRecords: map[string]string{"mtime": "1.5"}})
	a, err := ReadTar(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	same(t, a, signed(t, "one"))

	_, err = ReadTar(bytes.NewReader(tarWith(t,
		&tar.Header{Typeflag: tar.TypeDir, Name: "blobs/"}, &tar.Header{Typeflag: tar.TypeDir, Name: "blobs/"})))
	wantError(t, err, ErrFormat, "twice")
}

// Wherever a tar is cut, it is no tar.
func TestTarTruncated(t *testing.T) {
	b := tarOf(t, signed(t, "one").layout())
	for n := 0; n < len(b); n += 64 {
		a, err := ReadTar(bytes.NewReader(b[:n]))
		if a != nil {
			t.Fatalf("cut at %d of %d it was read", n, len(b))
		}
		wantError(t, err, ErrFormat, "")
	}
	for _, n := range []int{1, 511, 512, 513} {
		_, err := ReadTar(bytes.NewReader(b[:len(b)-n]))
		wantError(t, err, ErrFormat, "")
	}
}

func TestTarTrailing(t *testing.T) {
	b := tarOf(t, signed(t).layout())
	for name, tail := range map[string][]byte{
		"a byte":         {1},
		"another tar":    b,
		"after zeros":    append(make([]byte, 600), 'x'),
		"one more zero":  {0},
		"a whole record": make([]byte, 10240),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadTar(bytes.NewReader(append(bytes.Clone(b), tail...)))
			wantError(t, err, ErrFormat, "after the end")
		})
	}
	compressed := []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00")
	_, err := ReadTar(bytes.NewReader(append(compressed, make([]byte, 2000)...)))
	wantError(t, err, ErrFormat, "not compressed")
}

// Declared sizes decide nothing: a header that promises much is refused before its bytes are read.
func TestTarHugeSizes(t *testing.T) {
	for _, tt := range []struct {
		name string
		size int64
	}{{"index.json", MaxIndexBytes + 1}, {"oci-layout", 1 << 32}, {"blobs/sha256/" + strings.Repeat("a", 64), MaxWasmBytes + 1}, {"index.json", 1<<33 - 1}} {
		h := header(tt.name, tt.size)
		r := &readCounter{r: io.MultiReader(bytes.NewReader(h), zeros{})}
		_, err := ReadTar(r)
		wantError(t, err, ErrBounds, "bytes, more than")
		if r.n > 64<<10 {
			t.Errorf("%s: %d bytes were read", tt.name, r.n)
		}
	}
	// Sizes beyond what ustar can say: another format, whether huge or negative.
	for _, c := range []byte{0x7f, 0xff} {
		h := header("index.json", 1)
		copy(h[124:136], bytes.Repeat([]byte{0xff}, 12))
		h[124], h[125] = 0x80|c, c
		sum(h)
		_, err := ReadTar(bytes.NewReader(append(h, make([]byte, 2048)...)))
		wantError(t, err, ErrFormat, "")
	}
	_, err := ReadTar(bytes.NewReader(tarWith(t, &tar.Header{Typeflag: tar.TypeReg, Name: "index.json",
		PAXRecords: map[string]string{"comment": "x"}, Format: tar.FormatPAX})))
	wantError(t, err, ErrFormat, "extended header")
}

// Each file is within its bound, but together they are not.
func TestTarTotal(t *testing.T) {
	blob := make([]byte, maxTotalBytes/2+1)
	f := blobFile(blob)
	b := append(header(f.name, int64(len(blob))), blob...)
	b = append(b, make([]byte, 512-len(blob)%512)...)
	b = append(b, header("blobs/sha256/"+strings.Repeat("a", 64), int64(len(blob)))...)
	_, err := ReadTar(bytes.NewReader(b))
	wantError(t, err, ErrBounds, "together")
}

// An endless tar ends.
func TestTarEndless(t *testing.T) {
	_, err := ReadTar(io.MultiReader(bytes.NewReader(tarOf(t, signed(t).layout())), zeros{}))
	wantError(t, err, ErrFormat, "after the end")

	// Extended headers without a file: each may be large, and nothing counts them but the bytes.
	x := header("x", 512)
	x[156] = 'x'
	record := "512 comment=" + strings.Repeat("c", 499) + "\n"
	sum(x)
	one := append(x, record...)
	_, err = ReadTar(&repeater{b: one})
	wantError(t, err, ErrBounds, "the tar has more than")
}

func TestTarReaderFails(t *testing.T) {
	b := tarOf(t, signed(t).layout())
	bad := errors.New("bad sector")
	for _, n := range []int{0, 100, 600, len(b) - 600} {
		_, err := ReadTar(io.MultiReader(bytes.NewReader(b[:n]), iotest.ErrReader(bad)))
		wantError(t, err, ErrFiles, "bad sector")
		if !errors.Is(err, bad) {
			t.Errorf("%v is not the reader's error", err)
		}
	}
}

// header is a bare ustar header of a regular file.
func header(name string, size int64) []byte {
	h := make([]byte, 512)
	copy(h, name)
	copy(h[100:], "0000644\x000000000\x000000000\x00")
	copy(h[124:], fmt.Sprintf("%011o\x00", size))
	copy(h[136:], "00000000000\x00")
	h[156] = '0'
	copy(h[257:], "ustar\x0000")
	sum(h)
	return h
}

// sum sets the checksum of a header.
func sum(h []byte) {
	copy(h[148:156], "        ")
	n := 0
	for _, c := range h {
		n += int(c)
	}
	for i := range 6 {
		h[153-i] = byte('0' + n>>(3*i)&7)
	}
	h[154], h[155] = 0, ' '
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type repeater struct {
	b []byte
	i int
}

func (r *repeater) Read(p []byte) (int, error) {
	n := copy(p, r.b[r.i:])
	r.i = (r.i + n) % len(r.b)
	return n, nil
}

type readCounter struct {
	r io.Reader
	n int
}

func (c *readCounter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}
