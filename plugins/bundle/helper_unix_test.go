//go:build unix

package bundle

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A credential helper is a program named docker-credential-NAME. This one keeps what it is given in a file.
const credentialHelper = `#!/bin/sh
case "$1" in
store) cat > "$KEPT" ;;
get) cat > /dev/null; if [ -f "$KEPT" ]; then cat "$KEPT"; else echo "credentials not found in native keychain"; exit 1; fi ;;
erase) rm -f "$KEPT" ;;
esac
`

func TestCredentialHelper(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept")
	if err := os.WriteFile(filepath.Join(dir, "docker-credential-test"), []byte(credentialHelper), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("KEPT", kept)
	file := filepath.Join(dir, "config.json")
	if err := os.WriteFile(file, []byte(`{"credsStore":"test"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := DockerCredentials(&DockerOptions{ConfigFile: file})
	if err != nil {
		t.Fatal(err)
	}
	host := serve(t, guarded(registries[0].open(t)))
	r := &Remote{Credentials: c, retries: never{}}
	if err := r.Login(ctx, host, "user", "secret"); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"ServerURL":%q,"Username":"user","Secret":"secret"}`, host)
	if b, err := os.ReadFile(kept); err != nil || string(b) != want {
		t.Errorf("kept %s, %v; want %s", b, err, want)
	}
	if _, err := r.Push(ctx, host+"/acme/hello:1", signed(t)); err != nil {
		t.Fatal(err)
	}
	if err := r.Logout(ctx, host); err != nil {
		t.Fatal(err)
	}
	_, err = r.Pull(ctx, host+"/acme/hello:1")
	wantError(t, err, ErrAuth, "log in")

	// A helper that is not installed is an error that names it, not access as nobody.
	if err := os.WriteFile(file, []byte(`{"credsStore":"absent"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if r.Credentials, err = DockerCredentials(&DockerOptions{ConfigFile: file}); err != nil {
		t.Fatal(err)
	}
	_, err = r.Pull(ctx, host+"/acme/hello:1")
	wantError(t, err, ErrAuth, "docker-credential-absent")
}
