package bundle

import (
	"strings"
	"testing"
)

func TestParseReference(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for _, tt := range []struct {
		text string
		want Reference
	}{
		{"ghcr.io/acme/hello:1.0.0", Reference{"ghcr.io", "acme/hello", "1.0.0", ""}},
		{"ghcr.io/acme/hello@" + digest, Reference{"ghcr.io", "acme/hello", "", digest}},
		{"ghcr.io/acme/hello:1.0.0@" + digest, Reference{"ghcr.io", "acme/hello", "1.0.0", digest}},
		{"localhost:5000/a:b", Reference{"localhost:5000", "a", "b", ""}},
		{"localhost/a:b", Reference{"localhost", "a", "b", ""}},
		{"127.0.0.1:5000/a/b/c:_x", Reference{"127.0.0.1:5000", "a/b/c", "_x", ""}},
		{"[::1]:5000/a:b", Reference{"[::1]:5000", "a", "b", ""}},
		{"docker.io/acme/x__y.z-w:1", Reference{"docker.io", "acme/x__y.z-w", "1", ""}},
	} {
		got, err := ParseReference(tt.text)
		if err != nil || got != tt.want || got.String() != tt.text {
			t.Errorf("%s: %+v, %v", tt.text, got, err)
		}
	}
}

func TestParseReferenceRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                           "names no registry",
		"hello":                                      "names no registry; write REGISTRY/REPOSITORY:VERSION",
		"hello:1.0.0":                                "names no registry",
		"acme/hello:1.0.0":                           "names no registry",
		"oci://ghcr.io/acme/hello:1":                 "write it without: ghcr.io/acme/hello:1",
		"https://ghcr.io/acme/hello":                 "write it without",
		"ghcr.io/acme/hello":                         "says no version; write ghcr.io/acme/hello:VERSION or ghcr.io/acme/hello@sha256:DIGEST",
		"ghcr.io/acme/hello:":                        "has the tag",
		"ghcr.io/acme/hello:1.0.0+build":             "write 1.0.0_build",
		"ghcr.io/acme/hello:a b":                     "has the tag",
		"ghcr.io/acme/hello:-x":                      "has the tag",
		"ghcr.io/Acme/Hello:1":                       "write acme/hello",
		"ghcr.io/acme//hello:1":                      "has the repository",
		"ghcr.io/../x:1":                             "has the repository",
		"ghcr.io/a/../../v2/x:1":                     "has the repository",
		"ghcr.io/:1":                                 "has the repository",
		"ghcr.io/a?x=y:1":                            "has the repository",
		"ghcr.io/a%2f..:1":                           "has the repository",
		"ghcr.io/acme/hello@sha256:00":               "no digest after the @",
		"ghcr.io/acme/hello@sha512:00":               "no digest after the @",
		"ghcr.io/acme/hello@":                        "no digest after the @",
		"user:pw@ghcr.io/acme/hello:1":               "no digest after the @",
		"ghcr.io:x/acme/hello:1":                     "in the place of a registry",
		":5000/acme:1":                               "in the place of a registry",
		"gh cr.io/acme:1":                            "in the place of a registry",
		"a.b%20c/acme:1":                             "in the place of a registry",
		"a.b\\c/acme:1":                              "in the place of a registry",
		"a.b#c/acme:1":                               "in the place of a registry",
		"ghcr.io/" + strings.Repeat("a", 600) + ":1": "longer than",
		"ghcr.io/" + strings.Repeat("a", 256) + ":1": "has the repository",
		"ghcr.io/a:" + strings.Repeat("a", 129):      "has the tag",
		"ghcr.io/a\n:1":                              "has the repository",
	} {
		_, err := ParseReference(text)
		wantError(t, err, ErrReference, want)
	}
}

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "localhost:5000": true, "LOCALHOST": true, "localhost.": true, "127.0.0.1:80": true, "127.9.9.9": true,
		"[::1]:5000": true, "[::1]": true, "[::ffff:127.0.0.1]": true,
		"localhost.example": false, "127.0.0.1.example": false, "128.0.0.1": false, "0.0.0.0": false, "[::2]": false, "10.0.0.1": false,
		"ghcr.io": false, "": false, "notlocalhost": false, "2130706433": false,
	} {
		if got := isLoopback(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}

func TestRemoteWantsReferences(t *testing.T) {
	r := anonymous()
	_, err := r.Pull(t.Context(), "hello")
	wantError(t, err, ErrReference, "names no registry")
	_, err = r.Resolve(t.Context(), "hello")
	wantError(t, err, ErrReference, "names no registry")
	_, err = r.Push(t.Context(), "hello", signed(t))
	wantError(t, err, ErrReference, "names no registry")
}
