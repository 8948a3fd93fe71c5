package catalog

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// retrievalQuery is one line of the query files: what is asked, and the ids any of which answers it.
type retrievalQuery struct {
	text string
	want []string
}

// loadTools reads testdata/retrieval/tools.txt; its head explains the format.
func loadTools(t testing.TB) []Entry {
	t.Helper()
	var entries []Entry
	owner := ""
	for number, line := range readLines(t, "tools.txt") {
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			owner = strings.Trim(line, "[]")
			continue
		}
		parts := strings.Split(line, " | ")
		if len(parts) < 2 {
			t.Fatalf("tools.txt:%d: want name | description | parameters", number+1)
		}
		e := Entry{Source: SourceCloister, Owner: owner, Tier: External, Name: parts[0], Description: strings.TrimSuffix(parts[1], " |")}
		if owner == OwnerCore {
			e.Tier = Core
		}
		if len(parts) > 2 {
			e.Parameters = toolSchema(parts[2])
		}
		entries = append(entries, e)
	}
	return entries
}

// toolSchema turns "owner* state:open|closed page:integer" into a JSON Schema.
func toolSchema(params string) json.RawMessage {
	var props, required []string
	for _, p := range strings.Fields(params) {
		name, typ, typed := strings.Cut(p, ":")
		if strings.HasSuffix(name, "*") {
			name = strings.TrimSuffix(name, "*")
			required = append(required, fmt.Sprintf("%q", name))
		}
		schema := `{"type":"string"}`
		switch {
		case strings.Contains(typ, "|"):
			schema = fmt.Sprintf(`{"enum":["%s"]}`, strings.ReplaceAll(typ, "|", `","`))
		case typed:
			schema = fmt.Sprintf(`{"type":%q}`, typ)
		}
		props = append(props, fmt.Sprintf("%q:%s", name, schema))
	}
	return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%s},"required":[%s]}`, strings.Join(props, ","), strings.Join(required, ",")))
}

func loadQueries(t testing.TB, file string) []retrievalQuery {
	t.Helper()
	var queries []retrievalQuery
	for number, line := range readLines(t, file) {
		if line == "" || line[0] == '#' {
			continue
		}
		text, ids, ok := strings.Cut(line, " => ")
		if !ok {
			t.Fatalf("%s:%d: want query => ids", file, number+1)
		}
		q := retrievalQuery{text: text}
		for _, id := range strings.Fields(ids) {
			q.want = append(q.want, SourceCloister+":"+id)
		}
		queries = append(queries, q)
	}
	return queries
}

func readLines(t testing.TB, file string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "retrieval", file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// score is how well a set of queries is answered.
type score struct {
	queries, hits int
	reciprocal    float64
}

func (s *score) add(rank int) {
	s.queries++
	if rank > 0 {
		s.hits++
		s.reciprocal += 1 / float64(rank)
	}
}

func (s score) hitRate() float64 { return float64(s.hits) / float64(s.queries) }
func (s score) mrr() float64     { return s.reciprocal / float64(s.queries) }

// rank returns the place of the first acceptable tool among the first eight, or 0.
func rank(c *Catalog, q retrievalQuery) (int, []string) {
	var got []string
	best := 0
	for i, e := range c.Search(q.text, 8) {
		got = append(got, strings.TrimPrefix(e.ID, SourceCloister+":"))
		if best == 0 && slices.Contains(q.want, e.ID) {
			best = i + 1
		}
	}
	return best, got
}

// TestRetrieval is the quality gate of the contract ("Guest API", Search): hit@8 >= 0.9 and MRR >= 0.75 over the whole set.
// The held-out third must reach them by itself, or the synonyms were made to measure.
func TestRetrieval(t *testing.T) {
	entries := loadTools(t)
	c, err := Build(entries)
	if err != nil {
		t.Fatal(err)
	}
	var whole score
	for _, file := range []string{"queries-dev.txt", "queries-heldout.txt", "queries-final.txt"} {
		var part score
		for _, q := range loadQueries(t, file) {
			for _, id := range q.want {
				if _, ok := c.Lookup(id); !ok {
					t.Errorf("%s: %q wants %s, which is no tool of the set", file, q.text, id)
				}
			}
			r, got := rank(c, q)
			part.add(r)
			whole.add(r)
			if r != 1 {
				t.Logf("%s: rank %d: %q\n    want %v\n    got  %v", file, r, q.text, q.want, got)
			}
		}
		t.Logf("%s: %d queries, hit@8 %.3f, MRR %.3f", file, part.queries, part.hitRate(), part.mrr())
		checkScore(t, file, part)
	}
	t.Logf("all: %d tools, %d queries, hit@8 %.3f, MRR %.3f", c.Len(), whole.queries, whole.hitRate(), whole.mrr())
	checkScore(t, "all", whole)
	if c.Len() < 200 || whole.queries < 120 {
		t.Errorf("%d tools and %d queries are too few to judge by", c.Len(), whole.queries)
	}
}

func checkScore(t *testing.T, set string, s score) {
	t.Helper()
	if s.hitRate() < 0.9 {
		t.Errorf("%s: hit@8 is %.3f, want at least 0.9", set, s.hitRate())
	}
	if s.mrr() < 0.75 {
		t.Errorf("%s: MRR is %.3f, want at least 0.75", set, s.mrr())
	}
}
