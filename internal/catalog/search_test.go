package catalog

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

func TestSearchExactFirst(t *testing.T) {
	entries := []Entry{
		tool("cloister:zeta:create_issue", "Unrelated words"),
		tool("cloister:alpha:create_issue", "Unrelated words"),
		tool("cloister:beta:createIssue", "Create issue, create issue, create issue"),
		tool("cloister:gamma:create_issue_comment", "Create an issue comment with create issue"),
		tool("cloister:delta:x", "create_issue create_issue create_issue"),
		tool("client:app:create_issue", ""),
		tool("mcp:github:create_issue", "Create an issue"),
	}
	c := mustBuild(t, entries)
	tests := []struct {
		query string
		want  []string // the beginning of the result
	}{
		{"cloister:zeta:create_issue", []string{"cloister:zeta:create_issue"}},
		{" cloister:zeta:create_issue\n", []string{"cloister:zeta:create_issue"}},
		{"client:app:create_issue", []string{"client:app:create_issue"}},
		{"createIssue", []string{"cloister:beta:createIssue"}},
		{"zeta.create_issue", []string{"cloister:zeta:create_issue"}},
		{"zeta.createIssue", []string{"cloister:zeta:create_issue"}},
		{"zeta__create_issue", []string{"cloister:zeta:create_issue"}},
	}
	for _, test := range tests {
		got := ids(c.Search(test.query, 10))
		if len(got) < len(test.want) || !slices.Equal(got[:len(test.want)], test.want) {
			t.Errorf("Search(%q) = %v, want it to begin with %v", test.query, got, test.want)
		}
	}
	// The same name thrice, and the one that is spelled otherwise, before everything else; each class in its own order.
	got := ids(c.Search("create_issue", 10))
	exact := slices.Sorted(slices.Values(got[:3]))
	if diff := cmp.Diff([]string{"client:app:create_issue", "cloister:alpha:create_issue", "cloister:zeta:create_issue"}, exact); diff != "" {
		t.Errorf("exact names (-want +got):\n%s", diff)
	}
	if got[3] != "cloister:beta:createIssue" {
		t.Errorf("%s comes fourth, want the name that differs in spelling only", got[3])
	}
}

