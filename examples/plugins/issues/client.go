package main

import (
	"encoding/json"
	"strings"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/sdk"
)

const publicServer = "https://api.github.com"

// send makes one request below the repository's address and reads the answer into out.
func (w Where) send(method, path string, body, out any) (*guestabi.HTTPResponse, error) {
	base, err := w.base()
	if err != nil {
		return nil, err
	}
	r := &guestabi.HTTPRequest{Method: method, URL: base + path, Headers: map[string]string{
		"accept": "application/vnd.github+json", "x-github-api-version": "2022-11-28", "user-agent": "cloister-examples-issues"}}
	var anonymous bool
	if _, err := sdk.Config("anonymous", &anonymous); err != nil {
		return nil, err
	}
	if !anonymous {
		// The host puts the token in, for the hosts that the manifest names with it.
		r.SecretHeaders = map[string]guestabi.SecretHeader{"authorization": {Secret: "token", Prefix: "Bearer "}}
	}
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r.Body, r.Headers["content-type"] = string(text), "application/json"
	}
	res, err := sdk.HTTP(r)
	if err != nil {
		return nil, err
	}
	if res.Status < 200 || res.Status > 299 {
		return nil, refused(res)
	}
	if err := json.Unmarshal([]byte(res.Body), out); err != nil {
		return nil, sdk.Fail("invalid_response", "the server's answer to %s %s is not what it should be: %w", method, path, err)
	}
	return res, nil
}

// base is the repository's address.
func (w Where) base() (string, error) {
	server := publicServer
	if _, err := sdk.Config("baseUrl", &server); err != nil {
		return "", err
	}
	repository := w.Repository
	if repository == "" {
		if _, err := sdk.Config("repository", &repository); err != nil {
			return "", err
		}
	}
	if repository == "" {
		return "", sdk.Fail("not_configured", `no repository is configured; give one as "repository": "owner/name"`)
	}
	owner, name, ok := strings.Cut(repository, "/")
	if !ok || !plainName(owner) || !plainName(name) {
		return "", sdk.Fail("invalid_input", "%q is no repository; write owner/name", repository)
	}
	return strings.TrimSuffix(server, "/") + "/repos/" + owner + "/" + name, nil
}

// plainName keeps a name from being another path.
func plainName(s string) bool {
	if s == "" || len(s) > 100 || s == "." || s == ".." {
		return false
	}
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-') {
			return false
		}
	}
	return true
}

// refused turns an answer that is no success into a failure that a cell can act on.
func refused(res *guestabi.HTTPResponse) error {
	var said struct {
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(res.Body), &said) != nil || said.Message == "" {
		said.Message = "no reason given"
	}
	if len(said.Message) > 500 {
		said.Message = strings.ToValidUTF8(said.Message[:500], "") + "…"
	}
	code := "http_status"
	switch {
	case res.Status == 429 || res.Status == 403 && res.Headers["x-ratelimit-remaining"] == "0":
		code = "rate_limited"
	case res.Status == 401 || res.Status == 403:
		code = "not_allowed"
	case res.Status == 404 || res.Status == 410:
		code = "not_found"
	case res.Status == 422 || res.Status == 400:
		code = "invalid_input"
	}
	return sdk.Fail(code, "the server answered %d: %s", res.Status, said.Message)
}
