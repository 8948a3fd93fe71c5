package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tool makes an entry out of "source:owner:name", with the tier that goes with it.
func tool(id, description string) Entry {
	parts := strings.SplitN(id, ":", 3)
	e := Entry{Source: parts[0], Owner: parts[1], Name: parts[2], Description: description, Tier: External}
	switch {
	case e.Source == SourceMCP:
		e.Tier = MCP
	case e.Source == SourceClient:
		e.Tier = Client
	case e.Owner == OwnerCore:
		e.Tier = Core
	}
	return e
}

func tools(list ...string) []Entry {
	entries := make([]Entry, 0, len(list))
	for _, id := range list {
		entries = append(entries, tool(id, ""))
	}
	return entries
}

func ids(entries []*Entry) []string {
	list := make([]string, 0, len(entries))
	for _, e := range entries {
		list = append(list, e.ID)
	}
	return list
}

func mustLayer(t testing.TB, name string, p Policy) Layer {
	t.Helper()
	l, err := NewLayer(name, p)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestBuildOrder(t *testing.T) {
	entries := tools("client:app:select_file", "mcp:zed:a", "mcp:github:create_issue", "cloister:acme.csv:parse", "cloister:core:message",
		"cloister:acme.csv:Parse", "cloister:beta:x", "cloister:core:exec", "client:app:9lives", "cloister:acme-x:y")
	entries[6].Tier = Bundled // beta
	want := []string{
		"cloister:core:exec", "cloister:core:message", // core
		"cloister:beta:x",                                                         // bundled before external
		"cloister:acme-x:y", "cloister:acme.csv:Parse", "cloister:acme.csv:parse", // byte order
		"mcp:github:create_issue", "mcp:zed:a",
		"client:app:9lives", "client:app:select_file",
	}
	random := rand.New(rand.NewPCG(3, 4))
	digest := ""
	for range 20 {
		random.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		c := mustBuild(t, entries)
		if diff := cmp.Diff(want, ids(c.Entries())); diff != "" {
			t.Fatalf("order (-want +got):\n%s", diff)
		}
		if digest == "" {
			digest = c.Digest()
		}
		if c.Digest() != digest {
			t.Fatal("the digest depends on the order of the input")
		}
	}
	c := mustBuild(t, entries)
	if diff := cmp.Diff(map[string]int{"cloister": 6, "mcp": 2, "client": 2}, c.Counts()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if c.Len() != 10 {
		t.Errorf("Len is %d, want 10", c.Len())
	}
}

// Control tools never appear, whoever offers them; the core shell tool exec does.
func TestControlTools(t *testing.T) {
	control := []string{"exec", "wait", "tool_search_code", "tool_search", "tool_describe", "tool_call"}
	var entries []Entry
	for _, name := range control {
		for _, owner := range []string{"cloister:core:", "cloister:acme.csv:", "mcp:docker:", "client:app:"} {
			entries = append(entries, tool(owner+name, ""))
		}
	}
	entries = append(entries, tools("mcp:docker:Exec", "mcp:docker:exec2", "cloister:core:wait_for")...)
	c := mustBuild(t, entries)
	want := []string{"cloister:core:exec", "cloister:core:wait_for", "mcp:docker:Exec", "mcp:docker:exec2"}
	if diff := cmp.Diff(want, ids(c.Entries())); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if got := len(c.Excluded()); got != 4*len(control)-1 {
		t.Errorf("%d tools are excluded, want %d", got, 4*len(control)-1)
	}
	for _, x := range c.Excluded() {
		if x.Verdict.Reason != ControlTool {
			t.Errorf("%s: %v, want the control tool reason", x.ID, x.Verdict)
		}
	}
	if diff := cmp.Diff(map[string]string{"exec": "cloister:core:exec", "wait_for": "cloister:core:wait_for"}, c.Convenience()); diff != "" {
		t.Errorf("convenience (-want +got):\n%s", diff)
	}
}

// The code mode exec, marked as such, neither appears nor collides with the shell tool of the same id.
func TestControlMark(t *testing.T) {
	surface := tool("cloister:core:exec", "runs cells")
	surface.Control = true
	c := mustBuild(t, []Entry{surface, tool("cloister:core:exec", "runs shell commands")})
	if e, ok := c.Lookup("cloister:core:exec"); !ok || e.Description != "runs shell commands" {
		t.Errorf("Lookup gives %+v, %v; want the shell tool", e, ok)
	}
	if c = mustBuild(t, []Entry{surface}); c.Len() != 0 {
		t.Errorf("the code mode exec is in the catalog: %v", ids(c.Entries()))
	}
}

// A denied tool cannot be listed, found, described, suggested, called by its name, or told from one that does not exist.
func TestDeniedToolLeavesNoTrace(t *testing.T) {
	entries := tools("cloister:core:message", "cloister:vault:read_secret", "cloister:vault:list_secrets", "mcp:vault:read_secret")
	entries[1].Description = "Read the launch codes"
	c := mustBuild(t, entries, mustLayer(t, "agent", Policy{Deny: []string{"*:vault:read_*"}}))
	const denied = "cloister:vault:read_secret"
	if _, ok := c.Lookup(denied); ok {
		t.Error("Lookup finds it")
	}
	for _, query := range []string{denied, "read_secret", "read secret", "launch codes", ""} {
		if got := ids(c.Search(query, 50)); slices.Contains(got, denied) {
			t.Errorf("Search(%q) finds it", query)
		}
	}
	everything := string(c.GuestEntries()) + c.Index(10_000) + fmt.Sprint(c.Convenience()) + fmt.Sprint(c.Suggest(denied))
	for _, leak := range []string{"read_secret", "launch"} {
		if strings.Contains(everything, leak) {
			t.Errorf("%q leaks: %s", leak, everything)
		}
	}
	_, denial := c.Describe(denied)
	_, absence := c.Describe("cloister:vault:read_secreX")
	if !errors.Is(denial, ErrUnknownID) || strings.ReplaceAll(absence.Error(), "secreX", "secret") != denial.Error() {
		t.Errorf("a denied tool can be told from an absent one:\n%v\n%v", denial, absence)
	}
	hidden := mustBuild(t, entries[2:3])
	without := mustBuild(t, []Entry{entries[1], entries[2]}, mustLayer(t, "run", Policy{Deny: []string{"read_secret"}}))
	if hidden.Digest() != without.Digest() {
		t.Error("the digest tells that a tool is hidden")
	}
}

func TestExcludedNamesLayerAndRule(t *testing.T) {
	c := mustBuild(t, tools("mcp:b:x", "mcp:a:x", "cloister:core:message", "cloister:core:cron"),
		mustLayer(t, "host", Policy{Deny: []string{"nothing", "mcp:*"}}), mustLayer(t, "agent", Policy{Allow: []string{"message"}}))
	want := []Exclusion{
		{"cloister:core:cron", Verdict{Reason: NotAllowed, Layer: "agent"}},
		{"mcp:a:x", Verdict{Reason: Denied, Layer: "host", Rule: "mcp:*"}},
		{"mcp:b:x", Verdict{Reason: Denied, Layer: "host", Rule: "mcp:*"}},
	}
	if diff := cmp.Diff(want, c.Excluded()); diff != "" {
		t.Errorf("excluded (-want +got):\n%s", diff)
	}
	err := error(&DeniedError{ID: want[1].ID, Verdict: want[1].Verdict})
	if !errors.Is(err, ErrDenied) || !strings.Contains(err.Error(), `rule "mcp:*" of layer "host"`) {
		t.Errorf("the error does not name the rule: %v", err)
	}
}

func TestBuildErrors(t *testing.T) {
	good := tool("cloister:acme.csv:parse", "")
	with := func(change func(*Entry)) []Entry {
		e := good
		change(&e)
		return []Entry{tool("cloister:core:first", ""), e}
	}
	deep := strings.Repeat(`{"items":`, 200) + "{}" + strings.Repeat("}", 200)
	tests := []struct {
		name    string
		entries []Entry
		layers  []Layer
		want    error
		text    string // in the error
	}{
		{"duplicate", append(tools("cloister:a:x"), tools("cloister:a:x")...), nil, ErrDuplicateID, "cloister:a:x"},
		{"duplicate in two tiers", append(with(func(e *Entry) { e.Tier = Bundled }), good), nil, ErrDuplicateID, "cloister:acme.csv:parse"},
		{"foreign core", with(func(e *Entry) { e.Owner = OwnerCore }), nil, ErrInvalidEntry, "Tier"},
		{"mcp server called core", tools("mcp:core:x"), nil, ErrInvalidID, "rename the server"},
		{"core tier for a plugin", with(func(e *Entry) { e.Tier = Core }), nil, ErrInvalidEntry, "Tier"},
		{"mcp tier for a plugin", with(func(e *Entry) { e.Tier = MCP }), nil, ErrInvalidEntry, "Tier"},
		{"unknown tier", with(func(e *Entry) { e.Tier = 17 }), nil, ErrInvalidEntry, "Tier(17)"},
		{"client tier for a server", with(func(e *Entry) { e.Source, e.Tier = SourceMCP, Client }), nil, ErrInvalidEntry, "client"},
		{"server tier for a client", with(func(e *Entry) { e.Source, e.Tier = SourceClient, MCP }), nil, ErrInvalidEntry, "mcp"},
		{"source", with(func(e *Entry) { e.Source = "plugin" }), nil, ErrInvalidID, "entry 1"},
		{"id disagrees", with(func(e *Entry) { e.ID = "cloister:core:parse" }), nil, ErrInvalidEntry, "leave it empty"},
		{"long label", with(func(e *Entry) { e.Label = strings.Repeat("x", MaxLabelLen+1) }), nil, ErrInvalidEntry, "Label"},
		{"long description", with(func(e *Entry) { e.Description = strings.Repeat("x", MaxDescriptionLen+1) }), nil, ErrInvalidEntry, "Description"},
		{"long schema", with(func(e *Entry) { e.Parameters = []byte(`{"x":"` + strings.Repeat("x", MaxSchemaLen) + `"}`) }), nil, ErrInvalidEntry, "Parameters"},
		{"deep schema", with(func(e *Entry) { e.Parameters = []byte(deep) }), nil, ErrInvalidEntry, "deeper"},
		{"empty schema", with(func(e *Entry) { e.Parameters = json.RawMessage{} }), nil, ErrInvalidEntry, "Parameters"},
		{"schema is an array", with(func(e *Entry) { e.Parameters = []byte(`[]`) }), nil, ErrInvalidEntry, "object"},
		{"schema is true", with(func(e *Entry) { e.Parameters = []byte(`true`) }), nil, ErrInvalidEntry, "object"},
		{"returns a string", with(func(e *Entry) { e.Returns = []byte(`"string"`) }), nil, ErrInvalidEntry, "Returns"},
		{"zero layer", with(func(*Entry) {}), []Layer{{}}, ErrInvalidPolicy, "NewLayer"},
		{"too many", make([]Entry, MaxEntries+1), nil, ErrInvalidEntry, "at most 100000"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := Build(test.entries, test.layers...)
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("error is %v, want %v with %q", err, test.want, test.text)
			}
			if c != nil {
				t.Error("there is a catalog beside the error")
			}
		})
	}
}

