package egress

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// TestFuzzCorpora: a fuzz target without seeds tests nothing in an ordinary run.
func TestFuzzCorpora(t *testing.T) {
	for _, name := range []string{"FuzzURL", "FuzzRule", "FuzzRedirect", "FuzzHeader", "FuzzResponse"} {
		if files, err := filepath.Glob("testdata/fuzz/" + name + "/*"); err != nil || len(files) < 5 {
			t.Errorf("%s has %d seeds: %v", name, len(files), err)
		}
	}
	if _, err := os.Stat("testdata/fuzz"); err != nil {
		t.Error(err)
	}
}

// FuzzURL: no address that is accepted escapes its rule. The oracle knows nothing of this package's parser: it reads
// the address with net/url, the wire with net/http's server side, and the path in the ways of many servers.
func FuzzURL(f *testing.F) {
	for _, tt := range hostileURLs {
		f.Add(tt.url)
	}
	for _, url := range slices.Sorted(maps.Keys(harmlessURLs)) {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		tg, problem := parseTarget(raw)
		if problem != "" {
			return
		}
		set, err := parseRules(attackRules)
		if err != nil {
			t.Fatal(err)
		}
		checkAgain(t, tg)
		if set.allow("GET", tg) != nil {
			return
		}
		u, err := url.Parse(raw)
		if err != nil || u.User != nil || u.Fragment != "" || u.Opaque != "" {
			t.Fatalf("accepted %q, which net/url reads as %+v: %v", raw, u, err)
		}
		if !oracleAllows(u, attackRules) {
			t.Fatalf("accepted %q against the rules", raw)
		}
		checkWire(t, tg, u)
	})
}

// checkAgain: what is sent reads as what was checked.
func checkAgain(t *testing.T, tg *target) {
	again, problem := parseTarget(tg.String())
	if problem != "" || again.String() != tg.String() || again.origin() != tg.origin() {
		t.Fatalf("%s reads as %v the second time: %s", tg, again, problem)
	}
}

// checkWire writes the request and reads it as a server does.
func checkWire(t *testing.T, tg *target, u *url.URL) {
	h := &hop{method: "GET", target: tg, headers: http.Header{}}
	req, err := h.request(t.Context())
	if err != nil {
		t.Fatalf("%s was checked and cannot be sent: %v", tg, err)
	}
	var wire bytes.Buffer
	if err := req.Write(&wire); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(&wire)
	got, err := http.ReadRequest(in)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		t.Fatalf("%s leaves bytes behind the request", tg)
	}
	wantPath := normalForm(u.EscapedPath())
	if wantPath == "" {
		wantPath = "/"
	}
	if got.URL.EscapedPath() != wantPath || got.URL.RawQuery != u.RawQuery || !strings.EqualFold(hostOf(got.Host), u.Hostname()) && !sameAddr(hostOf(got.Host), u.Hostname()) {
		t.Fatalf("the server sees %q of %q, net/url reads %q", got.RequestURI, got.Host, u)
	}
}

var encodings = regexp.MustCompile("%[0-9A-Fa-f]{2}")

// normalForm is RFC 3986's in other words: an encoding that decodes to an unreserved character is that character.
func normalForm(escaped string) string {
	return encodings.ReplaceAllStringFunc(escaped, func(e string) string {
		if plain, err := url.PathUnescape(e); err == nil && strings.Contains("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~", plain) {
			return plain
		}
		return strings.ToUpper(e)
	})
}

func hostOf(authority string) string { return (&url.URL{Host: authority}).Hostname() }

func sameAddr(a, b string) bool {
	x, err1 := netip.ParseAddr(a)
	y, err2 := netip.ParseAddr(b)
	return err1 == nil && err2 == nil && x == y
}

// oracleAllows is the rules in other words.
func oracleAllows(u *url.URL, rules []Rule) bool {
	for _, r := range rules {
		host, port := r.Host, ""
		if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
			host, port = host[:i], host[i+1:]
		}
		scheme := strings.ToLower(u.Scheme)
		own := map[string]string{"https": "443", "http": "80"}[scheme]
		if port == "" {
			port = own
		}
		gotPort := u.Port()
		if gotPort == "" {
			gotPort = own
		}
		name := strings.ToLower(u.Hostname())
		base, wild := strings.CutPrefix(host, "*")
		fits := name == host || sameAddr(name, strings.Trim(host, "[]")) || wild && len(name) > len(base) && strings.HasSuffix(name, base)
		if !fits || own == "" || port != gotPort || scheme == "http" && !r.Insecure {
			continue
		}
		if len(r.Paths) == 0 || oraclePath(u.EscapedPath(), r.Paths) {
			return true
		}
	}
	return false
}

