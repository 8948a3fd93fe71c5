package quickjs

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Where the system refuses executable memory, loading says so. It must not take the
// process down, which serves more than cells. The setting cannot be taken back, so a
// process of its own has it.
func TestNoExecutableMemory(t *testing.T) {
	const child = "CLOISTER_TEST_NO_EXECUTABLE_MEMORY"
	if os.Getenv(child) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestNoExecutableMemory$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Logf("%s", out)
		return
	}
	const setMDWE, refuseExecGain = 65, 1 // of linux/prctl.h, since 6.3
	if err := unix.Prctl(setMDWE, refuseExecGain, 0, 0, 0); err != nil {
		t.Skipf("this kernel cannot refuse it: %v", err)
	}
	for _, dir := range []string{"off", filepath.Join(t.TempDir(), "cache")} {
		_, err := Load(context.Background(), &EngineOptions{CacheDir: dir})
		if !errors.Is(err, ErrNoExecutableMemory) || !errors.Is(err, ErrEngineUnavailable) {
			t.Errorf("CacheDir %s: %v", dir, err)
		}
	}
}
