package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/cloister-wasm/cloister/internal/schema"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// Values of OAuth.Grant.
const (
	grantCode   = "authorization_code"
	grantClient = "client_credentials"
)

const defaultRedirect = "http://127.0.0.1/callback"

// newOAuth makes the SDK's handler for what the configuration says.
func newOAuth(ctx context.Context, w *web) (auth.OAuthHandler, error) {
	o := w.s.u.cfg.OAuth
	client := &http.Client{Transport: &authTransport{w: w, out: authEgress(w)}, CheckRedirect: w.authRedirect}
	var known *oauthex.ClientCredentials
	if o.ClientID != "" {
		known = &oauthex.ClientCredentials{ClientID: o.ClientID}
		if !o.ClientSecret.empty() {
			secret, err := o.ClientSecret.resolve(ctx)
			if err != nil {
				return nil, fmt.Errorf("oauth.clientSecret: %w", err)
			}
			w.s.secrets.add(secret, true)
			known.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: secret}
		}
	}
	if o.Grant == grantClient {
		h, err := extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{Credentials: known, HTTPClient: client})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrAuthorization, err)
		}
		return &guarded{h: h, w: w}, nil
	}
	redirect := o.Redirect
	fill(&redirect, defaultRedirect)
	kept := &keptTokens{w: w, client: client}
	cfg := &auth.AuthorizationCodeHandlerConfig{
		PreregisteredClient: known, RedirectURL: redirect, RequestRefreshToken: true, Client: client,
		AuthorizationCodeFetcher: w.consent, NewTokenSource: kept.source, InitialTokenSource: kept.load(),
	}
	if o.ClientMetadataURL != "" {
		cfg.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: o.ClientMetadataURL}
	}
	if known == nil {
		cfg.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			RedirectURIs: []string{redirect}, ClientName: w.s.u.m.o.Name, TokenEndpointAuthMethod: "none",
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}}
	}
	if len(o.Scopes) > 0 {
		cfg.ScopeFilter = func([]string) []string { return o.Scopes }
	}
	h, err := auth.NewAuthorizationCodeHandler(cfg)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAuthorization, err)
	}
	return &guarded{h: h, w: w}, nil
}

// consent asks a person.
func (w *web) consent(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	ask := w.s.u.m.o.Authorize
	if ask == nil {
		return nil, fmt.Errorf("%w: a person has to consent first; connect to the server with a program that can ask, such as `cloister mcp test`", ErrAuthorization)
	}
	defer pauseDeadline(ctx)()
	a, err := ask(ctx, w.s.u.cfg.Name, args.URL)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAuthorization, err)
	}
	return &auth.AuthorizationResult{Code: a.Code, State: a.State, Iss: a.Issuer}, nil
}

// guarded marks what fails as a matter of authorization, one flow at a time.
type guarded struct {
	h  auth.OAuthHandler
	w  *web
	mu sync.Mutex
}

func (g *guarded) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	ts, err := g.h.TokenSource(ctx)
	if err != nil || ts == nil {
		return nil, err
	}
	return ts, nil
}

// Authorize implements auth.OAuthHandler.
func (g *guarded) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.h.Authorize(ctx, req, resp); err != nil {
		err = g.w.s.secrets.clean(fmt.Errorf("%w: %w", ErrAuthorization, err))
		if c := callFrom(ctx); c != nil {
			c.failed(err, true)
		}
		return err
	}
	return nil
}

// authorize puts the current token into a request that is sent again.
func (w *web) authorize(req *http.Request) {
	if w.oauth == nil {
		return
	}
	ts, err := w.oauth.TokenSource(req.Context())
	if err != nil || ts == nil {
		return // the answer will be 401
	}
	if t, err := ts.Token(); err == nil {
		req.Header.Set("Authorization", "Bearer "+t.AccessToken)
	}
}

// keptTokens keeps the tokens of a server in the TokenStore.
type keptTokens struct {
	w      *web
	client *http.Client
}

// keptToken is what is stored: a token and how to get the next.
type keptToken struct {
	ClientID     string        `json:"clientId"`
	ClientSecret string        `json:"clientSecret,omitempty"`
	AuthStyle    int           `json:"authStyle,omitempty"`
	TokenURL     string        `json:"tokenUrl"`
	Scopes       []string      `json:"scopes,omitempty"`
	Token        *oauth2.Token `json:"token"`
}

// key is of the server and its address: a token goes to no other.
func (k *keptTokens) key() string { return k.w.s.u.cfg.Name + "\n" + k.w.s.u.cfg.URL }

func (k *keptTokens) load() oauth2.TokenSource {
	data, err := k.w.s.u.m.o.Tokens.Load(k.key())
	if err != nil || data == nil {
		if err != nil {
			k.w.s.u.m.o.Logger.Warn("MCP token store", "server", k.w.s.u.cfg.Name, "error", err)
		}
		return nil
	}
	var t keptToken
	if err := schema.DecodeInto(data, &t, &schema.DecodeOptions{AllowUnknown: true}); err != nil || t.Token == nil {
		return nil // as if it was never there
	}
	ts, err := k.source(k.w.ctx, &oauth2.Config{
		ClientID: t.ClientID, ClientSecret: t.ClientSecret, Scopes: t.Scopes,
		Endpoint: oauth2.Endpoint{TokenURL: t.TokenURL, AuthStyle: oauth2.AuthStyle(t.AuthStyle)},
	}, t.Token)
	if err != nil {
		return nil
	}
	return ts
}

// source refreshes within the session, not within the call that authorized it.
func (k *keptTokens) source(_ context.Context, cfg *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
	ctx := context.WithValue(k.w.ctx, oauth2.HTTPClient, k.client)
	s := &keptSource{k: k, cfg: cfg, next: cfg.TokenSource(ctx, t)}
	s.keep(t)
	return s, nil
}

// keptSource stores each new token.
type keptSource struct {
	k    *keptTokens
	cfg  *oauth2.Config
	next oauth2.TokenSource

	mu   sync.Mutex
	last string
}

// Token implements oauth2.TokenSource.
func (s *keptSource) Token() (*oauth2.Token, error) {
	t, err := s.next.Token()
	if err == nil {
		s.keep(t)
	}
	return t, err
}

func (s *keptSource) keep(t *oauth2.Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.AccessToken == s.last {
		return
	}
	s.last = t.AccessToken
	for _, secret := range []string{t.AccessToken, t.RefreshToken, s.cfg.ClientSecret} {
		s.k.w.s.secrets.add(secret, true)
	}
	data, err := json.Marshal(&keptToken{
		ClientID: s.cfg.ClientID, ClientSecret: s.cfg.ClientSecret, AuthStyle: int(s.cfg.Endpoint.AuthStyle),
		TokenURL: s.cfg.Endpoint.TokenURL, Scopes: s.cfg.Scopes, Token: t,
	})
	if err == nil {
		err = s.k.w.s.u.m.o.Tokens.Save(s.k.key(), data)
	}
	if err != nil {
		s.k.w.s.u.m.o.Logger.Warn("MCP token was not stored", "server", s.k.w.s.u.cfg.Name, "error", err)
	}
}
