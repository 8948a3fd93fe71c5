package egress

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func okHandler(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }

func redirectTo(location string, status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Location"] = []string{location} // no cleaning, as http.Redirect does
		w.WriteHeader(status)
	}
}

// hostileLocations is where an allowed server may send its client. None may be asked.
var hostileLocations = []struct {
	location string
	also     error // what the refusal wraps, nil for the redirect alone
	part     string
}{
	{"https://evil.example/", ErrNotAllowed, "host"},
	{"//evil.example/", ErrNotAllowed, "host"},
	{"https://victim.example/", ErrNotAllowed, "host"},
	{"http://api.example.com/public/", nil, "https to http"},
	{"http://plain.example.com/", nil, "https to http"},
	{"https://plain.example.com:80/", ErrNotAllowed, "port"},
	{"https://api.example.com:8443/public/", ErrNotAllowed, "port"},
	{"https://127.0.0.1/", ErrNotAllowed, "host"},
	{"https://169.254.169.254/latest/meta-data/", ErrNotAllowed, "host"},
	{"https://[::1]/", ErrNotAllowed, "host"},
	{"https://2130706433/", nil, "number"},
	{"https://0x7f.1/", nil, "number"},
	{"https://[::ffff:127.0.0.1]/", nil, "IPv4"},
	{"https://[fe80::1%25lo]/", nil, "zone"},
	{"https://private.wild.example.com/", ErrAddress, "reach"},
	{"https://mixed.wild.example.com/", ErrAddress, "reach"},
	{"/admin", ErrNotAllowed, "path"},
	{"admin", ErrNotAllowed, "path"},
	{"../public/x", ErrNotAllowed, "path"},
	{"/open/../admin", ErrNotAllowed, "path"},
	{"/open/%2e%2e/admin", nil, ".."},
	{"/open/..;/admin", nil, ".."},
	{"/open/..%2fadmin", nil, "slash"},
	{"/open/%252e%252e/admin", nil, "twice"},
	{`/open/..\admin`, nil, "backslash"},
	{`https:\\evil.example\`, nil, "backslash"},
	{`\\evil.example/`, nil, "backslash"},
	{`/\evil.example/`, nil, "backslash"},
	{"https://user:pass@api.example.com/public/", nil, "user names"},
	{"https://api.example.com@evil.example/public/", nil, "user names"},
	{"https://api.example.com./public/", nil, "dot"},
	{"https://evil.example#@api.example.com/public/", ErrNotAllowed, "host"},
	{"https://bücher.example/", nil, ""},
	{"https:evil.example", nil, ""},
	{"https:/evil.example/", nil, ""},
	{"https:///evil.example/", nil, ""},
	{"https://", nil, ""},
	{"ftp://api.example.com/public/", nil, "https://"},
	{"file:///etc/passwd", nil, "https://"},
	{"javascript:alert(1)", nil, ""},
	{"data:text/plain,x", nil, ""},
	{"https://api.example.com:99999/", nil, ""},
	{"https://api.example.com:x/", nil, ""},
	{"%", nil, ""},
	{"/" + strings.Repeat("a", maxURLBytes), nil, "8 KiB"},
}

// redirectRules are what the plugin of the redirect tests may do: /open and /start on the first host.
var redirectRules = []Rule{
	{Host: "api.example.com", Methods: []string{"GET", "HEAD", "POST", "PUT"}, Paths: []string{"/start", "/open"}},
	{Host: "*.wild.example.com"},
	{Host: "plain.example.com", Insecure: true},
}

func TestHostileRedirects(t *testing.T) {
	w := newWorld(t, nil)
	var strays sync.Map
	stray := func(rw http.ResponseWriter, r *http.Request) { strays.Store(r.Host+r.RequestURI, true) }
	w.serve("https", "api.example.com", func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/start" {
			stray(rw, r)
			return
		}
		i, _ := strconv.Atoi(r.FormValue("case")) // the test made it
		status, _ := strconv.Atoi(r.FormValue("status"))
		redirectTo(hostileLocations[i].location, status)(rw, r)
	})
	w.serve("https", "victim.example", stray)
	w.serve("http", "plain.example.com", stray)
	w.names.add("private.wild.example.com", "10.0.0.1")
	w.names.add("mixed.wild.example.com", public.String(), "127.0.0.1")

	for i, tt := range hostileLocations {
		status := []int{301, 302, 303, 307, 308}[i%5]
		url := fmt.Sprintf("https://api.example.com/start?case=%d&status=%d", i, status)
		_, err := w.client.Do(t.Context(), redirectRules, &Request{URL: url})
		if kindOf(err) != ErrRedirect {
			t.Errorf("%s: got %v, want a refused redirect", quote(tt.location), err)
			continue
		}
		e := wantKind(t, err, ErrRedirect)
		if tt.also != nil {
			wantKind(t, err, tt.also)
		}
		if !strings.Contains(e.Error(), tt.part) || e.Code() != "redirect_refused" {
			t.Errorf("%s: error %q (%s) does not speak of %q", quote(tt.location), e, e.Code(), tt.part)
		}
		if strings.Contains(e.Error(), "10.0.0.1") {
			t.Errorf("%s: the text names the address: %s", quote(tt.location), e)
		}
	}
	strays.Range(func(k, _ any) bool { t.Errorf("a redirect reached %v", k); return true })
	for _, to := range w.dials.all() {
		if to.Addr() != public {
			t.Errorf("connected to %v", to)
		}
	}
}

// harmlessLocations is where a server may send its client, with what is asked of whom.
var harmlessLocations = []struct{ location, body, url string }{
	{"/open", "/open", "https://api.example.com/open"},
	{"open/x?y=z", "/open/x?y=z", "https://api.example.com/open/x?y=z"},
	{"//api.example.com:443/open", "/open", "https://api.example.com/open"},
	{"https://A.wild.example.com?q", "wild /?q", "https://a.wild.example.com/?q"},
	{"/open/a b?q=é#frag", "/open/a%20b?q=%C3%A9", "https://api.example.com/open/a%20b?q=%C3%A9"},
	{"/admin/../open/./x", "/open/x", "https://api.example.com/open/x"},
}

func TestHarmlessRedirects(t *testing.T) {
	w := newWorld(t, nil)
	var location string
	w.serve("https", "api.example.com", func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/start" {
			redirectTo(location, 302)(rw, r)
			return
		}
		fmt.Fprint(rw, r.RequestURI)
	})
	w.serve("https", "a.wild.example.com", func(rw http.ResponseWriter, r *http.Request) { fmt.Fprint(rw, "wild "+r.RequestURI) })
	for _, tt := range harmlessLocations {
		location = tt.location
		resp, err := w.client.Do(t.Context(), redirectRules, &Request{URL: "https://api.example.com/start"})
		if err != nil {
			t.Errorf("%s: %v", tt.location, err)
			continue
		}
		if string(resp.Body) != tt.body || resp.URL != tt.url {
			t.Errorf("%s: body %q, url %s", tt.location, resp.Body, resp.URL)
		}
	}
}

// TestRedirectMethods holds the changes of method and body to RFC 9110, 15.4.
func TestRedirectMethods(t *testing.T) {
	w := newWorld(t, nil)
	w.serve("http", "api.example.com", func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/start" {
			status, _ := strconv.Atoi(r.FormValue("status")) // the test made it
			redirectTo("/open", status)(rw, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		rw.Header().Set("Saw", fmt.Sprintf("%s %q %s %d", r.Method, body, r.Header.Get("Content-Type"), r.ContentLength))
	})
	rules := []Rule{{Host: "api.example.com", Methods: []string{"GET", "HEAD", "POST", "PUT"}, Insecure: true}}
	const kept = `%s "data" text/x 4`
	for _, tt := range []struct {
		status       int
		method, want string
	}{
		{301, "POST", `GET "" 0`}, {302, "POST", `GET "" 0`}, {303, "POST", `GET "" 0`}, {307, "POST", kept}, {308, "POST", kept},
		{301, "PUT", kept}, {302, "PUT", kept}, {303, "PUT", `GET "" 0`}, {307, "PUT", kept}, {308, "PUT", kept},
		{301, "HEAD", `HEAD "" 0`}, {303, "HEAD", `HEAD "" 0`}, {307, "HEAD", `HEAD "" 0`}, {303, "GET", `GET "" 0`}, {302, "GET", `GET "" 0`},
	} {
		r := &Request{Method: tt.method, URL: fmt.Sprintf("http://api.example.com/start?status=%d", tt.status)}
		if tt.method == "POST" || tt.method == "PUT" {
			r.Body, r.Headers = []byte("data"), map[string]string{"content-type": "text/x"}
		}
		resp, err := w.client.Do(t.Context(), rules, r)
		if err != nil {
			t.Errorf("%s %d: %v", tt.method, tt.status, err)
			continue
		}
		want := strings.Replace(tt.want, "%s", tt.method, 1)
		if got := strings.Join(strings.Fields(resp.Headers["saw"]), " "); got != want {
			t.Errorf("%s %d: the second hop was %s, want %s", tt.method, tt.status, got, want)
		}
	}
}

// TestRedirectToAnotherMethod: POST is allowed on one path, GET on none; a 303 would be a GET.
func TestRedirectToAnotherMethod(t *testing.T) {
	w := newWorld(t, nil)
	s := w.serve("http", "api.example.com", redirectTo("/open", 303))
	rules := []Rule{{Host: "api.example.com", Methods: []string{"POST"}, Insecure: true}}
	_, err := w.client.Do(t.Context(), rules, &Request{Method: "POST", URL: "http://api.example.com/"})
	if e := wantKind(t, err, ErrNotAllowed); kindOf(err) != ErrRedirect || !strings.Contains(e.Error(), "method: GET") || s.requests.Load() != 1 {
		t.Errorf("got %v after %d requests", err, s.requests.Load())
	}
}

func TestMaxRedirects(t *testing.T) {
	for _, tt := range []struct{ most, hops int }{{0, 6}, {1, 2}, {-1, 1}} {
		w := newWorld(t, &Options{MaxRedirects: tt.most})
		s := w.serve("http", "api.example.com", redirectTo("/", 302))
		_, err := w.client.Do(t.Context(), rulesFor("api.example.com"), &Request{URL: "http://api.example.com/"})
		wantKind(t, err, ErrRedirect)
		if n := s.requests.Load(); n != int64(tt.hops) {
			t.Errorf("MaxRedirects %d: %d requests, want %d", tt.most, n, tt.hops)
		}
	}
}

// TestCredentialsStayWithTheirOrigin: secrets and the plugin's own credentials are gone once a hop leaves the origin,
// and do not come back when a later hop does.
func TestCredentialsStayWithTheirOrigin(t *testing.T) {
	w := newWorld(t, nil)
	var mu sync.Mutex
	var seen []string
	note := func(next string) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			mu.Lock()
			seen = append(seen, fmt.Sprintf("%s %s|%s|%s|%s", r.Host, r.Header.Get("X-Token"), r.Header.Get("Authorization"), r.Header.Get("Cookie"), r.Header.Get("X-Plain")))
			mu.Unlock()
			if next != "" && r.URL.Path != "/last" {
				redirectTo(next, 307)(rw, r)
			}
		}
	}
	w.serve("https", "a.example.com", func(rw http.ResponseWriter, r *http.Request) {
		next := "/second"
		if r.URL.Path == "/second" {
			next = "https://b.example.com/"
		}
		note(next)(rw, r)
	})
	w.serve("https", "b.example.com", note("https://a.example.com/last"))
	_, err := w.client.Do(t.Context(), rulesFor("a.example.com", "b.example.com"), &Request{
		URL:     "https://a.example.com/",
		Headers: map[string]string{"authorization": "mine", "cookie": "c=d", "x-plain": "plain"},
		Secrets: map[string]Secret{"x-token": {Value: "sesame", Prefix: "Bearer ", Hosts: []string{"a.example.com", "b.example.com"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"a.example.com Bearer sesame|mine|c=d|plain",
		"a.example.com Bearer sesame|mine|c=d|plain",
		"b.example.com |||plain",
		"a.example.com |||plain",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("the servers saw %q, want %q", seen, want)
	}
}

// TestSchemeAndPortAreOfTheOrigin: an upgrade to https, or another port, is another origin.
func TestSchemeAndPortAreOfTheOrigin(t *testing.T) {
	for _, next := range []string{"https://a.example.com/", "http://a.example.com:8080/"} {
		from, problem := parseTarget("http://a.example.com/")
		if problem != "" {
			t.Fatal(problem)
		}
		h := &hop{method: "GET", target: from, headers: http.Header{"Cookie": {"x"}}, secrets: http.Header{"X-Token": {"x"}}}
		if err := h.follow(302, next); err != nil {
			t.Fatal(err)
		}
		if len(h.headers) != 0 || len(h.secrets) != 0 || h.target.String() != next {
			t.Errorf("%s: %v %v %v are left", next, h.target, h.headers, h.secrets)
		}
	}
}

// TestTwoLocations: clients differ in which one they take.
func TestTwoLocations(t *testing.T) {
	w := newWorld(t, nil)
	w.serve("http", "api.example.com", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header()["Location"] = []string{"/a", "https://evil.example/"}
		rw.WriteHeader(302)
	})
	_, err := w.client.Do(t.Context(), rulesFor("api.example.com"), &Request{URL: "http://api.example.com/"})
	if e := wantKind(t, err, ErrRedirect); !strings.Contains(e.Error(), "2 places") {
		t.Errorf("got %v", e)
	}
}

// TestNotARedirect: statuses and answers that look like one are handed to the plugin.
func TestNotARedirect(t *testing.T) {
	w := newWorld(t, nil)
	w.serve("http", "api.example.com", func(rw http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.FormValue("status")) // the test made it
		if l := r.FormValue("l"); l != "" {
			rw.Header().Set("Location", l)
		}
		rw.WriteHeader(status)
	})
	for _, query := range []string{"status=302", "status=300&l=/x", "status=304&l=/x", "status=201&l=/x", "status=305&l=/x", "status=404&l=/x"} {
		resp, err := w.client.Do(t.Context(), rulesFor("api.example.com"), &Request{URL: "http://api.example.com/?" + query})
		if err != nil || "status="+strconv.Itoa(resp.Status) != query[:10] {
			t.Errorf("%s: %v, %v", query, resp, err)
		}
	}
}
