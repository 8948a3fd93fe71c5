//go:build !wasip1

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/sdk"
)

// server is a GitHub of three issues.
type server struct {
	t      *testing.T
	issues []map[string]any
	seen   []string
}

func newServer(t *testing.T) (*server, *httptest.Server) {
	s := &server{t: t}
	for i := 1; i <= 3; i++ {
		s.issues = append(s.issues, map[string]any{"number": i, "title": "Issue " + strconv.Itoa(i), "state": "open", "body": nil,
			"labels": []any{map[string]any{"name": "bug", "id": 7}}, "assignees": []any{}, "user": map[string]any{"login": "ada"}, "comments": 0,
			"html_url": "https://example.com/" + strconv.Itoa(i), "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-02T00:00:00Z"})
	}
	s.issues[1]["pull_request"] = map[string]any{"url": "x"}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /repos/o/n/issues", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("page") == "1" {
			w.Header().Set("Link", `<x>; rel="next", <y>; rel="last"`)
		}
		s.write(w, 200, s.issues)
	})
	mux.HandleFunc("GET /repos/o/n/issues/{number}", func(w http.ResponseWriter, r *http.Request) {
		if i := s.find(w, r); i != nil {
			s.write(w, 200, i)
		}
	})
	mux.HandleFunc("POST /repos/o/n/issues", func(w http.ResponseWriter, r *http.Request) {
		i := map[string]any{"number": len(s.issues) + 1, "state": "open", "user": nil}
		for k, v := range s.body(r) {
			i[k] = v
		}
		delete(i, "labels") // the server answers with objects
		s.issues = append(s.issues, i)
		s.write(w, 201, i)
	})
	mux.HandleFunc("PATCH /repos/o/n/issues/{number}", func(w http.ResponseWriter, r *http.Request) {
		if i := s.find(w, r); i != nil {
			for k, v := range s.body(r) {
				i[k] = v
			}
			s.write(w, 200, i)
		}
	})
	mux.HandleFunc("POST /repos/o/n/issues/{number}/comments", func(w http.ResponseWriter, r *http.Request) {
		s.write(w, 201, map[string]any{"id": 5000000000, "body": s.body(r)["body"], "user": map[string]any{"login": "bot"}, "html_url": "u", "created_at": "c"})
	})
	mux.HandleFunc("GET /repos/o/n/issues/{number}/comments", func(w http.ResponseWriter, r *http.Request) {
		s.write(w, 200, []any{map[string]any{"id": 1, "body": "Me too", "user": nil}})
	})
	mux.HandleFunc("/repos/o/{status}/", func(w http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(r.PathValue("status"))
		if err != nil {
			status = 404
		}
		w.Header().Set("X-RateLimit-Remaining", r.Header.Get("x-test-remaining"))
		s.write(w, status, map[string]any{"message": "said " + r.PathValue("status")})
	})
	return s, httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.seen = append(s.seen, r.Method+" "+r.URL.RequestURI())
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			t.Errorf("%s: authorization %q", r.URL, r.Header.Get("Authorization"))
		}
		mux.ServeHTTP(w, r)
	}))
}

func (s *server) find(w http.ResponseWriter, r *http.Request) map[string]any {
	n, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || n < 1 || n > len(s.issues) {
		s.write(w, 404, map[string]any{"message": "Not Found"})
		return nil
	}
	return s.issues[n-1]
}

func (s *server) body(r *http.Request) map[string]any {
	var v map[string]any
	if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
		s.t.Errorf("%s: %v", r.URL, err)
	}
	return v
}

func (s *server) write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.t.Error(err)
	}
}

// attach answers the plugin's host functions the way a host does, without its checks.
func attach(t *testing.T, config map[string]any) {
	t.Cleanup(sdk.SetTestHost(func(function string, request json.RawMessage) (any, error) {
		switch function {
		case guestabi.HostConfigGet:
			var r guestabi.ConfigRequest
			if err := json.Unmarshal(request, &r); err != nil {
				return nil, err
			}
			return config[r.Key], nil
		case guestabi.HostHTTP:
			var r guestabi.HTTPRequest
			if err := json.Unmarshal(request, &r); err != nil {
				return nil, err
			}
			return exchange(&r)
		}
		return nil, fmt.Errorf("no host function %s", function)
	}))
}

