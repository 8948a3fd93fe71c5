package clientconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// RecordVersion is that of the form of a [Record] as JSON.
const RecordVersion = 1

// Change is what became of one server of a file.
type Change struct {
	// Name is that in the file.
	Name string `json:"name"`
	// Before and After are its entry; nil: there was none, or is none.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// Record is what was done to a file, so that exactly that can be undone. It can hold secrets of the file.
type Record struct {
	Version int    `json:"version"`
	Client  string `json:"client"`
	File    string `json:"file"`
	// Created says that the file was made.
	Created bool `json:"created,omitempty"`
	// Depth is how many steps of the way to the list were there before.
	Depth   int      `json:"depth"`
	Changes []Change `json:"changes"`
	// Before and After are the SHA-256 of the whole texts, in hexadecimal. Backup is the file of the first.
	Before string `json:"before"`
	After  string `json:"after"`
	Backup string `json:"backup,omitempty"`
}

// Sum is the SHA-256 of a text in hexadecimal.
func Sum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Apply makes the changes of a list, whose Before is filled in, and gives the document after each that changed something.
func (d *Document) Apply(changes []Change) (steps []*Document, err error) {
	for i := range changes {
		c := &changes[i]
		c.Before = d.Server(c.Name)
		if Same(c.Before, c.After) {
			continue
		}
		if c.After == nil {
			d, err = d.Remove(c.Name)
		} else {
			d, err = d.Set(c.Name, c.After)
		}
		if err != nil {
			return nil, err
		}
		steps = append(steps, d)
	}
	return steps, nil
}

// Then joins what was done later to the same file: undoing the result undoes both.
func (r *Record) Then(next *Record) *Record {
	if r == nil {
		return next
	}
	out := *next
	out.Depth, out.Created = min(r.Depth, next.Depth), r.Created
	if r.After == next.Before {
		out.Before, out.Backup = r.Before, r.Backup
	}
	out.Changes = slices.Clone(r.Changes)
	for _, c := range next.Changes {
		i := slices.IndexFunc(out.Changes, func(old Change) bool { return old.Name == c.Name })
		switch {
		case i < 0:
			out.Changes = append(out.Changes, c)
		case Same(out.Changes[i].After, c.Before):
			out.Changes[i].After = c.After
		default: // somebody changed it in between: that is what there was
			out.Changes[i] = c
		}
	}
	return &out
}

// Undo gives the document before what was done, whatever else became of it since. It gives [ErrChanged] if somebody changed
// one of the same servers.
func (r *Record) Undo(d *Document) (steps []*Document, err error) {
	for _, c := range slices.Backward(r.Changes) {
		now := d.Server(c.Name)
		if Same(now, c.Before) {
			continue
		}
		if !Same(now, c.After) {
			return nil, fmt.Errorf("%s: %s: %w", r.File, strings.Join(append(slices.Clone(d.Path()), c.Name), "."), ErrChanged)
		}
		if c.Before == nil {
			d, err = d.Remove(c.Name)
		} else {
			d, err = d.Set(c.Name, c.Before)
		}
		if err != nil {
			return nil, err
		}
		steps = append(steps, d)
	}
	pruned, err := d.Prune(r.Depth)
	if err != nil {
		return nil, err
	}
	if pruned != d {
		steps = append(steps, pruned)
	}
	return steps, nil
}

// CommandLine gives the program of an entry and its arguments, whatever the client; nil if it starts none.
func CommandLine(entry json.RawMessage) []string {
	var e struct {
		Command json.RawMessage `json:"command"`
		Cmd     string          `json:"cmd"`
		Args    []string        `json:"args"`
	}
	if json.Unmarshal(entry, &e) != nil {
		return nil
	}
	if e.Cmd != "" {
		return append([]string{e.Cmd}, e.Args...)
	}
	var one string
	if json.Unmarshal(e.Command, &one) == nil && one != "" {
		return append([]string{one}, e.Args...)
	}
	var all []string
	if json.Unmarshal(e.Command, &all) == nil && len(all) > 0 {
		return append(all, e.Args...)
	}
	return nil
}

// IsCloister says whether an entry starts a Cloister: the given program, or another of its name.
func IsCloister(entry json.RawMessage, program string) bool {
	line := CommandLine(entry)
	if len(line) == 0 || !slices.Contains(line[1:], "serve") {
		return false
	}
	base := line[0][strings.LastIndexAny(line[0], `/\`)+1:]
	return line[0] == program || strings.TrimSuffix(strings.ToLower(base), ".exe") == Name
}

// InUse says whether an entry is a server of its own that the client uses: one that is not disabled, and no part of the client.
func InUse(entry json.RawMessage) bool {
	var e struct {
		Enabled   *bool  `json:"enabled"`
		Disabled  bool   `json:"disabled"`
		URL       string `json:"url"`
		ServerURL string `json:"serverUrl"`
		HTTPURL   string `json:"httpUrl"`
		URI       string `json:"uri"`
	}
	if json.Unmarshal(entry, &e) != nil {
		return len(CommandLine(entry)) > 0
	}
	if e.Disabled || e.Enabled != nil && !*e.Enabled {
		return false
	}
	return len(CommandLine(entry)) > 0 || e.URL+e.ServerURL+e.HTTPURL+e.URI != ""
}