// A hidden tool's faults do not fail the run: to deny it is the cure.
func TestDenyCuresFaultyTool(t *testing.T) {
	faulty := tool("mcp:evil:x", "")
	faulty.Parameters = []byte(`{`)
	entries := append(tools("cloister:core:message", "mcp:evil:y", "mcp:evil:y"), faulty)
	if _, err := Build(entries); err == nil {
		t.Fatal("the fault is not seen")
	}
	c := mustBuild(t, entries, mustLayer(t, "host", Policy{Deny: []string{"mcp:evil:*"}}))
	if diff := cmp.Diff([]string{"cloister:core:message"}, ids(c.Entries())); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestTypedErrors(t *testing.T) {
	_, err := Build(append(tools("cloister:a:x"), tools("cloister:a:x")...))
	if dup, ok := errors.AsType[*DuplicateIDError](err); !ok || dup.ID != "cloister:a:x" {
		t.Errorf("%v is no DuplicateIDError with its id", err)
	}
	_, err = Build(tools("mcp:a b:x"))
	if e, ok := errors.AsType[*IDError](err); !ok || e.Part != "owner" {
		t.Errorf("%v is no IDError for the owner", err)
	}
	if e, ok := errors.AsType[*EntryError](err); !ok || e.Index != 0 || !errors.Is(err, ErrInvalidEntry) {
		t.Errorf("%v is no EntryError for entry 0", err)
	}
	_, err = mustBuild(t, tools("cloister:core:message")).Describe("cloister:core:mesage")
	if e, ok := errors.AsType[*UnknownIDError](err); !ok || len(e.Suggestions) == 0 || !strings.Contains(err.Error(), "did you mean cloister:core:message?") {
		t.Errorf("%v is no UnknownIDError with a suggestion", err)
	}
	if text := (&UnknownIDError{ID: "mcp:github:x"}).Error(); !strings.Contains(text, "MCP.<server>.<tool>(input)") {
		t.Errorf("the error does not say how MCP tools are called: %s", text)
	}
	long := &UnknownIDError{ID: strings.Repeat("\x1b[31m\u202e", 100_000)}
	if text := long.Error(); len(text) > 1000 || strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("hostile text reaches the error: %.200q", text)
	}
}

