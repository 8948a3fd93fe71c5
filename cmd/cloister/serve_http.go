package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cloister-wasm/cloister/host/gateway"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/internal/safefile"
)

// Names of the tokens that are made where none is configured.
const (
	clientToken   = "client"
	operatorToken = "operator"
)

// serveDir is the folder of what serve keeps: tokens, and where it can be reached.
func serveDir() (string, error) {
	dir, err := dataDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "serve"), nil
}

// tokenFile gives the file of a token: that of the flag, or one in the data folder.
func tokenFile(flag, name string) (string, error) {
	if flag != "" {
		return filepath.Abs(flag)
	}
	dir, err := serveDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, name+"-token"), nil
}

const maxBearerFile = 4096

// ensureToken reads a token, or makes one for this user alone.
func ensureToken(path string) (token string, made bool, err error) {
	// A folder that holds secrets may be one to read from only.
	if token, err = readToken(path); !errors.Is(err, fs.ErrNotExist) {
		return token, false, err
	}
	unlock, err := lockFile(path)
	if err != nil {
		return "", false, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	token, err = readToken(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, false, err
	}
	token = "cloister_" + strings.ToLower(rand.Text()+rand.Text())
	if err := safefile.ReplaceBytes(path, 0o600, []byte(token+"\n")); err != nil {
		return "", false, &exitError{code: exitInternal, err: err}
	}
	return token, true, nil
}

// readToken reads the one line of a token's file.
func readToken(path string) (string, error) {
	data, err := safefile.ReadSecret(path, maxBearerFile)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if len(token) < gateway.MinTokenBytes || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", usageError(fmt.Errorf("%s holds no bearer token: one word of %d characters or more", path, gateway.MinTokenBytes), "remove the file, and one is made")
	}
	return token, nil
}

// tokens gives the tokens of one kind, by name, and the file of the one that a person
// can use; empty where all are of the configuration.
func (s *service) tokens(flag, name string, configured map[string]settings.Secret, always bool) (map[string]string, string, error) {
	out := map[string]string{}
	for who, source := range configured {
		token, err := source.Read()
		if err != nil {
			return nil, "", usageError(fmt.Errorf("the token %s: %w", who, err), "")
		}
		out[who] = token
	}
	if flag == "" && len(configured) > 0 && !always {
		return out, "", nil
	}
	path, err := tokenFile(flag, name)
	if err != nil {
		return nil, "", err
	}
	token, made, err := ensureToken(path)
	if err != nil {
		return nil, "", err
	}
	if out[name] != "" {
		return nil, "", usageError(fmt.Errorf("the configuration has a token called %s, which is the name of the one in %s", name, path), "give it another name")
	}
	out[name] = token
	if made {
		s.log.Info("made a bearer token", "name", name, "file", path)
	}
	return out, path, nil
}

// serveHTTP serves clients and approvers on one address.
func (s *service) serveHTTP(ctx context.Context) error {
	cfg := s.Settings()
	o := gateway.HTTPOptions{AllowedOrigins: cfg.Serve.AllowedOrigins}
	if len(cfg.Serve.AllowedHosts) > 0 {
		o.AllowedHosts = cfg.Serve.AllowedHosts
	}
	var err error
	file := ""
	if o.Tokens, file, err = s.tokens(s.flags.tokenFile, clientToken, cfg.Serve.Tokens, false); err != nil {
		return err
	}
	approvers := ""
	if !s.flags.noApprovals {
		if o.ApprovalTokens, approvers, err = s.tokens(s.flags.approvalsTokenFile, operatorToken, cfg.Serve.ApprovalTokens, true); err != nil {
			return err
		}
	}
	handler, err := s.Gateway().Handler(o)
	if err != nil {
		return usageError(err, "")
	}
	l, err := net.Listen("tcp", s.flags.http)
	if err != nil {
		return usageError(fmt.Errorf("--http: %w", err), "")
	}
	failed := s.listen(l, s.debug.Handler(handler))
	base := "http://" + l.Addr().String()
	if approvers != "" {
		if err := s.announce(base, approvers); err != nil {
			return err
		}
	}
	s.log.Info("serving MCP", "url", base+"/mcp", "tokenFile", file, "approvals", s.approvalsURL)
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return &exitError{code: exitInternal, err: err}
	}
}

// listenForApprovals takes approvals on a free port of this machine: a client on
// standard input has nothing for it.
func (s *service) listenForApprovals(context.Context) error {
	if s.flags.noApprovals {
		return nil
	}
	cfg := s.Settings()
	tokens, file, err := s.tokens(s.flags.approvalsTokenFile, operatorToken, cfg.Serve.ApprovalTokens, true)
	if err != nil {
		return err
	}
	// The handler wants clients too; nobody knows this token, and /mcp is not passed on.
	handler, err := s.Gateway().Handler(gateway.HTTPOptions{Tokens: map[string]string{"nobody": rand.Text() + rand.Text()}, ApprovalTokens: tokens})
	if err != nil {
		return usageError(err, "")
	}
	only := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/approvals" && !strings.HasPrefix(r.URL.Path, "/approvals/") {
			http.NotFound(w, r)
			return
		}
		handler.ServeHTTP(w, r)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.log.Warn("approvals are taken from the client alone", "error", err)
		return nil
	}
	s.listen(l, only)
	return s.announce("http://"+l.Addr().String(), file)
}

// servingFile says where a running serve takes approvals.
type servingFile struct {
	PID       int       `json:"pid"`
	URL       string    `json:"url"`
	TokenFile string    `json:"tokenFile"`
	Started   time.Time `json:"started"`
}

// announce writes the file that "cloister approvals" finds this process by. It is
// locked as long as the process lives: what is left of one that died is not believed,
// since its port may be somebody else's by then.
func (s *service) announce(url, tokenFile string) error {
	dir, err := serveDir()
	if err != nil {
		return err
	}
	s.approvalsURL = url + "/approvals"
	path := filepath.Join(dir, "running-"+strconv.Itoa(os.Getpid())+".json")
	unlock, err := lockFile(path)
	if err != nil {
		return err
	}
	s.forget = func() error {
		err := os.Remove(path)
		return errors.Join(err, unlock(), removeQuietly(path+".lock"))
	}
	text, err := json.Marshal(servingFile{os.Getpid(), s.approvalsURL, tokenFile, time.Now().UTC()})
	if err != nil {
		return &exitError{code: exitInternal, err: err}
	}
	if err := safefile.ReplaceBytes(path, 0o600, append(text, '\n')); err != nil {
		return &exitError{code: exitInternal, err: err}
	}
	return nil
}

// removeQuietly removes a file that may be gone already.
func removeQuietly(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
