package plugins

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/egress"
)

// httpClient makes the requests of one plugin.
type httpClient struct {
	client *egress.Client
	rules  []egress.Rule
}

func newHTTPClient(hosts []HostPermission, o *HTTPOptions) *httpClient {
	if o == nil {
		o = &HTTPOptions{}
	}
	c := &httpClient{client: egress.New(&egress.Options{
		AllowPrivate: o.AllowPrivate, MaxRequestBytes: o.MaxRequestBytes, MaxResponseBytes: o.MaxResponseBytes, Timeout: o.Timeout, TLS: o.TLS,
	})}
	for _, h := range hosts {
		c.rules = append(c.rules, egress.Rule(h))
	}
	return c
}

// hostHTTP makes a request under the manifest's permissions. Secrets are put in on this side, and internal/egress takes them
// out of the answer where a server sends them back.
func (b *broker) hostHTTP(ctx context.Context, _ *activation, request []byte) (any, *guestabi.PluginFailure) {
	var req guestabi.HTTPRequest
	if f := decode(request, &req, &req.ABI); f != nil {
		return nil, f
	}
	if req.TimeoutMs < 0 || req.TimeoutMs > maxTimeoutMs {
		return nil, failure(CodeInvalidInput, fmt.Sprintf(`"timeoutMs" is 0 to %d`, maxTimeoutMs))
	}
	body, f := requestBody(&req)
	if f != nil {
		return nil, f
	}
	secrets, f := b.secrets(ctx, req.SecretHeaders)
	if f != nil {
		return nil, f
	}
	res, err := b.http.client.Do(ctx, b.http.rules, &egress.Request{
		Method: req.Method, URL: req.URL, Headers: req.Headers, Secrets: secrets, Body: body, Timeout: time.Duration(req.TimeoutMs) * time.Millisecond,
	})
	if err != nil {
		return nil, httpFailure(ctx, err)
	}
	return response(res), nil
}

func requestBody(req *guestabi.HTTPRequest) ([]byte, *guestabi.PluginFailure) {
	if !req.BodyBase64 {
		return []byte(req.Body), nil
	}
	body, err := base64.StdEncoding.Strict().DecodeString(req.Body)
	if err != nil {
		return nil, failure(CodeInvalidInput, `"body" is not base64 (standard alphabet, padded), as "bodyBase64" says it is`)
	}
	return body, nil
}

// secrets resolves the secrets of a request: declared names only, each for the hosts that the manifest gives it. Whether the
// request goes to one of them is for the package that reads its address.
func (b *broker) secrets(ctx context.Context, headers map[string]guestabi.SecretHeader) (map[string]egress.Secret, *guestabi.PluginFailure) {
	out := make(map[string]egress.Secret, len(headers))
	for _, header := range sortedNames(headers) {
		name := headers[header].Secret
		granted, ok := b.perms.secret(name)
		if !ok {
			return nil, notGranted("secret", "secrets", name, b.perms.secretNames())
		}
		if b.services.Secrets == nil {
			return nil, failure(CodeUnavailable, fmt.Sprintf("this host keeps no secrets; ask its operator to set %q", name))
		}
		value, err := b.services.Secrets(ctx, b.plugin, name)
		if err != nil || value == "" {
			return nil, failure(CodeUnavailable, fmt.Sprintf("the secret %q is not to be had; ask the host's operator to set it", name))
		}
		if part := egress.Guessable(value); part != "" {
			return nil, failure(CodeUnavailable, fmt.Sprintf("the %s %q is too short to be kept secret; ask the host's operator for one of %d bytes at least", part, name, egress.MinSecretBytes))
		}
		out[header] = egress.Secret{Value: value, Prefix: headers[header].Prefix, Hosts: granted.Hosts}
	}
	return out, nil
}

func sortedNames(headers map[string]guestabi.SecretHeader) []string {
	names := make([]string, 0, len(headers))
	for name := range headers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// httpFailure passes on what internal/egress says, which is meant for plugins.
func httpFailure(ctx context.Context, err error) *guestabi.PluginFailure {
	if f := ended(ctx); f != nil {
		return f
	}
	var e *egress.Error
	if !errors.As(err, &e) {
		return failure(CodeFailed, "the request failed")
	}
	f := failure(e.Code(), e.Error())
	if e.Code() == "not_allowed" || e.Code() == "address_refused" || e.Code() == "redirect_refused" {
		f.Name = "PermissionError"
	}
	return f
}

func response(res *egress.Response) guestabi.HTTPResponse {
	out := guestabi.HTTPResponse{Status: res.Status, URL: res.URL, Headers: res.Headers, Body: string(res.Body)}
	if !utf8.Valid(res.Body) {
		out.Body, out.BodyBase64 = base64.StdEncoding.EncodeToString(res.Body), true
	}
	return out
}
