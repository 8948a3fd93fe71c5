package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/gateway"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/safefile"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// approvalsServer is a running serve that takes approvals.
type approvalsServer struct {
	url, token string
}

// servers gives the one of the flags, or all of this user that run.
func (f *approvalsFlags) servers() ([]*approvalsServer, error) {
	if f.url == "" {
		if f.tokenFile != "" {
			return nil, usageError(errors.New("--token-file is for --url"), "")
		}
		return runningServers()
	}
	address, err := approvalsURL(f.url)
	if err != nil {
		return nil, usageError(fmt.Errorf("--url: %w", err), "")
	}
	path, err := tokenFile(f.tokenFile, operatorToken)
	if err != nil {
		return nil, err
	}
	token, err := readToken(path)
	if err != nil {
		return nil, usageError(fmt.Errorf("the token for --url: %w", err), "--token-file FILE names it")
	}
	return []*approvalsServer{{address, token}}, nil
}

// approvalsURL checks an address that a token is sent to.
func approvalsURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("is no address, such as http://127.0.0.1:7420/approvals")
	}
	ip := net.ParseIP(u.Hostname())
	here := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !here) {
		return "", errors.New("the token is sent to https, and to http on this machine, only")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/approvals"
	}
	return strings.TrimSuffix(u.String(), "/"), nil
}

// maxServingFile bounds the file that a running serve leaves.
const maxServingFile = 64 << 10

// runningServers finds every running serve of this user. A file whose process is gone
// is removed, not believed: its port may belong to anybody by now.
func runningServers() ([]*approvalsServer, error) {
	dir, err := serveDir()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(globQuote(dir), "running-*.json"))
	if err != nil {
		return nil, &exitError{code: exitInternal, err: err}
	}
	var out []*approvalsServer
	for _, file := range files {
		if !heldBySomebody(file) {
			_ = removeQuietly(file) // it is looked at again next time
			continue
		}
		s, err := readServing(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it ended just now
		}
		if err != nil {
			return nil, &exitError{code: exitFailed, err: err}
		}
		out = append(out, s)
	}
	return out, nil
}

// globQuote makes the characters of a pattern stand for themselves.
func globQuote(path string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(path)
}

// heldBySomebody says whether a process lives that announced itself by a file.
func heldBySomebody(file string) bool {
	f, err := os.OpenFile(file+".lock", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close() // which unlocks it
	return errors.Is(safefile.TryLock(f, true), safefile.ErrLocked)
}

func readServing(file string) (*approvalsServer, error) {
	data, err := safefile.ReadTrusted(file, maxServingFile)
	if err != nil {
		return nil, err
	}
	var s servingFile
	if err := schema.DecodeInto(data, &s, &schema.DecodeOptions{AllowUnknown: true}); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	address, err := approvalsURL(s.URL)
	if err != nil {
		return nil, fmt.Errorf("%s: url: %w", file, err)
	}
	token, err := readToken(s.TokenFile)
	if err != nil {
		return nil, err
	}
	return &approvalsServer{address, token}, nil
}

// approvalsHTTP goes nowhere else than where it is sent: no proxy, no redirect.
var approvalsHTTP = &http.Client{
	Transport: &http.Transport{
		DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, MaxResponseHeaderBytes: 64 << 10, TLSHandshakeTimeout: 10 * time.Second,
	},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// maxApprovalsBytes bounds a list of calls.
const maxApprovalsBytes = 64 << 20

// do sends a request and gives the answer's body, bounded.
func (s *approvalsServer) do(ctx context.Context, method, address string, body []byte, header map[string]string) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	for name, value := range header {
		req.Header.Set(name, value)
	}
	res, err := approvalsHTTP.Do(req)
	if err != nil {
		return nil, nil, fmt.Errorf("the cloister serve at %s cannot be reached: %w", s.url, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxApprovalsBytes+1))
	if err == nil && len(data) > maxApprovalsBytes {
		err = errors.New("the answer is too long")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the cloister serve at %s: %w", s.url, err)
	}
	return res, data, nil
}

// refusal is what a server says instead of an answer.
func (s *approvalsServer) refusal(res *http.Response, body []byte) error {
	text := strings.TrimSpace(plaintext.Clip(string(body), 500))
	return fmt.Errorf("the cloister serve at %s says %d: %s", s.url, res.StatusCode, text)
}

// list gives the calls that wait. With seconds it waits as long as the list is the one
// of the tag; then nil calls and the same tag mean that nothing changed.
func (s *approvalsServer) list(ctx context.Context, tag string, seconds int) (calls []gateway.Approval, next string, err error) {
	address, header := s.url, map[string]string{}
	if seconds > 0 {
		address += "?wait=" + strconv.Itoa(seconds)
	}
	if tag != "" {
		header["If-None-Match"] = tag
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+30*time.Second)
	defer cancel()
	res, data, err := s.do(ctx, http.MethodGet, address, nil, header)
	if err != nil {
		return nil, "", err
	}
	switch res.StatusCode {
	case http.StatusNotModified:
		return nil, tag, nil
	case http.StatusOK:
	default:
		return nil, "", s.refusal(res, data)
	}
	var list gateway.ApprovalList
	if err := schema.DecodeInto(data, &list, &schema.DecodeOptions{AllowUnknown: true}); err != nil {
		return nil, "", fmt.Errorf("the cloister serve at %s: %w", s.url, err)
	}
	return nonNil(list.Approvals), res.Header.Get("ETag"), nil
}

// decide answers a question.
func (s *approvalsServer) decide(ctx context.Context, id string, d *host.Decision) error {
	body, err := json.Marshal(d)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	res, data, err := s.do(ctx, http.MethodPost, s.url+"/"+url.PathEscape(id), body, map[string]string{"Content-Type": "application/json"})
	if err != nil {
		return err
	}
	switch {
	case res.StatusCode == http.StatusNotFound:
		return errors.New("the call does not wait any more: somebody answered, or it ended")
	case res.StatusCode/100 != 2:
		return s.refusal(res, data)
	}
	return nil
}
