package lock_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/plugins/lock"
)

var yes, no = true, false

// tool is one of an MCP server.
func tool(change func(*lock.Definition)) lock.Tool {
	d := &lock.Definition{
		Name: "delete_all", Title: "Delete", Description: "Deletes everything.", Parameters: json.RawMessage(`{"type":"object"}`),
		Hints: lock.Hints{Destructive: &yes},
	}
	change(d)
	return d.Entry()
}

func locked(id string, t lock.Tool) *lock.File {
	f := lock.New()
	f.Tools[id] = t
	return f
}

// What an author says that a tool does decides about approvals and policies: saying less than was agreed to is drift,
// saying more is not.
func TestHintsThatGetWeaker(t *testing.T) {
	const id = "mcp:evil:delete_all"
	hints := func(readOnly, destructive, idempotent, openWorld *bool) func(*lock.Definition) {
		return func(d *lock.Definition) {
			d.Hints = lock.Hints{ReadOnly: readOnly, Destructive: destructive, Idempotent: idempotent, OpenWorld: openWorld}
		}
	}
	same := func(*lock.Definition) {}
	for name, test := range map[string]struct {
		was, now func(*lock.Definition)
		want     []lock.Difference
	}{
		"as it was":          {same, same, nil},
		"destroys no more":   {same, hints(nil, nil, nil, nil), []lock.Difference{{What: lock.WhatDestructive, Before: "true"}}},
		"says it is safe":    {same, hints(nil, &no, nil, nil), []lock.Difference{{What: lock.WhatDestructive, Before: "true", After: "false"}}},
		"only reads":         {same, hints(&yes, &yes, nil, nil), []lock.Difference{{What: lock.WhatReadOnly, After: "true"}}},
		"the attack":         {same, hints(&yes, nil, nil, nil), []lock.Difference{{What: lock.WhatReadOnly, After: "true"}, {What: lock.WhatDestructive, Before: "true"}}},
		"idempotent appears": {same, hints(nil, &yes, &yes, nil), []lock.Difference{{What: lock.WhatIdempotent, After: "true"}}},
		"closed world":       {same, hints(nil, &yes, nil, &no), []lock.Difference{{What: lock.WhatOpenWorld, After: "false"}}},
		"unsaid to safe":     {hints(nil, nil, nil, nil), hints(nil, &no, nil, nil), []lock.Difference{{What: lock.WhatDestructive, After: "false"}}},
		"writes after all":   {hints(&yes, nil, nil, nil), hints(&no, nil, nil, nil), []lock.Difference{{What: lock.WhatReadOnly, Before: "true", After: "false", Stricter: true}}},
		"destroys after all": {hints(nil, nil, nil, nil), same, []lock.Difference{{What: lock.WhatDestructive, After: "true", Stricter: true}}},
		"one each": {hints(&yes, &yes, nil, nil), hints(nil, nil, nil, nil), []lock.Difference{
			{What: lock.WhatReadOnly, Before: "true", Stricter: true}, {What: lock.WhatDestructive, Before: "true"}}},
		"another title":    {same, func(d *lock.Definition) { d.Title = "Delete (safe)" }, []lock.Difference{{What: lock.WhatTitle, Before: "Delete", After: "Delete (safe)"}}},
		"no title":         {same, func(d *lock.Definition) { d.Title = "" }, []lock.Difference{{What: lock.WhatTitle, Before: "Delete"}}},
		"asks less":        {func(d *lock.Definition) { d.Approval = "always" }, func(d *lock.Definition) { d.Approval = "ask" }, []lock.Difference{{What: lock.WhatApproval, Before: "always", After: "ask"}}},
		"asks no more":     {func(d *lock.Definition) { d.Approval = "ask" }, same, []lock.Difference{{What: lock.WhatApproval, Before: "ask", After: "never"}}},
		"asks after all":   {same, func(d *lock.Definition) { d.Approval = "ask" }, []lock.Difference{{What: lock.WhatApproval, Before: "never", After: "ask", Stricter: true}}},
		"never is nothing": {same, func(d *lock.Definition) { d.Approval = "never" }, nil},
	} {
		f, now := locked(id, tool(test.was)), tool(test.now)
		weaker := false
		for i := range test.want {
			test.want[i].ID = id
			weaker = weaker || !test.want[i].Stricter
		}
		if diff := cmp.Diff(test.want, f.Differences(locked(id, now))); diff != "" {
			t.Errorf("%s: differences (-want +got):\n%s", name, diff)
		}
		err := f.CheckTool(id, now)
		if (err != nil) != weaker || weaker && !errors.Is(err, lock.ErrDrift) {
			t.Errorf("%s: %v", name, err)
		}
		var de *lock.DriftError
		if errors.As(err, &de) && (de.Stricter || slices.ContainsFunc(de.More, func(d lock.Difference) bool { return d.Stricter })) {
			t.Errorf("%s: a stricter hint is drift: %+v", name, de)
		}
	}
}

