package lock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/cloister-wasm/cloister/internal/schema"
)

// FileName is the usual name of the file, in the folder that a host is started in.
const FileName = "cloister.lock"

// Version is the version of the file's format that this package writes. It reads older ones, and no newer one.
const Version = 2

// versionOfTexts is the format that held no titles, no hints and no approvals. Its entries are read as they are, with nil
// Annotations, and stay so when the file is written, until somebody agrees to the tool as it is.
const versionOfTexts = 1

// Bounds of a lock file.
const (
	// MaxBytes bounds the file.
	MaxBytes = 32 << 20
	// MaxPlugins bounds the plugins in it.
	MaxPlugins = 1024
	// MaxTools bounds the tools in it.
	MaxTools = 1 << 16
	// MaxTitleBytes is the longest title that is kept; of a longer one the hash is.
	MaxTitleBytes = 1 << 10
	// MaxDescriptionBytes is how much of a tool's description is kept to be shown. The hash is of all of it.
	MaxDescriptionBytes = 16 << 10

	maxID        = 80
	maxVersion   = 64
	maxPublisher = 256
	maxSigner    = 2048
)

// File is the content of a lock file. Make an empty one with [New].
type File struct {
	// Version is [Version], whichever version the file that was read has.
	Version int `json:"version"`
	// Plugins are by plugin id.
	Plugins map[string]Plugin `json:"plugins"`
	// Tools are by their id in the catalog, "cloister:acme.hello:greet" or "mcp:github:create_issue".
	Tools map[string]Tool `json:"tools"`
}

// Plugin is one plugin that was agreed to.
type Plugin struct {
	// Version is the plugin's semantic version, for people.
	Version string `json:"version"`
	// Digest is that of the artifact, "sha256:…".
	Digest string `json:"digest"`
	// Publisher is the name in the trust policy, for people.
	Publisher string `json:"publisher"`
	// Signer says whose signature was good, as plugins.Origin has it.
	Signer string `json:"signer"`
}

// Tool is one tool that was agreed to, made by [Definition.Entry]; or a text that a model reads, made by [HashTool].
// Hashes are "sha256:" and 64 hexadecimal digits.
type Tool struct {
	// Hash is of name, description and both schemas.
	Hash string `json:"hash"`
	// Title is the title for people, "" for none; of one that is longer than [MaxTitleBytes] its hash.
	Title string `json:"title,omitempty"`
	// Description is kept so that a difference can be shown; cut off at [MaxDescriptionBytes].
	Description string `json:"description"`
	// ParametersHash is of the schema of the input.
	ParametersHash string `json:"parametersHash"`
	// ReturnsHash is of the schema of the result, "" for a tool without one.
	ReturnsHash string `json:"returnsHash,omitempty"`
	// Annotations are the author's hints. Nil: neither they nor title and approval were looked at when the entry was
	// written, or it is that of a text, which has none.
	Annotations *Hints `json:"annotations,omitempty"`
	// Approval is what a plugin's author asks for, "" where he does not, and for tools of others.
	Approval string `json:"approval,omitempty"`
}

// New makes an empty file: everything drifts from it.
func New() *File {
	return &File{Version: Version, Plugins: map[string]Plugin{}, Tools: map[string]Tool{}}
}

// Clone makes a copy that shares nothing with f.
func (f *File) Clone() *File {
	out := &File{Version: f.Version, Plugins: maps.Clone(f.Plugins), Tools: maps.Clone(f.Tools)}
	for id, t := range out.Tools {
		if t.Annotations != nil {
			hints := t.Annotations.clone()
			t.Annotations = &hints
			out.Tools[id] = t
		}
	}
	return out
}

