package bundle

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"
)

// stalls answers one kind of request with a beginning, and then with nothing, or with a byte now and then.
func stalls(h *hostile, kind string, drip bool) {
	h.override = func(w http.ResponseWriter, r *http.Request) bool {
		if k, _ := pathEnd(r); k != kind {
			return false
		}
		w.Header().Set("Content-Type", map[string]string{"manifests": typeOCIManifest, "referrers": typeOCIIndex}[kind])
		if kind == "manifests" {
			w.Header().Set("Content-Length", "2008") // without it the client asks for that first
		}
		w.WriteHeader(200)
		for {
			if drip {
				if _, err := w.Write([]byte(" ")); err != nil {
					return true
				}
			}
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return true
			case <-time.After(2 * time.Millisecond):
			}
		}
	}
}

// A registry that stops in the middle of a body is left after the idle time, whoever holds the context for how long.
func TestStalledBody(t *testing.T) {
	for _, kind := range []string{"manifests", "blobs", "referrers"} {
		for _, r := range []*Remote{anonymous(), knowing(nil)} {
			h := &hostile{a: signed(t, "good1-")}
			stalls(h, kind, false)
			r.IdleTimeout = 30 * time.Millisecond
			_, err := r.Pull(t.Context(), serve(t, h)+"/acme/hello:1")
			wantError(t, err, ErrRegistry, "nothing moved for 30ms; try again")
			if !errors.Is(err, ErrSlow) || errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", kind, err)
			}
		}
	}
}

// One that sends a byte before each idle time is over is left after the total time.
func TestDrippingBody(t *testing.T) {
	for _, kind := range []string{"manifests", "blobs", "referrers"} {
		h := &hostile{a: signed(t, "one")}
		stalls(h, kind, true)
		r := anonymous()
		r.IdleTimeout, r.Timeout = time.Minute, 100*time.Millisecond
		_, err := r.Pull(t.Context(), serve(t, h)+"/acme/hello:1")
		wantError(t, err, ErrRegistry, "it took more than 100ms in all; try again")
		if !errors.Is(err, ErrSlow) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// The caller's own end stays what it is.
func TestSlowAndTheCallersEnd(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	h := &hostile{a: signed(t, "one")}
	stalls(h, "blobs", true)
	_, err := anonymous().Pull(ctx, serve(t, h)+"/acme/hello:1")
	wantError(t, err, ErrRegistry, "")
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrSlow) {
		t.Errorf("got %v", err)
	}
}

// A head that never comes, and an upload that nobody takes.
func TestSilentRegistry(t *testing.T) {
	host := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	r := anonymous()
	r.IdleTimeout = 30 * time.Millisecond
	_, err := r.Resolve(t.Context(), host+"/acme/hello:1")
	wantError(t, err, ErrRegistry, "")
	if !errors.Is(err, ErrSlow) {
		t.Errorf("got %v", err)
	}
}

func TestUploadThatNobodyTakes(t *testing.T) {
	release := make(chan struct{})
	host := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodHead:
			http.NotFound(w, r)
		case http.MethodPost:
			w.Header().Set("Location", r.URL.Path+"1")
			w.WriteHeader(http.StatusAccepted)
		default:
			if r.ContentLength > 1<<20 {
				<-release // and reads nothing
			}
			w.WriteHeader(http.StatusCreated)
		}
	}))
	t.Cleanup(func() { close(release) })
	f := testFiles()
	f.Wasm = make([]byte, 16<<20) // more than sockets hold
	r := anonymous()
	r.IdleTimeout = 100 * time.Millisecond
	_, err := r.Push(t.Context(), host+"/acme/hello:1", mustBuild(t, f))
	wantError(t, err, ErrRegistry, "")
	if !errors.Is(err, ErrSlow) {
		t.Errorf("got %v", err)
	}
}

// Time that our own side takes between two pieces is not the registry's.
func TestReaderMayTakeItsTime(t *testing.T) {
	host := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { send(w, "x", make([]byte, 8<<10)) }))
	g := newGuard(host, true, nil)
	g.idle = time.Hour
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/v2/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := g.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, 1<<10)); err != nil {
		t.Fatal(err)
	}
	if resp.Body.(*answerBody).w.timer.Stop() {
		t.Error("the wait goes on while nobody reads")
	}
	if b, err := io.ReadAll(resp.Body); err != nil || len(b) != 7<<10 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}
