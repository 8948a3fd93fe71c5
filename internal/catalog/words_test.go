package catalog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// splitAll writes a text's words, each with its parts behind it.
func splitAll(text string) []string {
	var s splitter
	s.reset(text)
	var all []string
	for s.next() {
		word := string(s.word)
		var parts []string
		s.parts(func(part []byte) { parts = append(parts, string(part)) })
		if parts != nil {
			word += "=" + strings.Join(parts, "|")
		}
		all = append(all, word)
	}
	return all
}

func TestSplitter(t *testing.T) {
	long := strings.Repeat("a", 60)
	tests := map[string][]string{
		"":                            nil,
		" .-_/":                       nil,
		"create_issue":                {"create", "issue"},
		"create-issue.v2/now":         {"create", "issue", "v2", "now"},
		"createIssue":                 {"createissue=create|issue"},
		"CreateIssue":                 {"createissue=create|issue"},
		"HTTPServer":                  {"httpserver=http|server"},
		"getHTTPServerURL":            {"gethttpserverurl=get|http|server|url"},
		"listS3Buckets":               {"lists3buckets=list|s3|buckets"},
		"GitHub API":                  {"github=git|hub", "api"},
		"ABC":                         {"abc"},
		"aB":                          {"ab=a|b"},
		"ABc":                         {"abc=a|bc"},
		"user's don't":                {"user", "s", "don", "t"},
		"Crème Brûlée ŁÓDŹ straße":    {"creme", "brulee", "lodz", "strasse"},
		"cafe\u0301s":                 {"cafes"},
		"Ünïcode":                     {"unicode"},
		"поиск Файлов":                {"поиск", "файлов"},
		"поискФайлов":                 {"поискфайлов=поиск|файлов"},
		"天気予報":                        {"天気", "気予", "予報"},
		"天 x":                         {"天", "x"},
		"天気api":                       {"天気", "api"},
		"api天":                        {"api", "天"},
		long:                          {long[:maxWordLen]},
		long + "B" + long:             {long[:maxWordLen]},
		strings.Repeat("ß", 30):       {strings.Repeat("s", maxWordLen)},
		strings.Repeat("ж", 30):       {strings.Repeat("ж", maxWordLen/2)},
		"a" + strings.Repeat("ж", 30): {"a" + strings.Repeat("ж", 19)},
		"a\xffb\u200bc":               {"a", "b", "c"},
		"x\x00y\u202ez":               {"x", "y", "z"},
	}
	for text, want := range tests {
		if diff := cmp.Diff(want, splitAll(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestStem(t *testing.T) {
	same := [][]string{
		{"list", "lists", "listed", "listing"},
		{"create", "creates", "created", "creating", "creation"},
		{"delete", "deletes", "deleted", "deleting", "deletion"},
		{"query", "queries", "queried", "querying"},
		{"run", "runs", "running"},
		{"search", "searches", "searched", "searching"},
		{"issue", "issues"},
		{"box", "boxes"},
		{"process", "processes", "processing", "processed"},
		{"install", "installed", "installing"},
		{"merge", "merged", "merges", "merging"},
		{"connect", "connection", "connections", "connected"},
		{"repository", "repositories", "repo", "repos"},
		{"message", "messages", "msg"},
		{"kubernetes", "k8s"},
		{"directory", "folders", "dir", "directories"},
	}
	lex := theLexicon()
	for _, group := range same {
		for _, w := range group[1:] {
			if got, want := lex.stem(w), lex.stem(group[0]); got != want {
				t.Errorf("%s becomes %q, %s becomes %q", w, got, group[0], want)
			}
		}
	}
	different := [][2]string{{"new", "news"}, {"string", "str"}, {"thing", "the"}, {"status", "stat"}, {"address", "addres"}, {"set", "setting"}, {"during", "dure"}, {"sms", "sm"}, {"dns", "dn"}, {"aws", "aw"}}
	for _, pair := range different {
		if lex.stem(pair[0]) == lex.stem(pair[1]) {
			t.Errorf("%s and %s both become %q", pair[0], pair[1], lex.stem(pair[0]))
		}
	}
	for _, w := range []string{"", "a", "ing", "ss", "éing", "s3s", "ed", "tion", "eeee", "sses"} {
		if got := stem(w); w != "" && got == "" {
			t.Errorf("%q becomes nothing", w)
		}
	}
}

func TestLexicon(t *testing.T) {
	lex := theLexicon()
	for table, n := range map[string]int{"stop": len(lex.stop), "weak": len(lex.weak), "verb": len(lex.verb), "canon": len(lex.canon), "pairs": len(lex.pairs), "alts": len(lex.alts), "first": len(lex.first), "turns": len(lex.turns), "spells": len(lex.spells)} {
		if n == 0 {
			t.Errorf("the table %s is empty", table)
		}
	}
	for w := range lex.stop {
		if lex.weak[w] {
			t.Errorf("%q is both a stop word and a weak word", w)
		}
	}
	for from, list := range lex.alts {
		for _, alt := range list {
			if alt.stem == from || alt.weight <= 0 || alt.weight >= 1 {
				t.Errorf("%s stands for %s at %v", from, alt.stem, alt.weight)
			}
		}
	}
	for from, to := range lex.canon {
		if again, ok := lex.canon[to]; ok {
			t.Errorf("%s becomes %s, which becomes %s", from, to, again)
		}
	}
}

func TestLexiconErrors(t *testing.T) {
	for _, text := range []string{"= a b", "= a: x\n= b: x", "~0.5 a -> b", ">0.5 a b", ">2 a -> b", ">x a -> b", "?0.5 a -> b", "p1 -> x", "p0 a b -> x", "^-1 a -> b"} {
		if _, err := parseLexicon(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	if _, err := parseLexicon("# only a comment\n\nstop: a\n"); err != nil {
		t.Error(err)
	}
}
