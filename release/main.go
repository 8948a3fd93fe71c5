// Command release builds what users install without Go and without Node.js: for each
// platform a program with the JavaScript engine inside, in an archive with completions
// and manual pages, for Debian a package, for each program a bill of materials, and one
// signed list of digests over all of them. The same source and the same Go give the
// same bytes, on any machine and in any folder.
//
//	go run ./release                                # all platforms, into dist
//	go run ./release --targets linux/amd64 --out /tmp/x
//	CLOISTER_RELEASE_KEY=release.key go run ./release
//
// The version is that of --version, else the tag of the commit, else the pseudo-version
// that Go gives to the commit. The time in archives is that of SOURCE_DATE_EPOCH, else
// of the commit.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := command(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// options say what to build.
type options struct {
	root     string // of the checkout
	out      string // folder of what is built; made anew
	version  string // such as v0.2.0
	revision string // of the source; may be empty
	time     time.Time
	targets  []target
	key      string // file of the signing key; empty: unsigned
	password []byte // of the key; nil for none
}

// command runs a command line.
func command(ctx context.Context, args []string, log io.Writer) error {
	fs := flag.NewFlagSet("release", flag.ContinueOnError)
	root := fs.String("root", ".", "folder of the checkout")
	out := fs.String("out", "dist", "folder to write to; what an earlier run left there is removed")
	version := fs.String("version", "", "version such as v0.2.0 (default: tag or pseudo-version of the commit)")
	revision := fs.String("revision", "", "revision of the source (default: the commit)")
	targets := fs.String("targets", strings.Join(allTargets, ","), "platforms, separated by commas")
	if err := fs.Parse(args); err != nil {
		return err
	}
	o := &options{root: *root, out: *out, version: *version, revision: *revision, key: os.Getenv("CLOISTER_RELEASE_KEY")}
	if p := os.Getenv("CLOISTER_KEY_PASSWORD"); p != "" {
		o.password = []byte(p)
	}
	var err error
	if o.targets, err = parseTargets(*targets); err != nil {
		return err
	}
	if o.root, err = filepath.Abs(o.root); err != nil {
		return err
	}
	if err := o.source(ctx); err != nil {
		return err
	}
	return release(ctx, o, log)
}

// release builds everything.
func release(ctx context.Context, o *options, log io.Writer) error {
	key, err := loadKey(o)
	if err != nil {
		return err
	}
	if err := prepare(o.out); err != nil {
		return err
	}
	fmt.Fprintf(log, "cloister %s, revision %s\n", o.version, o.revision)
	fmt.Fprintln(log, "building for this machine: completions and manual pages")
	shared, err := sharedFiles(ctx, o)
	if err != nil {
		return err
	}
	var made []string
	for _, t := range o.targets {
		start := time.Now()
		files, err := o.target(ctx, t, shared)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		made = append(made, files...)
		fmt.Fprintf(log, "%-14s %s (%s)\n", t, strings.Join(files, " "), time.Since(start).Round(time.Second))
	}
	return o.finish(ctx, made, key, log)
}

// target builds what there is for one platform, and gives the names of the files.
func (o *options) target(ctx context.Context, t target, shared []file) ([]string, error) {
	program, path, err := o.build(ctx, t)
	if err != nil {
		return nil, err
	}
	info, err := readBuild(path)
	if err != nil {
		return nil, err
	}
	notices, err := o.notices(ctx, info)
	if err != nil {
		return nil, err
	}
	files := append([]file{{"cloister" + t.exe(), 0o755, program}, {"NOTICES.txt", 0o644, notices}}, shared...)
	base := "cloister_" + o.number() + "_" + t.os + "_" + t.arch
	archive, suffix := tarGz, ".tar.gz"
	if t.os == "windows" {
		archive, suffix = zipped, ".zip"
	}
	packed, err := archive(base, files, o.time)
	if err != nil {
		return nil, err
	}
	sbom, err := o.sbom(info, program)
	if err != nil {
		return nil, err
	}
	out := []output{{base + suffix, packed}, {base + ".cdx.json", sbom}}
	if t.os == "linux" {
		deb, err := o.debian(t, files)
		if err != nil {
			return nil, err
		}
		out = append(out, output{"cloister_" + o.debianVersion() + "_" + t.arch + ".deb", deb})
	}
	var names []string
	for _, f := range out {
		if err := os.WriteFile(filepath.Join(o.out, f.name), f.data, 0o644); err != nil {
			return nil, err
		}
		names = append(names, f.name)
	}
	return names, nil
}

// output is a file of the release.
type output struct {
	name string
	data []byte
}
