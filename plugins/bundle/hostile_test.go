package bundle

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// never is a retry policy for tests.
type never struct{}

func (never) Retry(int, *http.Response, error) (time.Duration, error) { return -1, nil }

// hostile is a registry that answers a pull of one artifact truly, except where a test says otherwise.
type hostile struct {
	a        *Artifact
	override func(w http.ResponseWriter, r *http.Request) bool // true: it has answered
	requests atomic.Int64

	mu   sync.Mutex
	seen []*http.Request
}

func (h *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.requests.Add(1)
	h.mu.Lock()
	h.seen = append(h.seen, r)
	h.mu.Unlock()
	if h.override != nil && h.override(w, r) {
		return
	}
	kind, name := pathEnd(r)
	switch {
	case kind == "manifests" && (name == "1" || name == h.a.Digest()):
		send(w, typeOCIManifest, h.a.raw)
	case kind == "referrers":
		send(w, typeOCIIndex, h.index())
	case kind == "manifests":
		for _, s := range h.a.signatures {
			if m := h.a.referrer(s); digestOf(m) == name {
				send(w, typeOCIManifest, m)
				return
			}
		}
		http.NotFound(w, r)
	case kind == "blobs":
		for _, s := range append(h.a.Signatures(), emptyConfig) {
			if digestOf(s) == name {
				send(w, "application/octet-stream", s)
				return
			}
		}
		if b, ok := h.a.blobs[name]; ok {
			send(w, "application/octet-stream", b)
			return
		}
		http.NotFound(w, r)
	default:
		http.NotFound(w, r)
	}
}

// index lists the signatures.
func (h *hostile) index(more ...descriptor) []byte {
	index := ociIndex{SchemaVersion: 2, MediaType: typeOCIIndex, Manifests: more}
	for _, s := range h.a.signatures {
		d := describe(typeOCIManifest, h.a.referrer(s))
		d.ArtifactType = SignatureType
		index.Manifests = append(index.Manifests, d)
	}
	return encode(index)
}

func pathEnd(r *http.Request) (kind, name string) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) < 2 {
		return "", ""
	}
	return parts[len(parts)-2], parts[len(parts)-1]
}

func send(w http.ResponseWriter, mediaType string, b []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", fmt.Sprint(len(b)))
	_, _ = w.Write(b) // the client may have gone, which is its right
}

func TestHostileRegistryTellsTheTruth(t *testing.T) {
	h := &hostile{a: signed(t, "one", "two")}
	got, err := anonymous().Pull(t.Context(), serve(t, h)+"/acme/hello:1")
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, h.a)
}