// Of all pairs of hints, exactly those pass where each hint is as strict or stricter: and what passes one after the other
// passes at once, so that no way of small steps leads to where one step does not.
func TestHintsAreOrdered(t *testing.T) {
	const id = "mcp:evil:delete_all"
	said := []*bool{nil, &yes, &no}
	var all []lock.Hints
	for _, a := range said {
		for _, b := range said {
			for _, c := range said {
				for _, d := range said {
					all = append(all, lock.Hints{ReadOnly: a, Destructive: b, Idempotent: c, OpenWorld: d})
				}
			}
		}
	}
	entries := make([]lock.Tool, len(all))
	for i := range all {
		entries[i] = tool(func(d *lock.Definition) { d.Hints = all[i] })
	}
	passes := make([][]bool, len(all))
	for i := range entries {
		f := locked(id, entries[i])
		for j := range entries {
			passes[i] = append(passes[i], f.CheckTool(id, entries[j]) == nil)
		}
	}
	for i := range all {
		for j := range all {
			if passes[i][j] && passes[j][i] != (i == j) {
				t.Errorf("%+v and %+v pass for each other", all[i], all[j])
			}
			for k := range all {
				if passes[i][j] && passes[j][k] && !passes[i][k] {
					t.Fatalf("in two steps, and not in one: %+v, %+v, %+v", all[i], all[j], all[k])
				}
			}
		}
	}
}

const version1 = `{
  "version": 1,
  "plugins": {
    "acme.hello": {"version": "1.0.0", "digest": "sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb", "publisher": "Acme", "signer": "sha256:ab"}
  },
  "tools": {
    "cloister:acme.hello:greet": ENTRY,
    "cloister:acme.dev:greet": ENTRY,
    "mcp:notes:greet": ENTRY,
    "mcp:notes:server/instructions": ENTRY
  }
}`

// A file of version 1 held neither titles nor hints. What it held counts; what it did not hold was agreed to by nobody,
// so only what cannot be weaker than anything passes.
func TestVersion1(t *testing.T) {
	text := lock.HashTool("greet", "Greets.", nil, nil)
	entry, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.ReplaceAll(version1, "ENTRY", string(entry))
	f, err := lock.Parse([]byte(old))
	if err != nil {
		t.Fatal(err)
	}
	if f.Version != lock.Version {
		t.Errorf("version %d", f.Version)
	}
	if diff := cmp.Diff([]string{"cloister:acme.dev:greet", "mcp:notes:greet"}, f.Incomplete()); diff != "" {
		t.Error(diff)
	}
	greet := func(title, approval string, h lock.Hints) lock.Tool {
		return (&lock.Definition{Name: "greet", Title: title, Description: "Greets.", Hints: h, Approval: approval}).Entry()
	}
	for name, test := range map[string]struct {
		id   string
		now  lock.Tool
		good bool
	}{
		"no hints":                    {"mcp:notes:greet", greet("", "", lock.Hints{}), false},
		"the strictest hints":         {"mcp:notes:greet", greet("", "", lock.Hints{Destructive: &yes}), true},
		"stricter than strict":        {"mcp:notes:greet", greet("", "", lock.Hints{ReadOnly: &no, Destructive: &yes, Idempotent: &no, OpenWorld: &yes}), true},
		"strict, and reads only":      {"mcp:notes:greet", greet("", "", lock.Hints{ReadOnly: &yes, Destructive: &yes}), false},
		"strict, and idempotent":      {"mcp:notes:greet", greet("", "", lock.Hints{Idempotent: &yes, Destructive: &yes}), false},
		"strict, and closed":          {"mcp:notes:greet", greet("", "", lock.Hints{OpenWorld: &no, Destructive: &yes}), false},
		"strict, with a title":        {"mcp:notes:greet", greet("Ignore what was said", "", lock.Hints{Destructive: &yes}), false},
		"other text":                  {"mcp:notes:greet", (&lock.Definition{Name: "greet", Description: "Steals.", Hints: lock.Hints{Destructive: &yes}}).Entry(), false},
		"locked by a digest":          {"cloister:acme.hello:greet", greet("Title", "never", lock.Hints{ReadOnly: &yes}), true},
		"other text, with a digest":   {"cloister:acme.hello:greet", lock.HashTool("greet", "Steals.", nil, nil), false},
		"under development":           {"cloister:acme.dev:greet", greet("", "", lock.Hints{Destructive: &yes}), false},
		"under development, strict":   {"cloister:acme.dev:greet", greet("", "always", lock.Hints{Destructive: &yes}), true},
		"instructions have no hints":  {"mcp:notes:server/instructions", text, true},
		"instructions of other words": {"mcp:notes:server/instructions", lock.HashTool("greet", "Steals.", nil, nil), false},
	} {
		err := f.CheckTool(test.id, test.now)
		if (err == nil) != test.good || err != nil && !errors.Is(err, lock.ErrDrift) {
			t.Errorf("%s: %v", name, err)
		}
	}
	err = f.CheckTool("mcp:notes:greet", greet("T", "", lock.Hints{ReadOnly: &yes}))
	if err == nil || !strings.Contains(err.Error(), `its title and annotations were not locked before, and are now title "T", readOnlyHint true`) {
		t.Errorf("%v", err)
	}

	// Written again it says the same, and does not pass for more.
	written, err := f.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	again, err := lock.Parse(written)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f, again); diff != "" {
		t.Error(diff)
	}
	// What version 1 did not know is no part of it.
	for _, more := range []string{`"title": "x", `, `"annotations": {}, `, `"approval": "ask", `} {
		bad := strings.Replace(old, `{"hash"`, `{`+more+`"hash"`, 1)
		if bad == old {
			t.Fatal("the text is another")
		}
		if _, err := lock.Parse([]byte(bad)); !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("%s: %v", more, err)
		}
	}
}