// The catalog shares no memory with what it was built from, or with what it hands out.
func TestImmutable(t *testing.T) {
	entries := tools("cloister:core:message", "cloister:core:cron")
	entries[0].Parameters = []byte(`{"type":"object"}`)
	c := mustBuild(t, entries)
	before := string(c.GuestEntries()) + c.Digest() + c.Index(1000)
	description, _ := c.Describe("cloister:core:message")
	copy(entries[0].Parameters, "#################")
	entries[1].Name = "gone"
	clear(c.Convenience())
	clear(c.Counts())
	clear(c.Entries())
	clear(c.Search("message", 5))
	clear(c.Search("", 5))
	clear(c.GuestEntries())
	if after := string(c.GuestEntries()) + c.Digest() + c.Index(1000); after != before {
		t.Errorf("the catalog changed from %s to %s", before, after)
	}
	if again, _ := c.Describe("cloister:core:message"); string(again) != string(description) {
		t.Errorf("the schema changed to %s", again)
	}
	if len(c.Convenience()) != 2 || len(c.Counts()) != 3 || c.Entries()[0] == nil || c.Search("", 5)[0] == nil {
		t.Error("a caller's copy is the catalog's own")
	}
}

func TestDigestSeesWhatGuestsSee(t *testing.T) {
	base := func() []Entry {
		e := tool("mcp:github:create_issue", "Open an issue")
		e.Label, e.Parameters, e.Returns = "Create issue", []byte(`{"type":"object"}`), []byte(`{"type":"string"}`)
		return []Entry{tool("cloister:acme.csv:parse", "Parse"), e}
	}
	digest := mustBuild(t, base()).Digest()
	same := map[string]func([]Entry){
		"white space in a schema": func(e []Entry) { e[1].Parameters = []byte("{ \"type\" :\n\t\"object\" }") },
		"host handle":             func(e []Entry) { e[1].Ref = 7 },
		"id given":                func(e []Entry) { e[1].ID = "mcp:github:create_issue" },
		"invisible character":     func(e []Entry) { e[1].Description = "Open\u200b an issue" },
	}
	for name, change := range same {
		entries := base()
		change(entries)
		if got := mustBuild(t, entries).Digest(); got != digest {
			t.Errorf("%s changes the digest", name)
		}
	}
	different := map[string]func([]Entry){
		"name":            func(e []Entry) { e[1].Name = "create_issues" },
		"owner":           func(e []Entry) { e[1].Owner = "gitlab" },
		"label":           func(e []Entry) { e[1].Label = "" },
		"description":     func(e []Entry) { e[1].Description = "Open an issue." },
		"shifted text":    func(e []Entry) { e[1].Label, e[1].Description = "Create issueOpen", " an issue" },
		"parameters":      func(e []Entry) { e[1].Parameters = []byte(`{"type":"object","title":"x"}`) },
		"returns":         func(e []Entry) { e[1].Returns = nil },
		"unsigned plugin": func(e []Entry) { e[0].Unsigned = true },
	}
	for name, change := range different {
		entries := base()
		change(entries)
		if got := mustBuild(t, entries).Digest(); got == digest {
			t.Errorf("%s does not change the digest", name)
		}
	}
	if len(digest) != 64 || strings.Trim(digest, "0123456789abcdef") != "" {
		t.Errorf("%q is no SHA-256 in hex", digest)
	}
}

