package bundle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// Pages of signatures that never end do.
func TestHostileReferrerPages(t *testing.T) {
	h := &hostile{a: signed(t)}
	h.override = func(w http.ResponseWriter, r *http.Request) bool {
		if kind, _ := pathEnd(r); kind != "referrers" {
			return false
		}
		w.Header().Set("Link", fmt.Sprintf(`<%s?n=%d>; rel="next"`, r.URL.Path, h.requests.Load()))
		send(w, typeOCIIndex, []byte(`{"schemaVersion":2,"manifests":[]}`))
		return true
	}
	_, err := anonymous().Pull(t.Context(), serve(t, h)+"/acme/hello:1")
	wantError(t, err, ErrBounds, "listing signatures")
	if n := h.requests.Load(); n > maxReferrerPages+10 {
		t.Errorf("%d requests", n)
	}
}

// A page on another host is not fetched.
func TestHostileReferrerLink(t *testing.T) {
	other := &hostile{a: signed(t)}
	elsewhere := serve(t, other)
	h := &hostile{a: signed(t)}
	h.override = func(w http.ResponseWriter, r *http.Request) bool {
		if kind, _ := pathEnd(r); kind != "referrers" {
			return false
		}
		w.Header().Set("Link", `<http://`+elsewhere+`/v2/x>; rel="next"`)
		send(w, typeOCIIndex, []byte(`{"schemaVersion":2,"manifests":[]}`))
		return true
	}
	_, err := anonymous().Pull(t.Context(), serve(t, h)+"/acme/hello:1")
	wantError(t, err, ErrRegistry, "listing signatures")
	if n := other.requests.Load(); n != 0 {
		t.Errorf("%d requests to another host", n)
	}
}

// A signature that is listed many times is fetched once.
func TestHostileDoubles(t *testing.T) {
	h := &hostile{a: signed(t, "one")}
	h.override = func(w http.ResponseWriter, r *http.Request) bool {
		if kind, _ := pathEnd(r); kind != "referrers" {
			return false
		}
		d := describe(typeOCIManifest, h.a.referrer(h.a.signatures[0]))
		d.ArtifactType = SignatureType
		send(w, typeOCIIndex, h.index(d, d, d, d))
		return true
	}
	got, err := anonymous().Pull(t.Context(), serve(t, h)+"/acme/hello:1")
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, h.a)
	if n := h.requests.Load(); n != 9 { // manifest, config, four layers, list, signature's manifest, signature
		t.Errorf("%d requests", n)
	}
}

// A body that drips forever lasts as long as the context.
func TestHostileDrip(t *testing.T) {
	for _, kind := range []string{"manifests", "blobs", "referrers"} {
		t.Run(kind, func(t *testing.T) {
			h := &hostile{a: signed(t, "one")}
			dripping, gone := make(chan struct{}), make(chan struct{})
			var begun, ended sync.Once
			h.override = func(w http.ResponseWriter, r *http.Request) bool {
				if k, _ := pathEnd(r); k != kind {
					return false
				}
				w.Header().Set("Content-Type", map[string]string{"manifests": typeOCIManifest, "referrers": typeOCIIndex}[kind])
				if kind == "manifests" {
					w.Header().Set("Content-Length", "1000") // without it the client asks for that first
				}
				w.WriteHeader(200)
				w.(http.Flusher).Flush()
				begun.Do(func() { close(dripping) })
				<-r.Context().Done()
				ended.Do(func() { close(gone) }) // blobs are asked for side by side
				return true
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { <-dripping; cancel() }()
			_, err := anonymous().Pull(ctx, serve(t, h)+"/acme/hello:1")
			wantError(t, err, ErrRegistry, "")
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v is not context.Canceled", err)
			}
			<-gone
		})
	}
}

// The tag that stands for the list of signatures is as hostile as the list.
func TestHostileFallbackTag(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(w http.ResponseWriter)
		kind   error
	}{
		"large":         {func(w http.ResponseWriter) { send(w, typeOCIIndex, make([]byte, MaxIndexBytes+1)) }, ErrBounds},
		"declared huge": {func(w http.ResponseWriter) { beginIndex(w, "1099511627776") }, ErrBounds},
		"no JSON":       {func(w http.ResponseWriter) { send(w, typeOCIIndex, []byte("{")) }, ErrRegistry},
		"lost":          {func(w http.ResponseWriter) { http.Error(w, "boom", 500) }, ErrRegistry},
		"forbidden":     {func(w http.ResponseWriter) { http.Error(w, "boom", http.StatusForbidden) }, ErrAuth},
	} {
		t.Run(name, func(t *testing.T) {
			h := &hostile{a: signed(t, "one")}
			h.override = func(w http.ResponseWriter, r *http.Request) bool {
				kind, name := pathEnd(r)
				switch {
				case kind == "referrers":
					http.NotFound(w, r)
				case name == strings.Replace(h.a.Digest(), ":", "-", 1):
					tt.answer(w)
				default:
					return false
				}
				return true
			}
			_, err := anonymous().Pull(t.Context(), serve(t, h)+"/acme/hello:1")
			wantError(t, err, tt.kind, "")
		})
	}
}

// beginIndex begins an index and does not go on.
func beginIndex(w http.ResponseWriter, length string) {
	w.Header().Set("Content-Length", length)
	w.Header().Set("Content-Type", typeOCIIndex)
	w.Header().Set("Docker-Content-Digest", digestOf(nil))
	w.WriteHeader(200)
}
