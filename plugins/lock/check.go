package lock

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/internal/catalog"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// The forms of a plugin's id and version are those of the manifest's schema.
var (
	idForm      = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*\.[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	versionForm = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)
	hashForm    = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// checker collects mistakes, up to a bound.
type checker struct {
	problems []Problem
	more     bool
}

func (c *checker) add(path, format string, args ...any) {
	if len(c.problems) >= maxProblems {
		c.more = true
		return
	}
	c.problems = append(c.problems, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

// err is a *FileError, or nil where nothing is wrong.
func (c *checker) err() error {
	if len(c.problems) == 0 {
		return nil
	}
	return &FileError{Problems: c.problems, More: c.more}
}

func (c *checker) plugin(id string, p Plugin) {
	at := "/plugins/" + pointer(id)
	if len(id) > maxID || !idForm.MatchString(id) {
		c.add(at, "is not the id of a plugin, publisher.name")
	}
	if len(p.Version) > maxVersion || !versionForm.MatchString(p.Version) {
		c.add(at+"/version", "is not a semantic version")
	}
	c.hash(at+"/digest", p.Digest)
	c.text(at+"/publisher", p.Publisher, maxPublisher)
	c.text(at+"/signer", p.Signer, maxSigner)
}

func (c *checker) tool(id string, t Tool) {
	at := "/tools/" + pointer(id)
	parts := strings.SplitN(id, ":", 3)
	if len(parts) != 3 {
		c.add(at, "is not the id of a tool, source:owner:name")
	} else if _, err := catalog.ID(parts[0], parts[1], parts[2]); err != nil {
		c.add(at, "is not the id of a tool: %v", err)
	}
	c.hash(at+"/hash", t.Hash)
	c.hash(at+"/parametersHash", t.ParametersHash)
	if t.ReturnsHash != "" {
		c.hash(at+"/returnsHash", t.ReturnsHash)
	}
	switch {
	case !utf8.ValidString(t.Description):
		c.add(at+"/description", "is not valid UTF-8")
	case len(t.Description) > MaxDescriptionBytes+len(cutMark):
		c.add(at+"/description", "has %d bytes, more than %d", len(t.Description), MaxDescriptionBytes)
	}
	if !utf8.ValidString(t.Title) || len(t.Title) > MaxTitleBytes {
		c.add(at+"/title", "is not valid UTF-8 of at most %d bytes", MaxTitleBytes)
	}
	switch t.Approval {
	case "", "never", "ask", "always":
	default:
		c.add(at+"/approval", "is not one of never, ask and always")
	}
	if t.Annotations == nil && (t.Title != "" || t.Approval != "") {
		c.add(at+"/annotations", "is missing beside title or approval; those of a tool without hints are {}")
	}
}

func (c *checker) hash(path, s string) {
	if !hashForm.MatchString(s) {
		c.add(path, "is not \"sha256:\" and 64 hexadecimal digits")
	}
}

// text checks a name: not empty, bounded, nothing that a reader cannot see.
func (c *checker) text(path, s string, most int) {
	switch {
	case s == "":
		c.add(path, "is missing")
	case len(s) > most:
		c.add(path, "has %d bytes, more than %d", len(s), most)
	case !plaintext.Plain(s):
		c.add(path, "holds characters that cannot be seen")
	}
}

// pointer escapes a name for a JSON pointer, RFC 6901 section 3.
func pointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
