package settings

import (
	"encoding/json"
	"fmt"

	"github.com/cloister-wasm/cloister/host/mcp"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// serverForm is a server as files have it.
func serverForm(s *mcp.Server) (json.RawMessage, error) {
	form := struct {
		Command    string               `json:"command,omitempty"`
		Args       []string             `json:"args,omitempty"`
		Dir        string               `json:"dir,omitempty"`
		Env        map[string]valueForm `json:"env,omitempty"`
		InheritEnv []string             `json:"inheritEnv,omitempty"`
		URL        string               `json:"url,omitempty"`
		Headers    map[string]valueForm `json:"headers,omitempty"`
		OAuth      *oauthForm           `json:"oauth,omitempty"`
		Private    bool                 `json:"allowPrivate,omitempty"`
		Approval   string               `json:"approval,omitempty"`
		Allow      *[]string            `json:"allow,omitempty"` // an empty list allows nothing
		Deny       []string             `json:"deny,omitempty"`
		Idempotent []string             `json:"idempotent,omitempty"`
		Disabled   bool                 `json:"disabled,omitempty"`
		Limits     *limitsForm          `json:"limits,omitempty"`
	}{
		Command: s.Command, Args: s.Args, Dir: s.Dir, Env: valueForms(s.Env), InheritEnv: s.InheritEnv, URL: s.URL,
		Headers: valueForms(s.Headers), Approval: string(s.Approval), Deny: s.Deny, Disabled: s.Disabled, Private: s.AllowPrivate, Idempotent: s.Idempotent,
	}
	if s.Allow != nil {
		form.Allow = &s.Allow
	}
	if l := (limitsForm{s.Limits.ConnectTimeout.Milliseconds(), s.Limits.CallTimeout.Milliseconds()}); l != (limitsForm{}) {
		form.Limits = &l
	}
	if o := s.OAuth; o != nil {
		form.OAuth = &oauthForm{Grant: o.Grant, ClientID: o.ClientID, Scopes: o.Scopes, Redirect: o.Redirect}
		if secret := valueForm(o.ClientSecret); !secret.plain() {
			form.OAuth.ClientSecret = &secret
		}
	}
	text := schema.Marshal(form)
	if err := schema.Check(text); err != nil {
		return nil, fmt.Errorf("the server cannot be written down: %w", err)
	}
	return text, nil
}

// limitsForm is the limits that the command line can set, and those that other clients have.
type limitsForm struct {
	ConnectTimeoutMs int64 `json:"connectTimeoutMs,omitempty"`
	CallTimeoutMs    int64 `json:"callTimeoutMs,omitempty"`
}

type oauthForm struct {
	Grant        string     `json:"grant,omitempty"`
	ClientID     string     `json:"clientId,omitempty"`
	ClientSecret *valueForm `json:"clientSecret,omitempty"`
	Scopes       []string   `json:"scopes,omitempty"`
	Redirect     string     `json:"redirect,omitempty"`
}

// valueForm is a value as files have it: a string, or the place of a secret.
type valueForm mcp.Value

func (v valueForm) plain() bool { return v.Env == "" && v.File == "" && len(v.Command) == 0 }

// MarshalJSON implements json.Marshaler.
func (v valueForm) MarshalJSON() ([]byte, error) {
	if v.plain() {
		return schema.Marshal(v.Text), nil
	}
	return schema.Marshal(struct {
		Env     string   `json:"env,omitempty"`
		File    string   `json:"file,omitempty"`
		Command []string `json:"command,omitempty"`
		Prefix  string   `json:"prefix,omitempty"`
	}{v.Env, v.File, v.Command, v.Prefix}), nil
}

func valueForms(values map[string]mcp.Value) map[string]valueForm {
	out := map[string]valueForm{}
	for name, v := range values {
		out[name] = valueForm(v)
	}
	return out
}
