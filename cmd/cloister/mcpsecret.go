package main

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/internal/forms"
)

// Names and values that look like secrets. It is a guess, made to warn people.
var (
	secretName  = regexp.MustCompile(`(?i)token|secret|passw|api[_-]?key|auth|credential|private[_-]?key|cookie|session[_-]?id`)
	secretValue = regexp.MustCompile(`^(sk-|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abprs]-|AKIA|eyJ|hf_|Bearer )`)
)

// isPlain says that a value is a text, and not the place of a secret.
func isPlain(v mcp.Value) bool { return v.Env == "" && v.File == "" && len(v.Command) == 0 }

// plainSecrets says where a server's configuration holds what looks like a secret,
// in plain text. The secrets themselves are not shown.
func plainSecrets(s *mcp.Server) []string {
	var found []string
	for _, list := range []struct {
		what   string
		values map[string]mcp.Value
	}{{"the variable ", s.Env}, {"the header ", s.Headers}} {
		for _, name := range slices.Sorted(maps.Keys(list.values)) {
			v := list.values[name]
			if isPlain(v) && v.Text != "" && (secretName.MatchString(name) || secretValue.MatchString(v.Text)) {
				found = append(found, list.what+name)
			}
		}
	}
	for i, arg := range s.Args {
		flag, value, assigned := strings.Cut(arg, "=")
		after := i > 0 && strings.HasPrefix(s.Args[i-1], "-") && !strings.Contains(s.Args[i-1], "=") && secretName.MatchString(s.Args[i-1]) && !strings.HasPrefix(arg, "-")
		if after || secretValue.MatchString(arg) || assigned && value != "" && (secretName.MatchString(flag) || secretValue.MatchString(value)) {
			found = append(found, fmt.Sprintf("argument %d", i+1))
		}
	}
	if u, err := url.Parse(s.URL); err == nil {
		for _, name := range slices.Sorted(maps.Keys(u.Query())) {
			if secretName.MatchString(name) || strings.EqualFold(name, "key") {
				found = append(found, "the parameter "+name+" of the url")
			}
		}
		if u.User != nil {
			found = append(found, "the user of the url")
		}
	}
	return found
}

// shownURL is a URL without what may be secret in it.
func shownURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "(not a URL)"
	}
	if u.User != nil {
		u.User = url.User("…")
	}
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	u.Fragment, u.RawFragment = "", ""
	return strings.ReplaceAll(u.String(), url.PathEscape("…"), "…")
}

// parseValue reads the right side of --env and --header: env:VARIABLE, file:PATH,
// or the text itself.
func parseValue(text string) (mcp.Value, error) {
	if name, ok := strings.CutPrefix(text, "env:"); ok {
		if wrong := forms.Variable(name); wrong != "" {
			return mcp.Value{}, fmt.Errorf("%q %s", name, wrong)
		}
		return mcp.Value{Env: name}, nil
	}
	if path, ok := strings.CutPrefix(text, "file:"); ok {
		if path == "" {
			return mcp.Value{}, fmt.Errorf("file: needs a path")
		}
		path, err := filepath.Abs(path)
		return mcp.Value{File: path}, err
	}
	if wrong := forms.Text(text); wrong != "" {
		return mcp.Value{}, fmt.Errorf("the value %s", wrong)
	}
	return mcp.Value{Text: text}, nil
}
