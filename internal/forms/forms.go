// Package forms says what names, addresses and texts of a configuration must look
// like, wherever they are given: in a file, as a flag, or in the file of another
// program.
//
// Each function gives what is wrong with a text, as the rest of a sentence that
// begins with the text or its key, and nothing for one that is well formed.
package forms

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/internal/catalog"
)

var (
	pluginID   = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*\.[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	serverName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$`)
	tokenName  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}$`)
	variable   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,255}$`)
	header     = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$")
)

// NotEmpty takes every text but the empty one.
func NotEmpty(s string) string {
	if s == "" {
		return "must not be empty"
	}
	return ""
}

// Text takes what a program can be given as an argument: no NUL.
func Text(s string) string {
	if strings.ContainsRune(s, 0) {
		return "must not hold a NUL character"
	}
	return ""
}

// PluginID takes the id of a plugin, as the manifest's schema has it.
func PluginID(id string) string {
	if !pluginID.MatchString(id) {
		return "is not the id of a plugin, such as acme.hello"
	}
	return ""
}

// ServerName takes the name of an MCP server; see host/mcp.Server.
func ServerName(name string) string {
	switch {
	case name == "core":
		return "core is the name of Cloister's own tools; choose another"
	case !serverName.MatchString(name):
		return "is not the name of a server: letters, digits, _, . and -, at most 64"
	}
	return ""
}

// TokenName takes the name of a bearer token, which is in logs and traces.
func TokenName(name string) string {
	if !tokenName.MatchString(name) {
		return "is not a name: letters, digits, _, ., @ and -, at most 64"
	}
	return ""
}

// Variable takes the name of a variable of the environment.
func Variable(name string) string {
	if !variable.MatchString(name) {
		return "is not the name of a variable of the environment"
	}
	return ""
}

// Header takes the name of an HTTP header (RFC 9110, token).
func Header(name string) string {
	if !header.MatchString(name) {
		return "is not the name of an HTTP header"
	}
	return ""
}

// Address takes a host and a port to listen on.
func Address(s string) string {
	if _, _, err := net.SplitHostPort(s); err != nil {
		return "is no address to listen on; write a host and a port, such as 127.0.0.1:7420"
	}
	return ""
}

// Origin takes an origin of web pages (RFC 6454): scheme, host and port.
func Origin(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.TrimRight(s, "/") != u.Scheme+"://"+u.Host {
		return "is no origin of web pages, such as https://app.example"
	}
	return ""
}

// Approvals are the words for when calls need approval, as package host has them.
var Approvals = []string{"never", "ask", "always"}

// Approval takes one of Approvals.
func Approval(s string) string {
	if !slices.Contains(Approvals, s) {
		return "must be one of " + strings.Join(Approvals, ", ")
	}
	return ""
}

// Rule takes a rule of an allow or deny list.
func Rule(rule string) string {
	_, err := catalog.NewLayer("tools", catalog.Policy{Allow: []string{rule}})
	var pe *catalog.PatternError
	if errors.As(err, &pe) {
		return fmt.Sprintf("rule %q %s", pe.Pattern, pe.Reason)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
