package egress

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseRule(t *testing.T) {
	long := strings.Repeat("GET ", maxRuleMethods+1)
	for _, tt := range []struct {
		rule Rule
		want []string // path and a word of each problem
	}{
		{Rule{Host: "api.example.com"}, nil},
		{Rule{Host: "API.Example.com"}, nil},
		{Rule{Host: "localhost:8080", Insecure: true}, nil},
		{Rule{Host: "*.example.com:8443", Methods: []string{"GET", "VERSION-CONTROL"}, Paths: []string{"/", "/a/", "/a%20b/c", "/é"[:1]}}, nil},
		{Rule{Host: "127.0.0.1:80"}, nil},
		{Rule{Host: "[2001:db8::1]"}, nil},
		{Rule{Host: "[::1]:8080"}, nil},
		{Rule{Host: "xn--bcher-kva.example"}, nil},
		{Rule{}, []string{"/host missing"}},
		{Rule{Host: "*"}, []string{"/host name each host"}},
		{Rule{Host: "*:443"}, []string{"/host name each host"}},
		{Rule{Host: "*.com"}, []string{"/host two labels"}},
		{Rule{Host: "*."}, []string{"/host missing"}},
		{Rule{Host: "*.*.example.com"}, []string{"/host first label"}},
		{Rule{Host: "api.*.com"}, []string{"/host first label"}},
		{Rule{Host: "api*.example.com"}, []string{"/host first label"}},
		{Rule{Host: "*.1.2.3.4"}, []string{"/host not before an IP"}},
		{Rule{Host: "*.[::1]"}, []string{"/host not before an IP"}},
		{Rule{Host: "*.example.0x7f"}, []string{"/host number"}},
		{Rule{Host: "https://api.example.com"}, []string{"/host without https://"}},
		{Rule{Host: "api.example.com/v1"}, []string{"/host paths"}},
		{Rule{Host: "user@api.example.com"}, []string{"/host user names"}},
		{Rule{Host: "api.example.com."}, []string{"/host dot"}},
		{Rule{Host: "bücher.example"}, []string{"/host punycode"}},
		{Rule{Host: "::1"}, []string{"/host brackets"}},
		{Rule{Host: "[::ffff:127.0.0.1]"}, []string{"/host IPv4"}},
		{Rule{Host: "[fe80::1%eth0]"}, []string{"/host zone"}},
		{Rule{Host: "127.1"}, []string{"/host four decimal"}},
		{Rule{Host: "0177.0.0.1"}, []string{"/host four decimal"}},
		{Rule{Host: "api.example.com:0"}, []string{"/host port"}},
		{Rule{Host: "api.example.com:99999"}, []string{"/host port"}},
		{Rule{Host: "api.example.com:https"}, []string{"/host port"}},
		{Rule{Host: "a b"}, []string{"/host character"}},
		{Rule{Host: strings.Repeat("a", 300)}, []string{"/host 253"}},
		{
			Rule{Host: "", Methods: []string{"get", "CONNECT", "trace", "", "*", "GE T", "G\r\nX"}, Paths: []string{"repos", "/repos/*", "/a?b", "/a/../b", "/a%2fb", "/a//b", "", "/%zz", "/a/%2e%2e", "/" + strings.Repeat("a", maxRulePath)}},
			[]string{
				"/host missing",
				"/methods/0 capitals: GET", "/methods/1 never", "/methods/2 never", "/methods/3 1 to 32", "/methods/4 capital letters", "/methods/5 capital letters", "/methods/6 capital letters",
				"/paths/0 starts with a slash", "/paths/1 prefixes", "/paths/2 query", `/paths/3 ".."`, "/paths/4 encoded slash", "/paths/5 two slashes", "/paths/6 starts with a slash", "/paths/7 hexadecimal", `/paths/8 ".."`, "/paths/9 at most",
			},
		},
		{Rule{Host: "a.example", Methods: strings.Fields(long), Paths: make([]string, maxRulePaths+1)}, []string{"/methods at most", "/paths at most"}},
	} {
		err := ParseRule(tt.rule)
		if (err == nil) != (tt.want == nil) {
			t.Errorf("%+v: %v", tt.rule, err)
			continue
		}
		if err == nil {
			continue
		}
		var e *RuleError
		if !errors.As(err, &e) || !errors.Is(err, ErrRule) || len(e.Problems) != len(tt.want) {
			t.Errorf("%+v: got %v, want %d problems", tt.rule, err, len(tt.want))
			continue
		}
		for i, p := range e.Problems {
			path, word, _ := strings.Cut(tt.want[i], " ")
			if p.Path != path || !strings.Contains(p.Message, word) {
				t.Errorf("%+v: problem %+v, want %q", tt.rule, p, tt.want[i])
			}
		}
		if len(err.Error()) > maxErrorText+len("…") {
			t.Errorf("the text has %d bytes", len(err.Error()))
		}
	}
}

// TestUnusableRules: one rule that cannot be read closes them all.
func TestUnusableRules(t *testing.T) {
	n := everywhere{}
	for _, rules := range [][]Rule{
		{{Host: "api.example.com"}, {Host: "*"}},
		make([]Rule, maxRules+1),
	} {
		_, err := New(&Options{Resolver: &n}).Do(t.Context(), rules, &Request{URL: "https://api.example.com/"})
		if e := wantKind(t, err, ErrRule); e.Code() != "invalid_rule" || n.asked != 0 {
			t.Errorf("got %v", err)
		}
	}
}

// TestRefusals holds the texts: which part does not fit, and what would.
func TestRefusals(t *testing.T) {
	rules := []Rule{
		{Host: "a.example.com", Paths: []string{"/x/"}},
		{Host: "a.example.com", Methods: []string{"POST"}, Paths: []string{"/y/"}},
		{Host: "*.b.example.com:8443"},
	}
	for _, tt := range []struct {
		rules       []Rule
		method, url string
		want        string
	}{
		{nil, "GET", "https://a.example.com/", "host: the plugin has no permission for any host; name a.example.com in permissions.hosts of its manifest"},
		{rules, "GET", "https://c.example.com:1/", "host: no entry of permissions.hosts names c.example.com:1; there are a.example.com, a.example.com, *.b.example.com:8443"},
		{rules, "GET", "https://x.b.example.com/", "host: no entry of permissions.hosts names port 443 of x.b.example.com; there are a.example.com, a.example.com, *.b.example.com:8443"},
		{rules, "GET", "http://a.example.com/x/", "scheme: a.example.com may only be asked over https; use https, or set insecure to true in permissions.hosts"},
		{rules, "PUT", "https://a.example.com/x/", "method: PUT is not allowed for a.example.com; allowed are GET, HEAD, POST"},
		{rules, "GET", "https://a.example.com/y/1", `path: no path prefix of a.example.com covers "/y/1" for GET; add one to paths in permissions.hosts`},
		{rules, "POST", "https://a.example.com/y/1", ""},
		{rules, "HEAD", "https://a.example.com/x/1", ""},
		{rules, "GET", "https://x.y.b.example.com:8443/", ""},
	} {
		set, err := parseRules(tt.rules)
		if err != nil {
			t.Fatal(err)
		}
		tg, problem := parseTarget(tt.url)
		if problem != "" {
			t.Fatal(problem)
		}
		got := ""
		if err := set.allow(tt.method, tg); err != nil {
			got = wantKind(t, err, ErrNotAllowed).Detail
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.method, tt.url, diff)
		}
	}
}