func TestSearchTiesByID(t *testing.T) {
	// Same words everywhere; catalog order would put core first and client last.
	c := mustBuild(t, tools("cloister:zz:frob", "client:aa:frob", "cloister:mm:frob", "cloister:bb:frob"))
	want := []string{"client:aa:frob", "cloister:bb:frob", "cloister:mm:frob", "cloister:zz:frob"}
	if diff := cmp.Diff(want, ids(c.Search("please frob it", 10))); diff != "" {
		t.Errorf("ties (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:2], ids(c.Search("please frob it", 2))); diff != "" {
		t.Errorf("ties with a limit (-want +got):\n%s", diff)
	}
}

func TestSearchNeverFindsMCP(t *testing.T) {
	c := mustBuild(t, append(loadTools(t), tool("mcp:github:create_issue", "Create a GitHub issue"), tool("mcp:only:frobnicate", "Frobnicate")))
	for _, query := range []string{"", "*", "mcp:github:create_issue", "frobnicate", "mcp:only:frobnicate", "create a github issue", "mcp"} {
		for _, e := range c.Search(query, 1000) {
			if e.Source == SourceMCP {
				t.Errorf("Search(%q) finds %s", query, e.ID)
			}
		}
	}
}

func TestSearchLimits(t *testing.T) {
	c := mustBuild(t, loadTools(t))
	for _, limit := range []int{math.MinInt, -1, 0} {
		if got := c.Search("github", limit); len(got) != 0 {
			t.Errorf("limit %d gives %d entries", limit, len(got))
		}
	}
	all := ids(c.Search("github issue", math.MaxInt))
	if len(all) < 30 || len(all) > c.Len() {
		t.Fatalf("without a limit there are %d entries", len(all))
	}
	for _, limit := range []int{1, 2, 7, 30} {
		if diff := cmp.Diff(all[:limit], ids(c.Search("github issue", limit))); diff != "" {
			t.Errorf("limit %d is not the beginning of the whole (-want +got):\n%s", limit, diff)
		}
	}
	if diff := cmp.Diff(ids(c.Entries())[:5], ids(c.Search("  ", 5))); diff != "" {
		t.Errorf("an empty query (-want +got):\n%s", diff)
	}
	if got := c.Search("qqqqxyzzy", 5); len(got) != 0 {
		t.Errorf("nonsense finds %v", ids(got))
	}
	if got := c.Search("🙃 \x00\xff\u202e", 5); len(got) != 0 {
		t.Errorf("symbols find %v", ids(got))
	}
}

// Each way of finding, with a tool that only it can find.
func TestSearchWays(t *testing.T) {
	schema := tool("cloister:x:opaque_one", "Does a thing")
	schema.Parameters = []byte(`{"type":"object","properties":{"zipCode":{"type":"string","description":"where the parcel goes"},
		"options":{"type":"object","properties":{"giftWrap":{"enum":["ribbon","foil"]}}},"list":{"type":"array","items":{"properties":{"weightGrams":{}}}}}}`)
	labelled := tool("cloister:x:opaque_two", "Does a thing")
	labelled.Label = "Weekly Payroll"
	c := mustBuild(t, []Entry{
		schema, labelled, tool("cloister:x:readHTTPHeaders", ""), tool("cloister:x:web-fetch", ""), tool("cloister:acme.csv:opaque_three", ""),
		tool("cloister:x:opaque_four", "Renders a café menu"), tool("cloister:x:opaque_five", "东京天气预报"), tool("cloister:x:opaque_six", "Merges branches; also known as pull requests"), tool("cloister:x:opaque_seven", "Lists subscriptions"),
		tool("cloister:x:delete_rows", ""), tool("cloister:x:repository_list", ""), tool("cloister:x:websearch", ""), tool("cloister:x:configuration", ""),
	})
	tests := map[string]string{
		"zip code":            "cloister:x:opaque_one",
		"zipcode":             "cloister:x:opaque_one",
		"parcel":              "cloister:x:opaque_one",
		"gift wrap":           "cloister:x:opaque_one",
		"ribbon":              "cloister:x:opaque_one",
		"weight in grams":     "cloister:x:opaque_one",
		"payroll":             "cloister:x:opaque_two",
		"http header":         "cloister:x:readHTTPHeaders",
		"fetching the web":    "cloister:x:web-fetch",
		"webfetch":            "cloister:x:web-fetch",
		"web search":          "cloister:x:websearch",
		"csv":                 "cloister:acme.csv:opaque_three",
		"cafe":                "cloister:x:opaque_four",
		"CAFÉ":                "cloister:x:opaque_four",
		"天气":                  "cloister:x:opaque_five",
		"my PRs":              "cloister:x:opaque_six",
		"subscriber":          "cloister:x:opaque_seven",
		"pull-request":        "cloister:x:opaque_six",
		"remove row":          "cloister:x:delete_rows",
		"get rid of the rows": "cloister:x:delete_rows",
		"repos":               "cloister:x:repository_list",
		"repositry":           "cloister:x:repository_list",
		"configuraton":        "cloister:x:configuration",
		"configur":            "cloister:x:configuration",
		"the":                 "", // a stop word alone is looked for like any other, and is in no tool
	}
	for query, want := range tests {
		got := ids(c.Search(query, 1))
		if want == "" && len(got) == 0 {
			continue
		}
		if len(got) == 0 || got[0] != want {
			t.Errorf("Search(%q) = %v, want %s", query, got, want)
		}
	}
}

// What lies beyond the bound of a query is not read, and a search costs few allocations whatever the query.
func TestSearchBoundsQuery(t *testing.T) {
	c := mustBuild(t, append(loadTools(t), tool("cloister:x:needle", "")))
	for name, query := range map[string]string{
		"words":        strings.Repeat("create a github isue zzqx ", 40_000),
		"one word":     strings.Repeat("a", 1<<20),
		"capitals":     strings.Repeat("aB", 1<<19),
		"symbols":      strings.Repeat("\u202e\x00\xff🙃", 1<<17),
		"combining":    "e" + strings.Repeat("\u0301", 1<<19),
		"no spaces":    strings.Repeat("天", 1<<18),
		"colons":       strings.Repeat("cloister:", 1<<17),
		"many unknown": strings.Repeat("qzwxv jkqzx wvxzq ", 1<<16),
	} {
		want := ids(c.Search(plaintext.Head(query, maxQueryLen), 8))
		if diff := cmp.Diff(want, ids(c.Search(query+" needle", 8))); diff != "" {
			t.Errorf("%s: the end of the query is read (-want +got):\n%s", name, diff)
		}
		if n := testing.AllocsPerRun(3, func() { c.Search(query, 8) }); n > 300 {
			t.Errorf("%s: a search takes %v allocations", name, n)
		}
	}
	// Usually five; the race detector makes the pool forget.
	if n := testing.AllocsPerRun(10, func() { c.Search("create a github issue", 8) }); n > 60 {
		t.Errorf("an ordinary search takes %v allocations", n)
	}
}

// A catalog whose tools all use every word cannot make a search long: the postings that are looked at are bounded.
func TestSearchBoundsCatalog(t *testing.T) {
	lex := theLexicon()
	// The words with the most synonyms, and all of these in every description.
	list := slices.Clone(lex.spells)
	slices.SortStableFunc(list, func(a, b string) int { return len(lex.alts[lex.stem(b)]) - len(lex.alts[lex.stem(a)]) })
	list = list[:60]
	text := strings.Join(list, " ")
	for _, w := range list {
		for _, alt := range lex.alts[lex.stem(w)] {
			if !strings.Contains(text, alt.stem) {
				text += " " + alt.stem
			}
		}
	}
	entries := make([]Entry, 6000)
	for i := range entries {
		entries[i] = tool("cloister:evil:t"+strings.Repeat("x", i%100)+string(rune('a'+i/100%26))+string(rune('a'+i/2600)), text)
	}
	c := mustBuild(t, entries)
	query := strings.Join(list, " ")
	s := &scratch{}
	s.reset(len(c.search.docs))
	c.search.analyze(s, query)
	postings := 0
	for _, q := range s.terms {
		for _, v := range q.variants {
			postings += int(c.search.start[v.term+1] - c.search.start[v.term])
		}
	}
	allowed := c.search.maxVisits()
	if postings <= allowed {
		t.Fatalf("the attack is too weak: %d postings", postings)
	}
	if c.search.accumulate(s); s.visits > allowed || s.visits < allowed/2 {
		t.Errorf("%d postings are looked at, want at most %d", s.visits, allowed)
	}
	if got := len(c.Search(query, 8)); got != 8 {
		t.Errorf("the search gives %d entries, want 8", got)
	}
}

// One search leaves nothing behind that another could see: the memory of searches is pooled, over catalogs of all sizes.
func TestSearchKeepsNoState(t *testing.T) {
	small := mustBuild(t, tools("cloister:x:create_issue", "cloister:x:delete_issue", "cloister:x:list_repos"))
	large := mustBuild(t, loadTools(t))
	want := ids(small.Search("create issue", 3))
	for _, q := range loadQueries(t, "queries-dev.txt") {
		large.Search(q.text, 8)
		if diff := cmp.Diff(want, ids(small.Search("create issue", 3))); diff != "" {
			t.Fatalf("after %q (-want +got):\n%s", q.text, diff)
		}
	}
}

func FuzzSearch(f *testing.F) {
	base := loadTools(f)
	for _, q := range loadQueries(f, "queries-dev.txt")[:20] {
		f.Add(q.text, "frobnicate", "Frobnicate a widget", 8)
	}
	f.Add("cloister:fuzz:x", "x", "", 1)
	f.Add(strings.Repeat("HTTPServer ", 500), "getHTTPServer", strings.Repeat("ß天", 3000), 100)
	f.Fuzz(func(t *testing.T, query, name, description string, limit int) {
		entries := append(slices.Clone(base[:60]), Entry{Source: SourceCloister, Owner: "fuzz", Tier: External, Name: name, Description: description})
		entries = append(entries, tool("mcp:hidden:create_issue", description))
		c, err := Build(entries)
		if err != nil {
			return
		}
		got := c.Search(query, limit)
		if len(got) > max(limit, 0) {
			t.Fatalf("%d entries for limit %d", len(got), limit)
		}
		seen := map[string]bool{}
		for _, e := range got {
			if seen[e.ID] || e.Source == SourceMCP {
				t.Errorf("%s is found twice, or at all", e.ID)
			}
			seen[e.ID] = true
		}
		if again := mustBuild(t, entries).Search(query, limit); !slices.Equal(ids(got), ids(again)) {
			t.Errorf("another catalog of the same tools gives %v, not %v", ids(again), ids(got))
		}
		id := "cloister:fuzz:" + name
		if first := c.Search(id, 3); len(first) == 0 || first[0].ID != id {
			t.Errorf("%q does not come first for its own id: %v", id, ids(first))
		}
		for _, s := range c.Suggest(query) {
			if e, ok := c.Lookup(s); !ok || e.Source == SourceMCP {
				t.Errorf("Suggest(%q) gives %q", query, s)
			}
		}
		if n := len(c.Suggest(query)); n > 3 {
			t.Errorf("%d suggestions", n)
		}
	})
}

// The checked-in corpora must not get lost: a fuzz target without one would still pass.
func TestFuzzCorpora(t *testing.T) {
	for _, target := range []string{"FuzzSearch", "FuzzIndex", "FuzzGlob"} {
		files, err := filepath.Glob(filepath.Join("testdata", "fuzz", target, "*"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s has no corpus (%v)", target, err)
		}
		for _, file := range files {
			if info, err := os.Stat(file); err != nil || info.Size() == 0 {
				t.Errorf("%s is empty (%v)", file, err)
			}
		}
	}
}
