package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every command that help shows has a page, which a real man reads without a warning.
func TestManual(t *testing.T) {
	root := (&app{stdin: os.Stdin, stdout: newStream(os.Stdout), stderr: newStream(os.Stderr)}).root()
	dir := t.TempDir()
	if err := writeManual(root, dir); err != nil {
		t.Fatal(err)
	}
	pages := 0
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		pages++
		text, err := os.ReadFile(filepath.Join(dir, manName(cmd)+".1"))
		if err != nil {
			t.Error(err)
		}
		for _, want := range []string{".TH \"", ".SH NAME\n", ".SH SYNOPSIS\n", ".SH DESCRIPTION\n", "\\fB\\-\\-help\\fR"} {
			if !bytes.Contains(text, []byte(want)) {
				t.Errorf("the page of %s lacks %q", cmd.CommandPath(), want)
			}
		}
		for _, c := range shownCommands(cmd) {
			check(c)
		}
	}
	check(root)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != pages || pages < 50 {
		t.Fatalf("%d files for %d commands: %v", len(files), pages, err)
	}
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("groff is not here: the pages are not read")
	}
	// One run for all: groff starts slowly.
	out, err := exec.Command("groff", append([]string{"-man", "-Tutf8", "-ww", "-z"}, files...)...).CombinedOutput()
	if err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// Text that means something to roff is shown, not obeyed.
func TestRoffEscapes(t *testing.T) {
	var b strings.Builder
	roffText(&b, ".so /etc/passwd\n'br \\fBbold --x")
	if want := ".PP\n\\&.so /etc/passwd\n\\(aqbr \\(rsfBbold \\-\\-x\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