func TestHostileRegistry(t *testing.T) {
	at := func(kind string, answer func(h *hostile, w http.ResponseWriter, name string) bool) func(h *hostile) {
		return func(h *hostile) {
			h.override = func(w http.ResponseWriter, r *http.Request) bool {
				k, name := pathEnd(r)
				return k == kind && answer(h, w, name)
			}
		}
	}
	tagged := func(answer func(h *hostile, w http.ResponseWriter)) func(h *hostile) {
		return at("manifests", func(h *hostile, w http.ResponseWriter, name string) bool {
			if name == "1" {
				answer(h, w)
			}
			return name == "1"
		})
	}
	referrers := func(list func(h *hostile) []byte) func(h *hostile) {
		return at("referrers", func(h *hostile, w http.ResponseWriter, _ string) bool {
			send(w, typeOCIIndex, list(h))
			return true
		})
	}
	isWasm := func(h *hostile, name string) bool { return name == h.a.manifest.Layers[1].Digest }
	tests := []struct {
		name string
		make func(h *hostile)
		kind error
		text string
	}{
		{"an index instead of a plugin", tagged(func(h *hostile, w http.ResponseWriter) { send(w, typeOCIIndex, h.index()) }), ErrFormat, "not a plugin"},
		{"a Docker manifest", tagged(func(h *hostile, w http.ResponseWriter) {
			send(w, "application/vnd.docker.distribution.manifest.v2+json", h.a.raw)
		}), ErrFormat, "not a plugin"},
		{"an image", tagged(func(h *hostile, w http.ResponseWriter) {
			send(w, typeOCIManifest, []byte(strings.Replace(string(h.a.raw), ArtifactType, "application/x", 1)))
		}), ErrFormat, "this is not a plugin"},
		{"HTML", tagged(func(h *hostile, w http.ResponseWriter) { send(w, "text/html", []byte("<p>Log in")) }), ErrFormat, "text/html"},
		{"no type", tagged(func(h *hostile, w http.ResponseWriter) { send(w, "", h.a.raw) }), ErrRegistry, ""},
		{"large manifest", tagged(func(h *hostile, w http.ResponseWriter) {
			send(w, typeOCIManifest, make([]byte, MaxOCIManifestBytes+1))
		}), ErrBounds, "more than 65536"},
		{"manifest declared huge", tagged(func(h *hostile, w http.ResponseWriter) {
			w.Header().Set("Docker-Content-Digest", h.a.Digest())
			w.Header().Set("Content-Length", "9223372036854775807")
			w.Header().Set("Content-Type", typeOCIManifest)
			w.WriteHeader(200)
		}), ErrBounds, "more than 65536"},
		{"wrong digest in the header", tagged(func(h *hostile, w http.ResponseWriter) {
			w.Header().Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
			send(w, typeOCIManifest, h.a.raw)
		}), ErrDigest, "instead of sha256:000"},
		{"wrong wasm", at("blobs", func(h *hostile, w http.ResponseWriter, name string) bool {
			if isWasm(h, name) {
				send(w, "application/wasm", make([]byte, 2008))
			}
			return isWasm(h, name)
		}), ErrDigest, "the wasm has the digest"},
		{"longer wasm", at("blobs", func(h *hostile, w http.ResponseWriter, name string) bool {
			if isWasm(h, name) {
				w.WriteHeader(200)
				for range 100 {
					_, _ = w.Write(make([]byte, 4096)) // chunked: no length; the client may have gone
				}
			}
			return isWasm(h, name)
		}), ErrBounds, "the wasm has more than 2008 bytes"},
		{"shorter wasm", at("blobs", func(h *hostile, w http.ResponseWriter, name string) bool {
			if isWasm(h, name) {
				w.WriteHeader(200)
				w.(http.Flusher).Flush()
				_, _ = w.Write([]byte("short")) // the client may have gone
			}
			return isWasm(h, name)
		}), ErrDigest, "the wasm has 5 bytes"},
		{"cut off wasm", at("blobs", func(h *hostile, w http.ResponseWriter, name string) bool {
			if isWasm(h, name) {
				w.Header().Set("Content-Length", "2008")
				_, _ = w.Write([]byte("short"))
				panic(http.ErrAbortHandler)
			}
			return false
		}), ErrRegistry, "fetching the wasm"},
		{"wrong length", at("blobs", func(h *hostile, w http.ResponseWriter, name string) bool {
			if isWasm(h, name) {
				send(w, "application/wasm", make([]byte, 2009))
			}
			return isWasm(h, name)
		}), ErrRegistry, "fetching the wasm"},
		{"lost blob", at("blobs", func(h *hostile, w http.ResponseWriter, name string) bool {
			if isWasm(h, name) {
				http.Error(w, `{"errors":[{"code":"BLOB_UNKNOWN"}]}`, 404)
			}
			return isWasm(h, name)
		}), ErrNotFound, "fetching the wasm"},
		{"escapes in an error", tagged(func(h *hostile, w http.ResponseWriter) {
			http.Error(w, `{"errors":[{"code":"DENIED","message":"\u001b]0;pwned\u0007\nline","detail":"`+strings.Repeat("x", 9000)+`"}]}`, http.StatusForbidden)
		}), ErrAuth, "status 403"},
		{"server error", tagged(func(h *hostile, w http.ResponseWriter) { http.Error(w, "boom", 500) }), ErrRegistry, "status 500"},
		{"rate limit", tagged(func(h *hostile, w http.ResponseWriter) { http.Error(w, "", http.StatusTooManyRequests) }), ErrRegistry, "status 429"},

		{"signatures cannot be listed", at("referrers", func(h *hostile, w http.ResponseWriter, _ string) bool {
			http.Error(w, "boom", 500)
			return true
		}), ErrRegistry, "listing signatures"},
		{"signatures are no JSON", referrers(func(*hostile) []byte { return []byte(`{"manifests":`) }), ErrRegistry, "listing signatures"},
		{"signatures are endless", at("referrers", func(h *hostile, w http.ResponseWriter, _ string) bool {
			w.Header().Set("Content-Type", typeOCIIndex)
			_, _ = w.Write([]byte(`{"manifests":[`)) // the client goes
			for range 100 {
				if _, err := w.Write([]byte(strings.Repeat(" ", 64<<10))); err != nil {
					break
				}
			}
			return true
		}), ErrRegistry, "listing signatures"},
		{"a signature is lost", referrers(func(h *hostile) []byte {
			d := describe(typeOCIManifest, []byte("lost"))
			d.ArtifactType = SignatureType
			return h.index(d)
		}), ErrNotFound, "signature"},
		{"a signature's manifest is declared huge", referrers(func(h *hostile) []byte {
			d := describe(typeOCIManifest, []byte("lost"))
			d.ArtifactType, d.Size = SignatureType, 1<<60
			return h.index(d)
		}), ErrBounds, "referrer has"},
		{"a signature's digest is a path", referrers(func(h *hostile) []byte {
			return h.index(descriptor{MediaType: typeOCIManifest, Digest: "sha256:../../../v2/x", Size: 2, ArtifactType: SignatureType})
		}), ErrFormat, "referrer has the digest"},
		{"a signature is an index", referrers(func(h *hostile) []byte {
			return h.index(descriptor{MediaType: typeOCIIndex, Digest: digestOf(nil), Size: 2, ArtifactType: SignatureType})
		}), ErrFormat, "referrer has the type"},
		{"too many candidates", referrers(func(h *hostile) []byte {
			var list []descriptor
			for i := range maxReferrers + 1 {
				list = append(list, describe(typeOCIManifest, []byte{byte(i)}))
			}
			return h.index(list...)
		}), ErrBounds, "may be signatures"},
		{"wrong signature manifest", at("manifests", func(h *hostile, w http.ResponseWriter, name string) bool {
			m := h.a.referrer(h.a.signatures[0])
			if name != digestOf(m) {
				return false
			}
			m[len(m)-3] ^= 1
			send(w, typeOCIManifest, m)
			return true
		}), ErrDigest, "signature's OCI manifest has the digest"},
		{"wrong signature", at("blobs", func(h *hostile, w http.ResponseWriter, name string) bool {
			s := []byte(string(h.a.signatures[0]))
			if name != digestOf(s) {
				return false
			}
			s[3] ^= 1
			send(w, "application/octet-stream", s)
			return true
		}), ErrDigest, "the signature has the digest"},
		{"signature of another artifact", func(h *hostile) {
			f := testFiles()
			f.Readme = []byte("other")
			other, err := Build(f)
			if err != nil {
				panic(err)
			}
			m := other.referrer(h.a.signatures[0])
			h.override = onlyReferrer(m)
		}, ErrFormat, "not about this plugin"},
		{"a signature's type hides another", func(h *hostile) {
			m := []byte(strings.Replace(string(h.a.referrer(h.a.signatures[0])), SignatureType, "application/x", 1))
			h.override = onlyReferrer(m)
		}, ErrFormat, "artifactType"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := &hostile{a: signed(t, "one")}
			tt.make(h)
			a, err := anonymous().Pull(t.Context(), serve(t, h)+"/acme/hello:1")
			if a != nil {
				t.Error("there is an artifact beside the error")
			}
			wantError(t, err, tt.kind, tt.text)
		})
	}
}

// onlyReferrer lists one manifest as the artifact's signature, and gives it.
func onlyReferrer(m []byte) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		kind, name := pathEnd(r)
		switch {
		case kind == "referrers":
			d := describe(typeOCIManifest, m)
			d.ArtifactType = SignatureType
			send(w, typeOCIIndex, encode(ociIndex{SchemaVersion: 2, Manifests: []descriptor{d}}))
		case name == digestOf(m):
			send(w, typeOCIManifest, m)
		default:
			return false
		}
		return true
	}
}