// TestConcurrentUse hammers one catalog from many goroutines; run with -race.
func TestConcurrentUse(t *testing.T) {
	c := mustBuild(t, loadTools(t))
	want := ids(c.Search("create a github issue", 5))
	index, digest := c.Index(500), mustBuild(t, loadTools(t)).Digest()
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 20 {
				c.Search(fmt.Sprintf("kuberntes %d", i), 3)
				if got := ids(c.Search("create a github issue", 5)); !slices.Equal(got, want) {
					t.Errorf("search gives %v, want %v", got, want)
				}
				c.Suggest("cloister:github:creat_isue")
				if c.Digest() != digest || c.Index(500) != index {
					t.Error("digest or index differ between goroutines")
				}
			}
		})
	}
	group.Wait()
}

func TestEmptyCatalog(t *testing.T) {
	c := mustBuild(t, nil)
	if c.Len() != 0 || len(c.Search("x", 5)) != 0 || len(c.Suggest("x")) != 0 || c.Index(100) != "" || string(c.GuestEntries()) != "[]" {
		t.Error("an empty catalog is not empty")
	}
	if _, err := c.Describe("cloister:core:x"); !errors.Is(err, ErrUnknownID) || !strings.Contains(err.Error(), "tools.search") {
		t.Errorf("Describe: %v", err)
	}
}