// oraclePath says whether a path lies below one of the prefixes for every server that we know of.
func oraclePath(escaped string, prefixes []string) bool {
	for _, p := range prefixes {
		readings := serverReadings(escaped)
		all := len(readings) > 0
		for _, read := range readings {
			clean := path.Clean("/" + read)
			below := strings.HasPrefix(clean+"/", strings.TrimSuffix(p, "/")+"/")
			all = all && below
		}
		if all {
			return true
		}
	}
	return false
}

// serverReadings gives a path as servers and proxies turn it: decoded one to four times, backslashes as slashes, path
// parameters dropped, wide characters narrowed, invisible ones and trailing dots or blanks dropped, case kept.
func serverReadings(escaped string) []string {
	first, err := url.PathUnescape(escaped)
	if err != nil {
		return nil
	}
	readings := []string{first}
	for i := 0; i < len(readings) && i < 4; i++ {
		if d, err := url.PathUnescape(readings[i]); err == nil && d != readings[i] {
			readings = append(readings, d)
		}
	}
	changes := []func(string) string{
		func(s string) string { return strings.ReplaceAll(s, `\`, "/") },
		func(s string) string {
			parts := strings.Split(s, "/")
			for i, p := range parts {
				parts[i], _, _ = strings.Cut(p, ";")
			}
			return strings.Join(parts, "/")
		},
		func(s string) string {
			return strings.NewReplacer("．", ".", "․", ".", "‥", "..", "／", "/", "＼", "/", "％", "%").Replace(s)
		},
		func(s string) string {
			return strings.Map(func(r rune) rune {
				if unicode.In(r, unicode.Cf, unicode.Cc) {
					return -1
				}
				return r
			}, s)
		},
		func(s string) string {
			parts := strings.Split(s, "/")
			for i, p := range parts {
				if p != "." && p != ".." {
					parts[i] = strings.Trim(p, " ")
				}
			}
			return strings.Join(parts, "/")
		},
		func(s string) string { s, _, _ = strings.Cut(s, "\x00"); return s },
	}
	for _, change := range changes {
		for _, s := range readings {
			if c := change(s); c != s {
				readings = append(readings, c)
			}
		}
		if len(readings) > 64 {
			break
		}
	}
	return readings
}

// FuzzRule: a rule is refused with words, or it allows nothing beyond what it says.
func FuzzRule(f *testing.F) {
	f.Add("api.example.com", "GET", "/public/", false, "https://api.example.com/public/x")
	f.Add("*.example.com:8443", "POST", "/", true, "http://a.example.com:8443/x")
	f.Add("127.0.0.1", "GET", "/a%20b/", true, "http://127.0.0.1/a b/")
	f.Add("0x7f.1", "GET", "/", true, "http://0x7f.1/")
	f.Add("*", "GET", "/*", false, "https://x/")
	f.Add("a.example.", "CONNECT", "/../", false, "https://a.example./")
	f.Add("a.example", "GET", "/v1/", false, "https://a.example/v1//../x")
	f.Add("A.Example", "GET", "/%76%31", false, "https://a.example/v1/x")
	f.Fuzz(func(t *testing.T, host, method, prefix string, insecure bool, raw string) {
		r := Rule{Host: host, Methods: []string{method}, Paths: []string{prefix}, Insecure: insecure}
		if err := ParseRule(r); err != nil {
			var e *RuleError
			if !errors.As(err, &e) || len(e.Problems) == 0 || len(err.Error()) > maxErrorText+len("…") || !utf8.ValidString(err.Error()) {
				t.Fatalf("refused without usable words: %q", err)
			}
			return
		}
		for _, b := range []byte(host + method) {
			if b <= ' ' || b >= 0x7f || strings.IndexByte(`/\@#?%`, b) >= 0 {
				t.Fatalf("accepted the rule %+q %+q", host, method)
			}
		}
		tg, problem := parseTarget(raw)
		if problem != "" {
			return
		}
		set, err := parseRules([]Rule{r})
		if err != nil {
			t.Fatal(err)
		}
		if set.allow(method, tg) != nil {
			return
		}
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatalf("accepted %q: %v", raw, err)
		}
		decoded, err := url.PathUnescape(prefix)
		if err != nil {
			t.Fatal(err)
		}
		if !oracleAllows(u, []Rule{{Host: strings.ToLower(host), Paths: []string{decoded}, Insecure: insecure}}) {
			// A prefix that looks like one of the oracle's readings itself is beyond the oracle.
			if len(serverReadings(u.EscapedPath())) == 1 {
				t.Fatalf("the rule %+v accepted %q", r, raw)
			}
		}
	})
}

