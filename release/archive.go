package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// file is a file of an archive. Its name has slashes.
type file struct {
	name string
	mode fs.FileMode
	data []byte
}

// sorted gives the files by name: the same files make the same archive.
func sorted(files []file) []file {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files
}

// tarGz packs files below a folder. Owner, time and order are those of no machine.
func tarGz(folder string, files []file, at time.Time) ([]byte, error) {
	return compressed(func(w io.Writer) error {
		t := tar.NewWriter(w)
		for _, f := range sorted(files) {
			if err := tarFile(t, folder+"/"+f.name, f, at); err != nil {
				return err
			}
		}
		return t.Close()
	})
}

func tarFile(t *tar.Writer, name string, f file, at time.Time) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: at, Format: tar.FormatGNU, Uname: "root", Gname: "root"}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := t.Write(f.data)
	return err
}

// compressed gives what write writes, as gzip without name and time.
func compressed(write func(io.Writer) error) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := write(z); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// zipped is tarGz for Windows.
func zipped(folder string, files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, f := range sorted(files) {
		h := &zip.FileHeader{Name: folder + "/" + f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode)
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
