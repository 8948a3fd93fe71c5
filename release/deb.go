package main

import (
	"archive/tar"
	"bytes"
	"crypto/md5"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
)

// debianPaths are where Debian has the files of an archive; a name that ends in a slash
// is a folder of files. What is not listed is not installed.
var debianPaths = []struct{ from, to string }{
	{"cloister", "usr/bin/cloister"},
	{"man/man1/", "usr/share/man/man1/"},
	{"completions/cloister.bash", "usr/share/bash-completion/completions/cloister"},
	{"completions/_cloister", "usr/share/zsh/vendor-completions/_cloister"},
	{"completions/cloister.fish", "usr/share/fish/vendor_completions.d/cloister.fish"},
	{"systemd/cloister.service", "usr/lib/systemd/system/cloister.service"},
	{"cloister.json5", debianConfig},
	{"NOTICES.txt", "usr/share/doc/cloister/copyright"},
	{"install.md", "usr/share/doc/cloister/install.md"},
}

// debianConfig is the file that an update leaves as its owner changed it.
const debianConfig = "etc/cloister/cloister.json5"

const debianControl = `Package: cloister
Version: %s
Architecture: %s
Maintainer: Cloister <cloister@packages.invalid>
Installed-Size: %d
Recommends: ca-certificates
Section: utils
Priority: optional
Homepage: https://github.com/cloister-wasm/cloister
Description: run code that a language model wrote, sealed, with tools
 A model sees two tools, exec and wait, and writes programs that call the
 others: Go functions, signed WebAssembly plugins and MCP servers. They run
 in QuickJS inside WebAssembly, and each call is checked against policy,
 approvals and schemas. The JavaScript engine is part of the program.
 .
 The service cloister.service is installed and not enabled.
`

// debianVersion is the version as dpkg orders it: a pre-release comes before its
// release, and a hyphen would begin the revision of the package.
func (o *options) debianVersion() string {
	number, build, ok := strings.Cut(o.number(), "+")
	out := strings.ReplaceAll(number, "-", "~")
	if ok {
		out += "+" + strings.ReplaceAll(build, "-", ".")
	}
	return out
}

// debian makes a Debian package of an archive's files. It is written here since the
// format is two small archives inside of a third; no program runs when it is installed.
func (o *options) debian(t target, files []file) ([]byte, error) {
	installed, err := debianFiles(files)
	if err != nil {
		return nil, err
	}
	size := 0
	var sums strings.Builder
	for _, f := range installed {
		size += (len(f.data) + 1023) / 1024
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.data), f.name) // the format's own; SHA256SUMS is what is signed
	}
	control, err := debianTar([]file{
		{"control", 0o644, fmt.Appendf(nil, debianControl, o.debianVersion(), t.arch, size)},
		{"conffiles", 0o644, []byte("/" + debianConfig + "\n")},
		{"md5sums", 0o644, []byte(sums.String())},
	}, o.time)
	if err != nil {
		return nil, err
	}
	data, err := debianTar(installed, o.time)
	if err != nil {
		return nil, err
	}
	return ar([]file{{"debian-binary", 0o644, []byte("2.0\n")}, {"control.tar.gz", 0o644, control}, {"data.tar.gz", 0o644, data}}, o.time), nil
}

// debianFiles gives the files as they are installed, by name.
func debianFiles(files []file) ([]file, error) {
	var out []file
	for _, p := range debianPaths {
		found := false
		for _, f := range files {
			name, ok := p.to, f.name == p.from
			if strings.HasSuffix(p.from, "/") {
				name, ok = p.to+path.Base(f.name), strings.HasPrefix(f.name, p.from)
			}
			if !ok {
				continue
			}
			found = true
			if strings.HasPrefix(name, "usr/share/man/") {
				packed, err := compressed(func(w io.Writer) error { _, err := w.Write(f.data); return err })
				if err != nil {
					return nil, err
				}
				name, f.data = name+".gz", packed
			}
			out = append(out, file{name, f.mode, f.data})
		}
		if !found {
			return nil, fmt.Errorf("the Debian package lacks %s", p.from)
		}
	}
	return sorted(out), nil
}

// debianTar is an archive with the folders that dpkg wants before what is in them.
func debianTar(files []file, at time.Time) ([]byte, error) {
	return compressed(func(w io.Writer) error {
		t := tar.NewWriter(w)
		var made []string
		for _, f := range files {
			for _, dir := range folders(f.name) {
				if slices.Contains(made, dir) {
					continue
				}
				made = append(made, dir)
				if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755, ModTime: at, Format: tar.FormatGNU, Uname: "root", Gname: "root"}); err != nil {
					return err
				}
			}
			if err := tarFile(t, "./"+f.name, f, at); err != nil {
				return err
			}
		}
		return t.Close()
	})
}

// folders are those above a file, from the top.
func folders(name string) []string {
	out := []string{"./"}
	for i, c := range name {
		if c == '/' {
			out = append(out, "./"+name[:i+1])
		}
	}
	return out
}

// ar is the outer archive: a line of 60 characters before each member, whose length is
// made even.
func ar(files []file, at time.Time) []byte {
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for _, f := range files {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", f.name, at.Unix(), 0, 0, 0o100000|f.mode, len(f.data))
		b.Write(f.data)
		if len(f.data)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}