func exchange(r *guestabi.HTTPRequest) (*guestabi.HTTPResponse, error) {
	req, err := http.NewRequest(r.Method, r.URL, strings.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	for k, v := range r.Headers {
		req.Header.Set(k, v)
	}
	for k, v := range r.SecretHeaders {
		if v.Secret == "token" {
			req.Header.Set(k, v.Prefix+"s3cret")
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	out := &guestabi.HTTPResponse{Status: res.StatusCode, URL: r.URL, Headers: map[string]string{}, Body: string(body)}
	for k := range res.Header {
		out.Headers[strings.ToLower(k)] = res.Header.Get(k)
	}
	return out, nil
}

func TestTools(t *testing.T) {
	s, srv := newServer(t)
	defer srv.Close()
	attach(t, map[string]any{"baseUrl": srv.URL + "/", "repository": "o/n"})
	one := `{"number":1,"title":"Issue 1","state":"open","body":"","labels":["bug"],"assignees":[],"author":"ada","comments":0,"url":"https://example.com/1","createdAt":"2026-01-01T00:00:00Z","updatedAt":"2026-01-02T00:00:00Z"}`
	three := strings.NewReplacer(`:1,`, `:3,`, `Issue 1`, `Issue 3`, `com/1`, `com/3`).Replace(one)
	tests := []struct{ tool, input, request, want string }{
		{"issues_list", `{"labels":["bug","a&b"]}`, "GET /repos/o/n/issues?labels=bug%2Ca%26b&page=1&per_page=30&state=open", `{"issues":[` + one + `,` + three + `],"page":1,"more":true}`},
		{"issues_list", `{"state":"all","page":2,"perPage":5,"repository":"o/n"}`, "GET /repos/o/n/issues?page=2&per_page=5&state=all", `{"issues":[` + one + `,` + three + `],"page":2,"more":false}`},
		{"issues_get", `{"number":1}`, "GET /repos/o/n/issues/1", one},
		{"issues_create", `{"title":"New","body":"Text","labels":["x"]}`, "POST /repos/o/n/issues",
			`{"number":4,"title":"New","state":"open","body":"Text","labels":[],"assignees":[],"author":"","comments":0,"url":"","createdAt":"","updatedAt":""}`},
		{"issues_update", `{"number":3,"patch":{"state":"closed"}}`, "PATCH /repos/o/n/issues/3", strings.Replace(three, `"open"`, `"closed"`, 1)},
		{"issues_comment", `{"number":3,"body":"Done"}`, "POST /repos/o/n/issues/3/comments", `{"id":5000000000,"author":"bot","body":"Done","url":"u","createdAt":"c"}`},
		{"issues_comments", `{"number":3}`, "GET /repos/o/n/issues/3/comments?per_page=100", `{"comments":[{"id":1,"author":"","body":"Me too","url":"","createdAt":""}],"more":false}`},
	}
	for _, tt := range tests {
		s.seen = nil
		got, err := sdk.Run(tt.tool, json.RawMessage(tt.input))
		if err != nil {
			t.Errorf("%s: %v", tt.tool, err)
			continue
		}
		if string(got) != tt.want {
			t.Errorf("%s (-want +got):\n%s", tt.tool, cmp.Diff(tt.want, string(got)))
		}
		if diff := cmp.Diff([]string{tt.request}, s.seen); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.tool, diff)
		}
	}
}

func TestFailures(t *testing.T) {
	_, srv := newServer(t)
	defer srv.Close()
	run := func(repository string, number int) *sdk.Failure {
		_, err := sdk.Run("issues_get", map[string]any{"repository": repository, "number": number})
		var f *sdk.Failure
		if !errors.As(err, &f) {
			t.Fatalf("%s: %v", repository, err)
		}
		return f
	}
	attach(t, map[string]any{"baseUrl": srv.URL})
	for repository, code := range map[string]string{"o/401": "not_allowed", "o/403": "not_allowed", "o/404": "not_found", "o/410": "not_found",
		"o/422": "invalid_input", "o/429": "rate_limited", "o/500": "http_status", "": "not_configured"} {
		f := run(repository, 1)
		if f.Code != code {
			t.Errorf("%q: %s (%s), want %s", repository, f.Code, f.Message, code)
		}
	}
	if f := run("o/n", 99); f.Code != "not_found" || f.Message != "the server answered 404: Not Found" {
		t.Errorf("no such issue: %+v", f)
	}
	// A name must not lead to another address.
	for _, evil := range []string{"../admin", "o/..", "./n", "o/n/../../x", "o", "o/", "/n", "o/n?x", "o/n#x", "o%2f/n", "o/n\n", "ö/n", strings.Repeat("a", 101) + "/n"} {
		if f := run(evil, 1); f.Code != "invalid_input" {
			t.Errorf("%q: %+v", evil, f)
		}
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	for name, body := range map[string]string{"text": "<html>", "array": "[]", "nothing": "", "wrong types": `{"number":"x"}`} {
		restore := sdk.SetTestHost(func(function string, _ json.RawMessage) (any, error) {
			if function == guestabi.HostConfigGet {
				return nil, nil
			}
			return guestabi.HTTPResponse{Status: 200, Body: body}, nil
		})
		_, err := sdk.Run("issues_get", map[string]any{"repository": "o/n", "number": 1})
		restore()
		var f *sdk.Failure
		if !errors.As(err, &f) || f.Code != "invalid_response" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestScope(t *testing.T) {
	v, err := scope(guestabi.ScopeContext{Config: map[string]json.RawMessage{"repository": json.RawMessage(`"o/n"`)}})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"comment":{"$tool":"issues_comment","args":["number","body"]},"comments":{"$tool":"issues_comments","args":["number"]},"create":{"$tool":"issues_create"},` +
		`"get":{"$tool":"issues_get","args":["number"]},"list":{"$tool":"issues_list","mapInput":true},"repository":"o/n","states":["open","closed","all"],` +
		`"update":{"$tool":"issues_update","args":["number","patch"]}}`
	if string(raw) != want {
		t.Errorf("scope = %s", raw)
	}
}

func TestMapInput(t *testing.T) {
	tests := []struct{ args, want string }{
		{`[]`, `{}`},
		{`["closed"]`, `{"state":"closed"}`},
		{`["all",{"labels":["a"]}]`, `{"labels":["a"],"state":"all"}`},
		{`[{"state":"open","page":2}]`, `{"page":2,"state":"open"}`},
		{`[null]`, `{}`},
		{`["all",{"state":"open"}]`, "state is given twice; leave it out of the second argument"},
		{`[7]`, "argument 1, filter, does not fit: json: cannot unmarshal number into Go value of type map[string]interface {}"},
		{`["all",{},1]`, "Issues.list takes a state and a filter, both optional"},
	}
	for _, tt := range tests {
		var args []json.RawMessage
		if err := json.Unmarshal([]byte(tt.args), &args); err != nil {
			t.Fatal(err)
		}
		v, err := mapInput([]string{"list"}, args)
		got, jsonErr := json.Marshal(v)
		if jsonErr != nil {
			t.Fatal(jsonErr)
		}
		if err != nil {
			got = []byte(err.Error())
		}
		if string(got) != tt.want {
			t.Errorf("mapInput(%s) = %s, want %s", tt.args, got, tt.want)
		}
	}
}

// The manifest says more than the types do, but not something else.
func TestManifestFitsTheCode(t *testing.T) {
	raw, err := os.ReadFile("cloister.plugin.json")
	if err != nil {
		t.Fatal(err)
	}
	type schema struct {
		Properties map[string]any
		Required   []string
	}
	var m struct {
		Tools []struct {
			Name                string
			Parameters, Returns schema
		}
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	d, err := sdk.Describe()
	if err != nil || len(d.Tools) != len(m.Tools) {
		t.Fatalf("%d tools in the code, %d in the manifest, %v", len(d.Tools), len(m.Tools), err)
	}
	for i, tool := range d.Tools {
		if m.Tools[i].Name != tool.Name {
			t.Errorf("tool %d is %s in the code and %s in the manifest", i, tool.Name, m.Tools[i].Name)
		}
		for what, pair := range map[string][2]any{"parameters": {tool.Parameters, m.Tools[i].Parameters}, "returns": {tool.Returns, m.Tools[i].Returns}} {
			var code schema
			if err := json.Unmarshal(pair[0].(json.RawMessage), &code); err != nil {
				t.Fatal(err)
			}
			manifest := pair[1].(schema)
			for name := range code.Properties {
				if manifest.Properties[name] == nil {
					t.Errorf("%s: the manifest's %s have no %q", tool.Name, what, name)
				}
			}
			slices.Sort(code.Required)
			slices.Sort(manifest.Required)
			if diff := cmp.Diff(code.Required, manifest.Required); diff != "" || len(code.Properties) != len(manifest.Properties) {
				t.Errorf("%s: %s differ (-code +manifest):\n%s", tool.Name, what, diff)
			}
		}
	}
}
