package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// dripping is a registry on loopback that never comes to the end of an answer, and who
// installs a plugin from it: other processes of the same user, over the same data folder
// that the serving process follows.
type dripping struct {
	server  *http.Server
	address string
	cmd     func(ctx context.Context, args ...string) *exec.Cmd
}

// newDripping starts the registry, and makes a trust policy, without which nothing is
// asked of a registry.
func newDripping(ctx context.Context, s *serving, dir string) (*dripping, error) {
	trust, key := filepath.Join(dir, "trust.json"), filepath.Join(dir, "drip.key")
	d := &dripping{cmd: func(ctx context.Context, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, s.cmd.Path, args...)
		cmd.Env = append(append([]string{}, s.cmd.Env...), "CLOISTER_TRUST="+trust)
		return cmd
	}}
	for _, args := range [][]string{
		{"plugin", "keygen", "--no-password", "--out", key},
		{"trust", "add", "drip", "--key", strings.TrimSuffix(key, ".key") + ".pub", "--id", "drip.", "--tool", "drip_"},
	} {
		if out, err := d.cmd(ctx, args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("cloister %s: %w\n%s", args[0], err, out)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d.address = l.Addr().String()
	d.server = &http.Server{Handler: http.HandlerFunc(drip), ReadHeaderTimeout: 10 * time.Second}
	// How it ends is no matter: it is closed.
	go func() { _ = d.server.Serve(l) }()
	return d, nil
}

// drip answers with a manifest, one byte at a time.
func drip(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
	w.Header().Set("Content-Length", "100000")
	for r.Context().Err() == nil {
		if _, err := w.Write([]byte{' '}); err != nil || http.NewResponseController(w).Flush() != nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// install has a plugin installed from the registry until ctx ends. It says whether the
// command still waited then; else its own bounds have ended it.
func (d *dripping) install(ctx context.Context) (waited bool) {
	// It ends as ctx does, or as its own bounds say.
	_ = d.cmd(ctx, "plugin", "install", d.address+"/drip/drip:1.0.0", "--yes").Run()
	return ctx.Err() != nil
}

func (d *dripping) close() error { return d.server.Close() }