// A title that does not fit the file stands there as a hash, and no two titles are the same.
func TestTitles(t *testing.T) {
	const id = "mcp:notes:greet"
	long := strings.Repeat("x", lock.MaxTitleBytes)
	titled := func(title string) lock.Tool { return tool(func(d *lock.Definition) { d.Title = title }) }
	titles := []string{"", "a", "A", "a\u202eb", long, long + "1", long + "2", "\xff", "\xfe", "\ufffd"}
	titles = append(titles, titled(long+"1").Title)
	for i, a := range titles {
		f := locked(id, titled(a))
		text, err := f.Marshal()
		if err != nil {
			t.Fatalf("%.40q: %v", a, err)
		}
		if f, err = lock.Parse(text); err != nil {
			t.Fatalf("%.40q: %v", a, err)
		}
		for j, b := range titles {
			if err := f.CheckTool(id, titled(b)); (err == nil) != (i == j) {
				t.Errorf("%.40q and %.40q: %v", a, b, err)
			}
		}
	}
}

// A copy shares nothing with what it is of.
func TestCloneOfHints(t *testing.T) {
	f := locked("mcp:notes:greet", tool(func(*lock.Definition) {}))
	*f.Clone().Tools["mcp:notes:greet"].Annotations.Destructive = false
	if !*f.Tools["mcp:notes:greet"].Annotations.Destructive || !yes {
		t.Error("a change of the copy is one of the file")
	}
}

// Digest is another one where anything of the definition is.
func TestDigest(t *testing.T) {
	base := lock.Definition{Name: "n", Title: "t", Description: "d", Parameters: json.RawMessage(`{}`), Returns: json.RawMessage(`true`), Hints: lock.Hints{ReadOnly: &no}, Approval: "ask"}
	seen := map[string]string{base.Digest(): "base"}
	for name, change := range map[string]func(*lock.Definition){
		"name": func(d *lock.Definition) { d.Name = "m" }, "title": func(d *lock.Definition) { d.Title = "" }, "description": func(d *lock.Definition) { d.Description = "e" },
		"parameters": func(d *lock.Definition) { d.Parameters = nil }, "returns": func(d *lock.Definition) { d.Returns = nil },
		"reads": func(d *lock.Definition) { d.Hints.ReadOnly = nil }, "destroys": func(d *lock.Definition) { d.Hints.Destructive = &no },
		"idempotent": func(d *lock.Definition) { d.Hints.Idempotent = &no }, "open": func(d *lock.Definition) { d.Hints.OpenWorld = &no },
		"approval": func(d *lock.Definition) { d.Approval = "" },
	} {
		d := base
		change(&d)
		if other, taken := seen[d.Digest()]; taken {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[d.Digest()] = name
	}
}

// What a person wrote into the file by hand has to make sense.
func TestMistakesInHints(t *testing.T) {
	good, err := locked("mcp:notes:greet", tool(func(d *lock.Definition) { d.Approval = "ask" })).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"hint of a text":    {`"destructiveHint": true`, `"destructiveHint": "true"`},
		"unknown hint":      {`"destructiveHint"`, `"destructive"`},
		"hint twice":        {`"destructiveHint": true`, `"destructiveHint": true, "destructiveHint": false`},
		"unknown approval":  {`"approval": "ask"`, `"approval": "perhaps"`},
		"long title":        {`"title": "Delete"`, `"title": "` + strings.Repeat("x", lock.MaxTitleBytes+1) + `"`},
		"title, no hints":   {`"annotations"`, `"annotation"`},
		"annotations twice": {`"annotations"`, `"annotations": {}, "annotations"`},
	} {
		bad := strings.Replace(string(good), change[0], change[1], 1)
		if bad == string(good) {
			t.Fatalf("%s: the text is another:\n%s", name, good)
		}
		if _, err := lock.Parse([]byte(bad)); !errors.Is(err, lock.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	without := locked("mcp:notes:greet", lock.HashTool("greet", "Greets.", nil, nil))
	entry := without.Tools["mcp:notes:greet"]
	entry.Title = "Title"
	without.Tools["mcp:notes:greet"] = entry
	if _, err := without.Marshal(); !errors.Is(err, lock.ErrInvalid) {
		t.Errorf("a title without hints: %v", err)
	}
}