// FuzzRedirect: whatever a server writes into Location is refused, or is one address for everybody.
func FuzzRedirect(f *testing.F) {
	for _, tt := range hostileLocations {
		f.Add(tt.location)
	}
	for _, tt := range harmlessLocations {
		f.Add(tt.location)
	}
	f.Fuzz(func(t *testing.T, location string) {
		base, problem := parseTarget("https://api.example.com/public/x?y")
		if problem != "" {
			t.Fatal(problem)
		}
		next, problem := base.resolve(location)
		if problem != "" {
			return
		}
		checkAgain(t, next)
		u, err := url.Parse(next.String())
		if err != nil {
			t.Fatal(err)
		}
		checkWire(t, next, u)
		set, err := parseRules(attackRules)
		if err != nil {
			t.Fatal(err)
		}
		if set.allow("GET", next) == nil && !oracleAllows(u, attackRules) {
			t.Fatalf("%q led to %s against the rules", location, next)
		}
	})
}

// FuzzHeader: a header that is accepted is one header on the wire, and nothing else.
func FuzzHeader(f *testing.F) {
	for _, header := range [][2]string{
		{"Host", "evil"},
		{"host", "x"},
		{"Transfer-Encoding", "chunked"},
		{"Transfer_Encoding", "chunked"},
		{"User-Agent", ""},
		{"user-agent", "x"},
		{"Content-Length", "0"},
		{"Connection", "keep-alive"},
		{"Trailer", "X"},
		{"Expect", "100-continue"},
		{"A B", "x"},
		{"Cookie", "a=b; c=d"},
		{"Pragma", "no-cache"},
		{"Content-Type", "text/x"},
		{"X-\x00", "y"},
		{"x`|~", "z"},
		{"Accept-Encoding", "gzip"},
	} {
		f.Add(header[0], header[1])
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		h, err := New(nil).firstHop(&Request{Method: "POST", URL: "https://api.example.com/", Headers: map[string]string{name: value}, Body: []byte("data")})
		if err != nil {
			wantKind(t, err, kindOf(err))
			return
		}
		req, err := h.request(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var wire bytes.Buffer
		if err := req.Write(&wire); err != nil {
			t.Fatal(err)
		}
		got, err := http.ReadRequest(bufio.NewReader(&wire))
		if err != nil {
			t.Fatalf("%q: %q is not HTTP: %v", name, value, err)
		}
		body, err := io.ReadAll(got.Body)
		if err != nil || string(body) != "data" || got.Host != "api.example.com" || got.ContentLength != 4 || len(got.TransferEncoding) != 0 || !got.Close {
			t.Fatalf("%q: %q changed the request: %+v with body %q", name, value, got, body)
		}
		if strings.EqualFold(name, "pragma") {
			got.Header.Del("Cache-Control") // net/http's reader adds it
		}
		want := 4 // Accept-Encoding, Connection, Content-Length, User-Agent
		if !strings.EqualFold(name, "user-agent") {
			want++
		}
		if len(got.Header) != want || got.Header.Get(name) != value && value != "" {
			t.Fatalf("%q: %q gave %d headers: %v", name, value, len(got.Header), got.Header)
		}
	})
}

// FuzzResponse: whatever a server answers gives a response within the bounds, or an error.
func FuzzResponse(f *testing.F) {
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
		"HTTP/1.1 200 OK\r\n\r\nto the end",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX: y\r\n\r\n",
		"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: /b\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1099511627776\r\n\r\nx",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
		"HTTP/1.1 999 ?\r\nX-\xc3\xbf: \xc3\xbe\r\n\r\n",
		"HTTP/0.9 200\r\n\r\n",
		"HTTP/2.0 200 OK\r\n\r\n",
		"220 mail.example ESMTP\r\n",
		"",
		"HTTP/1.1 20",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx",
		"HTTP/1.1 000 OK\r\n\r\n",
		"HTTP/1.1 200 OK\n\nx",
		"HTTP/1.1 200 OK\r\n X: y\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08",
	} {
		f.Add([]byte(answer))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		const most = 1000
		c := New(&Options{Resolver: &everywhere{}, MaxResponseBytes: most, MaxRedirects: -1})
		c.dial = pipeTo(answer)
		resp, err := c.Do(t.Context(), rulesFor("api.example.com"), &Request{URL: "http://api.example.com/"})
		if err != nil {
			if e := wantKind(t, err, kindOf(err)); !utf8.ValidString(e.Error()) {
				t.Fatalf("the text is not UTF-8: %q", e)
			}
			return
		}
		if resp.Status < 200 || resp.Status > 999 || len(resp.Body) > most {
			t.Fatalf("got %d with %d bytes", resp.Status, len(resp.Body))
		}
		for name, value := range resp.Headers {
			if name != strings.ToLower(name) || !utf8.ValidString(name) || !utf8.ValidString(value) {
				t.Fatalf("header %q: %q", name, value)
			}
		}
	})
}
