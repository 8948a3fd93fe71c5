package codemode

import (
	"regexp"
	"strings"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/dispatch"
	"github.com/cloister-wasm/cloister/internal/guestloop"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// failure is what a nested call failed with, as the guest got it.
type failure struct {
	guestabi.Thrown
	tool string // its id; empty where several tools failed alike
	path string // the namespace's function that was called, if it was one
}

// maxFailures bounds the failures that are remembered.
const maxFailures = 64

func (d *diagnosis) noteFailure(got *guestloop.Delivery) {
	t := got.Failure
	tool, path := "", ""
	if c, ok := got.Data.(*dispatch.Call); ok {
		tool, path = c.Names()
	}
	if f := d.failureOf(t); f != nil {
		if f.tool != tool || f.path != path {
			f.tool, f.path = "", ""
		}
		return
	}
	if len(d.failures) < maxFailures {
		d.failures = append(d.failures, failure{guestabi.Thrown{Name: t.Name, Message: t.Message, Code: t.Code}, tool, path})
	}
}

// failureOf gives the nested failure that the guest threw again, nil if it was none.
func (d *diagnosis) failureOf(t *guestabi.Thrown) *failure {
	for i := range d.failures {
		if f := &d.failures[i]; f.Name == t.Name && f.Message == t.Message && f.Code == t.Code {
			return f
		}
	}
	return nil
}

// name adds to the error of a nested failure which tool it was, and where it was called. A failure has no
// stack trace, which would cost every call; its place is known where the program names the tool once.
func (d *diagnosis) name(e *runError, f *failure) {
	if f.tool == "" {
		return
	}
	if id := plaintext.Clip(f.tool, dispatch.MaxShownID); !strings.Contains(e.message, id) {
		e.message += " (from " + id + ")"
	}
	if e.line != 0 {
		return
	}
	if at := d.onlyMention(f); at >= 0 {
		e.line, e.column = placeOf(d.source, at)
	}
}

// onlyMention finds the one place of the source where a tool is called, -1 if there is none or more.
func (d *diagnosis) onlyMention(f *failure) int {
	forms := []string{`["'` + "`" + `]` + regexp.QuoteMeta(f.tool) + `["'` + "`" + `]`}
	if f.path != "" {
		forms = append(forms, `\b`+regexp.QuoteMeta(f.path)+`\b`)
	} else if e, ok := d.run.view.Catalog.Lookup(f.tool); ok {
		if _, short := d.run.view.Catalog.Convenience()[e.Name]; short {
			forms = append(forms, `\btools\s*(?:\.\s*`+regexp.QuoteMeta(e.Name)+`\b|\[\s*["']`+regexp.QuoteMeta(e.Name)+`["']\s*\])`)
		}
	}
	found, err := regexp.Compile(strings.Join(forms, "|"))
	if err != nil {
		return -1
	}
	all := found.FindAllStringIndex(d.source, 2)
	if len(all) != 1 {
		return -1
	}
	return all[0][0]
}
