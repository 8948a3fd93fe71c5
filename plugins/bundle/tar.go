package bundle

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"regexp"
)

const (
	tarBlock = 512
	// maxTarBytes bounds a tar: the files, each with a header, perhaps one with times before it, and padding.
	maxTarBytes = maxTotalBytes + (maxBlobs+4)*4*tarBlock + 2*tarBlock
)

// ReadTar reads a bundle from a .cloister file: an uncompressed tar of an OCI image layout. It reads to the end of r, or
// to the first thing that is wrong: a name that is no part of a layout, links and devices, a file that is there twice, a
// size over its bound, bytes that do not match their digest, padding that is not zeros, a missing end, anything after the end,
// an index or a signature that is written in another form than its own.
func ReadTar(r io.Reader) (*Artifact, error) {
	in := &countedReader{r: r, left: maxTarBytes}
	f, err := readTar(in)
	if err != nil {
		return nil, err
	}
	return f.artifact()
}

// checksumForm is how a header's checksum is written: the library reads others too, and the sum is not over itself.
var checksumForm = regexp.MustCompile(`^[0-7]{6}\x00 $`)

const checksumAt = 148

// countedReader counts, ends with ErrBounds, and hides every method but Read, so that nothing is skipped by seeking.
type countedReader struct {
	r    io.Reader
	n    int64
	left int64
	err  error // what r failed with, for the difference between a bad disk and a bad file

	padding int64  // so many of the next bytes have to be zeros
	dirty   bool   // one was not
	head    []byte // what came after them, up to a block: a header
}

// next says how much padding there is before the next header.
func (c *countedReader) next(padding int64) { c.padding, c.head = padding, c.head[:0] }

// look takes note of the bytes between two files, which the library passes over.
func (c *countedReader) look(p []byte) {
	zeros := min(c.padding, int64(len(p)))
	c.padding -= zeros
	c.dirty = c.dirty || len(bytes.Trim(p[:zeros], "\x00")) > 0
	c.head = append(c.head, p[zeros:min(int64(len(p)), zeros+int64(tarBlock-len(c.head)))]...)
}

func (c *countedReader) Read(p []byte) (int, error) {
	if c.left <= 0 {
		c.err = fail(ErrBounds, "the tar has more than %d bytes", int64(maxTarBytes))
		return 0, c.err
	}
	if int64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.r.Read(p)
	c.n += int64(n)
	c.left -= int64(n)
	c.look(p[:n])
	if err != nil && err != io.EOF {
		var e *Error
		if !errors.As(err, &e) {
			err = fail(ErrFiles, "reading the tar: %v", err)
		}
		c.err = err
	}
	return n, err
}

func readTar(in *countedReader) (*files, error) {
	f := &files{}
	tr := tar.NewReader(in)
	dirs := map[string]bool{}
	var padding int64 // between the end of the last file and the next block
	for {
		before := in.n
		in.next(padding)
		h, err := tr.Next()
		if in.dirty {
			return nil, fail(ErrFormat, "the tar's padding behind a file is not zeros: it was damaged; fetch it again")
		}
		if err == io.EOF {
			if in.n-before != padding+2*tarBlock {
				return nil, fail(ErrFormat, "the tar ends before its end: it was cut off; fetch it again")
			}
			return f, tarTail(in)
		}
		if err != nil {
			return nil, tarError(in, err)
		}
		if !checksumForm.Match(in.head[checksumAt : checksumAt+8]) {
			return nil, fail(ErrFormat, "the checksum in a header of the tar is not six octal digits, a zero and a blank: it was damaged; fetch it again")
		}
		if err := checkHeader(h); err != nil {
			return nil, err
		}
		padding = (tarBlock - h.Size%tarBlock) % tarBlock
		if h.Typeflag == tar.TypeDir {
			if dirs[h.Name] {
				return nil, fail(ErrFormat, "the directory %q is there twice", h.Name)
			}
			dirs[h.Name] = true
			continue
		}
		if err := readEntry(f, tr, h, in); err != nil {
			return nil, err
		}
	}
}

func readEntry(f *files, tr *tar.Reader, h *tar.Header, in *countedReader) error {
	if err := f.admit(h.Name, h.Size); err != nil {
		return err
	}
	b, err := readBounded(tr, h.Size, "file "+h.Name)
	if err != nil {
		return tarError(in, err)
	}
	if int64(len(b)) != h.Size {
		return fail(ErrFormat, "the tar ends inside of %q: it was cut off; fetch it again", h.Name)
	}
	return f.put(h.Name, b)
}

// checkHeader lets regular files pass, and the two directories of a layout. Extended headers may hold times and owners,
// nothing that changes what a file is: two readers could see two files.
func checkHeader(h *tar.Header) error {
	if h.Format != tar.FormatUSTAR && h.Format != tar.FormatPAX {
		return fail(ErrFormat, "the tar is in the %v format; ustar and pax are read: pack it with tar --format=ustar", h.Format)
	}
	for key := range h.PAXRecords {
		switch key {
		case "mtime", "atime", "ctime", "uid", "gid", "uname", "gname":
		default:
			return fail(ErrFormat, "the tar has an extended header %q, which changes more than times and owners: pack it with tar --format=ustar", key)
		}
	}
	switch {
	case h.Linkname != "":
		return fail(ErrFormat, "%q is a link to %q; a plugin has none", h.Name, h.Linkname)
	case h.Typeflag == tar.TypeReg && h.Size >= 0:
		return nil
	case h.Typeflag == tar.TypeDir && h.Size == 0 && (h.Name == dirBlobs+"/" || h.Name == dirSHA256+"/"):
		return nil
	default:
		return fail(ErrFormat, "%q is of the kind %q; a plugin has only files, and the directories blobs/ and blobs/sha256/", h.Name, h.Typeflag)
	}
}

// tarTail wants nothing after the end, which is two blocks of zeros. Other tools fill a record up with more of them.
func tarTail(in *countedReader) error {
	rest, err := io.ReadAll(io.LimitReader(in, 1))
	if err != nil {
		return tarError(in, err)
	}
	if len(rest) > 0 {
		return fail(ErrFormat, "there is something after the end of the tar, which is two blocks of zeros: fetch it again, or pack it with "+
			"tar --format=ustar --blocking-factor=1")
	}
	return nil
}

// tarError tells a reader that failed from a tar that is wrong.
func tarError(in *countedReader, err error) error {
	var e *Error
	switch {
	case in.err != nil:
		return in.err
	case errors.As(err, &e):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fail(ErrFormat, "the tar ends before its end: it was cut off; fetch it again")
	default:
		return fail(ErrFormat, "this is no tar that can be read (a .cloister file is not compressed): %v", err)
	}
}
