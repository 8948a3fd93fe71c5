package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The service's unit is read by systemd itself, without a complaint. The program that it
// starts is this test's: the installed one is not here.
func TestUnit(t *testing.T) {
	unit := read(t, filepath.Join(repository(t), "release", "files", "cloister.service"))
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	started := []byte("ExecStart=/usr/bin/cloister serve ")
	if !bytes.Contains(unit, started) {
		t.Fatalf("the unit lacks %s", started)
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not here: the unit is not read")
	}
	path := put(t, filepath.Join(t.TempDir(), "cloister.service"), bytes.Replace(unit, started, []byte("ExecStart="+program+" serve "), 1))
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// checkService starts the program as the unit does, in folders of the test, and ends it
// as systemd does.
func checkService(t *testing.T, program string) {
	home := t.TempDir()
	cmd := exec.Command(program, "serve", "--config", filepath.Join(repository(t), "release", "files", "cloister.json5"), "--http", "127.0.0.1:0")
	cmd.Env = []string{"HOME=" + home, "CLOISTER_DATA_DIR=" + filepath.Join(home, "data"), "CLOISTER_CACHE_DIR=" + filepath.Join(home, "cache"),
		"CLOISTER_TRUST=" + filepath.Join(home, "trust.json")}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	serving := false
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		log.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "serving MCP") {
			serving = true
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil || !serving {
		t.Errorf("serving: %v, %v\n%s", serving, err, log.String())
	}
	if _, err := os.Stat(filepath.Join(home, "data", "serve", "client-token")); err != nil {
		t.Errorf("docs/install.md names this file: %v", err)
	}
}
