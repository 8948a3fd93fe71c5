package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cloister-wasm/cloister/plugins/trust"
)

// openTerminal opens a terminal: what is written to keys is what a person types.
func openTerminal(t *testing.T) (keys, screen *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keys.Close() })
	if err := unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	return keys, screen
}

// signedFile is acme.p0 in a file.
func signedFile(t *testing.T, dir string, wasm, private []byte) string {
	t.Helper()
	key, err := trust.LoadKey(private, nil)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "p0.cloister")
	if err := signed(t, wasm, key, 0).WriteFile(file); err != nil {
		t.Fatal(err)
	}
	return file
}

// At a terminal a person is asked, and only yes is yes.
func TestConsentAtATerminal(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CLOISTER_DATA_DIR", filepath.Join(dir, "data"))
	t.Setenv("CLOISTER_TRUST", filepath.Join(dir, "trust.json"))
	wasm, err := os.ReadFile(testModule(t))
	if err != nil {
		t.Fatal(err)
	}
	private, public, err := trust.GenerateKey("", nil)
	if err != nil {
		t.Fatal(err)
	}
	file := signedFile(t, dir, wasm, private)
	if err := os.WriteFile(filepath.Join(dir, "acme.pub"), public, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := cloister(t, "trust", "add", "acme", "--key", filepath.Join(dir, "acme.pub"), "--id", "acme.", "--tool", "*"); code != exitOK {
		t.Fatal(stderr)
	}
	keys, screen := openTerminal(t)
	for _, test := range []struct {
		answer string
		code   int
	}{{"\n", exitFailed}, {"n\n", exitFailed}, {"yess\n", exitFailed}, {"\x04", exitUsage}, {" Y \n", exitOK}} {
		if _, err := keys.WriteString(test.answer); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		a := &app{stdin: screen, stdout: plainStream(&out), stderr: terminal(&errs, 80, false)}
		code := a.main(t.Context(), []string{"plugin", "install", file})
		if code != test.code || !strings.Contains(errs.String(), "install acme.p0 1.0.0? [y/N] ") {
			t.Errorf("%q: exit code %d, want %d\n%s%s", test.answer, code, test.code, out.String(), errs.String())
		}
		if _, stdout, _ := cloister(t, "plugin", "list"); strings.Contains(stdout, "acme.p0  1.0.0  enabled") != (test.code == exitOK) {
			t.Errorf("%q: then installed is\n%s", test.answer, stdout)
		}
	}
}
