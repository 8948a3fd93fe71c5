package bundle

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Reference names a plugin in a registry: REGISTRY/REPOSITORY:TAG, REGISTRY/REPOSITORY@sha256:DIGEST, or both, of which
// the digest decides.
type Reference struct {
	// Registry is a host, with a port where it is not the usual one.
	Registry string
	// Repository is a path of lower-case names.
	Repository string
	// Tag is a name that the registry may point elsewhere tomorrow, or "".
	Tag string
	// Digest is "sha256:…", or "".
	Digest string
}

var (
	tagForm        = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
	repositoryForm = regexp.MustCompile(`^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$`)
)

const (
	maxReferenceBytes  = 512
	maxRepositoryBytes = 255
	exampleReference   = "ghcr.io/acme/hello:1.0.0"
)

// ParseReference reads a reference. There is no default registry and no default tag: what would be guessed is said. The
// error is ErrReference and says how to mend it.
func ParseReference(s string) (Reference, error) {
	var r Reference
	bad := func(format string, args ...any) (Reference, error) {
		return Reference{}, fail(ErrReference, "%q "+format, append([]any{plaintext.Line(s, maxReferenceBytes)}, args...)...)
	}
	if len(s) > maxReferenceBytes {
		return bad("is longer than %d bytes", maxReferenceBytes)
	}
	if scheme, rest, ok := strings.Cut(s, "://"); ok {
		return bad("begins with %s://; write it without: %s", scheme, rest)
	}
	name, digest, pinned := strings.Cut(s, "@")
	if pinned {
		if !isDigest(digest) {
			return bad("has no digest after the @ that is read: sha256: and 64 lower-case hexadecimal digits")
		}
		r.Digest = digest
	}
	first, rest, ok := strings.Cut(name, "/")
	if !ok || first != "localhost" && !strings.ContainsAny(first, ".:") {
		return bad("names no registry; write REGISTRY/REPOSITORY:VERSION, such as %s", exampleReference)
	}
	if !isRegistry(first) {
		return bad("has %q in the place of a registry; write a host, with a port if need be", first)
	}
	r.Registry, r.Repository = first, rest
	if i := strings.LastIndexByte(rest, ':'); i >= 0 {
		r.Repository, r.Tag = rest[:i], rest[i+1:]
		if fixed := strings.ReplaceAll(r.Tag, "+", "_"); fixed != r.Tag && tagForm.MatchString(fixed) {
			return bad("has a tag with a plus sign, which registries do not take; write %s", fixed)
		}
		if !tagForm.MatchString(r.Tag) {
			return bad("has the tag %q; a tag is of letters, digits, dots, hyphens and underscores, 128 at most", r.Tag)
		}
	}
	if lower := strings.ToLower(r.Repository); lower != r.Repository && repositoryForm.MatchString(lower) {
		return bad("has upper-case letters in the repository; write %s", lower)
	}
	if len(r.Repository) > maxRepositoryBytes || !repositoryForm.MatchString(r.Repository) {
		return bad("has the repository %q; a repository is of lower-case names with slashes between, such as acme/hello", r.Repository)
	}
	if r.Tag == "" && r.Digest == "" {
		return bad("says no version; write %s:VERSION or %s@sha256:DIGEST", name, name)
	}
	return r, nil
}

// String is the reference in its usual form.
func (r Reference) String() string {
	s := r.Registry + "/" + r.Repository
	if r.Tag != "" {
		s += ":" + r.Tag
	}
	if r.Digest != "" {
		s += "@" + r.Digest
	}
	return s
}

// isRegistry says whether a text is a host with an optional port and nothing else.
func isRegistry(s string) bool {
	u, err := url.Parse("https://" + s)
	return err == nil && u.Host == s && u.Hostname() != "" && u.User == nil && !strings.ContainsAny(s, "%\\ ")
}

// isLoopback says whether a host, with or without a port, is this machine.
func isLoopback(hostport string) bool {
	u := url.URL{Host: hostport}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