// Parse reads the text of a lock file strictly: unknown and duplicate members, wrong forms and bounds are mistakes, and all
// of them are listed in one [*FileError]. The maps of a parsed file are never nil.
func Parse(data []byte) (*File, error) {
	if len(data) > MaxBytes {
		return nil, fault(nil, "", "%d bytes are more than %d", len(data), MaxBytes)
	}
	var head struct {
		Version json.RawMessage `json:"version"`
	}
	if err := schema.DecodeInto(data, &head, &schema.DecodeOptions{AllowUnknown: true}); err != nil {
		return nil, syntaxFault(err)
	}
	// A newer version may have members that this one does not know: say that, rather than that they are unknown.
	if n, err := strconv.ParseInt(string(head.Version), 10, 64); err == nil && n > Version {
		return nil, fault(ErrTooNew, "/version", "is %d; this Cloister knows version %d, use a newer one", n, Version)
	}
	var f File
	if err := schema.DecodeInto(data, &f, &schema.DecodeOptions{Checked: true}); err != nil {
		return nil, syntaxFault(err)
	}
	if err := f.upgrade(); err != nil {
		return nil, err
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	return &f, nil
}

// Marshal writes the file's text: members and maps sorted, two spaces of indentation, one line end at the end. The same
// content gives the same bytes. Content that [Parse] would refuse is a [*FileError].
func (f *File) Marshal() ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(f); err != nil {
		return nil, fault(err, "", "%v", err)
	}
	if b.Len() > MaxBytes {
		return nil, fault(nil, "", "%d bytes are more than %d", b.Len(), MaxBytes)
	}
	return b.Bytes(), nil
}

// upgrade makes a file of version 1 one of this version. Nothing is added to it: what it did not hold is not agreed to.
func (f *File) upgrade() error {
	if f.Version != versionOfTexts {
		return nil
	}
	var c checker
	for _, id := range slices.Sorted(maps.Keys(f.Tools)) {
		if t := f.Tools[id]; t.Title != "" || t.Annotations != nil || t.Approval != "" {
			c.add("/tools/"+pointer(id), "has title, annotations or approval, which version %d does not know", versionOfTexts)
		}
	}
	f.Version = Version
	return c.err()
}

// Incomplete lists the tools whose title and hints nobody agreed to, since version 1 wrote their entries; sorted. It
// leaves out texts, which have none, and plugins that are locked by their digest.
func (f *File) Incomplete() []string {
	var list []string
	for id, t := range f.Tools {
		if t.Annotations == nil && TextOf(id) == "" && !f.covers(id) {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

func fault(cause error, path, format string, args ...any) error {
	return &FileError{Problems: []Problem{{Path: path, Message: fmt.Sprintf(format, args...)}}, cause: cause}
}

func syntaxFault(err error) error {
	var de *schema.DecodeError
	if !errors.As(err, &de) {
		return fault(err, "", "%v", err)
	}
	message := de.Detail
	if de.Offset >= 0 {
		message += fmt.Sprintf(" (byte %d)", de.Offset)
	}
	return fault(err, de.Path, "%s", message)
}

// check lists what is wrong with the content.
func (f *File) check() error {
	var c checker
	if f.Version != Version {
		c.add("/version", "is %d, not %d", f.Version, Version)
	}
	if f.Plugins == nil {
		c.add("/plugins", "is missing; an empty list is {}")
	}
	if f.Tools == nil {
		c.add("/tools", "is missing; an empty list is {}")
	}
	if n := len(f.Plugins); n > MaxPlugins {
		c.add("/plugins", "%d plugins are more than %d", n, MaxPlugins)
	}
	if n := len(f.Tools); n > MaxTools {
		c.add("/tools", "%d tools are more than %d", n, MaxTools)
	}
	if len(c.problems) == 0 { // the lists are bounded: sort them
		for _, id := range slices.Sorted(maps.Keys(f.Plugins)) {
			c.plugin(id, f.Plugins[id])
		}
		for _, id := range slices.Sorted(maps.Keys(f.Tools)) {
			c.tool(id, f.Tools[id])
		}
	}
	return c.err()
}
