package bundle

import (
	"context"
	"crypto/tls"
	"net/http"
	"time"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"
)

// Remote moves bundles to and from registries. The zero value is ready. Set it up before its first use; its methods may
// then be called concurrently.
//
// A registry is not trusted: every answer is bounded, every byte checked against a digest, and a call lasts no longer than
// its context, nor than Timeout, and waits no longer than IdleTimeout for the next bytes ([ErrSlow]). Credentials go to the registry and to the token service that it names, never along a redirect to another
// host. Errors have StepRegistry where the registry or the way there is at fault, and the other steps as [Read] has them.
type Remote struct {
	// PlainHTTP speaks HTTP without TLS. To loopback hosts (localhost, 127.0.0.0/8, ::1) that is so anyway, unless TLS is
	// set.
	PlainHTTP bool
	// TLS holds the roots and client certificates for private registries; nil means the system's.
	TLS *tls.Config
	// Progress is told of every transfer, on the goroutine that called or one that it waits for, and never twice at a time
	// within one call. It may be nil.
	Progress func(Progress)
	// UserAgent is sent to the registry; "" means "cloister".
	UserAgent string
	// Credentials are asked when a registry wants to know who is there; nil means [DockerCredentials].
	Credentials Credentials
	// Signer says who made a signature: a text that is another for each signer, and "" for a signature that does not verify, or
	// by somebody unknown; trust.Policy.SignerOf is made for it. With it, signatures of known signers are found among whatever
	// others have added to the artifact, and put first: the work is bounded, not the list. Without it, each signature that a
	// registry lists has to be in order, and there may be [MaxSignatures] at most. It is called on the goroutine that called.
	Signer func(a *Artifact, signature []byte) string
	// IdleTimeout bounds each wait: for an answer to begin, for its next bytes, for the registry to take the next bytes of an
	// upload. 0 means [DefaultIdleTimeout].
	IdleTimeout time.Duration
	// Timeout bounds each call, with all its requests and retries. 0 means [DefaultTimeout].
	Timeout time.Duration

	// retries is for tests: nil means the library's, five times within about seven seconds.
	retries retry.Policy
}

// maxReferrerPages bounds the list of signatures. With [MaxIndexBytes] a page there is room for thousands of others.
const maxReferrerPages = 16

// session is a connection to one repository for one call.
type session struct {
	*Remote
	ref  Reference
	repo *remote.Repository
	http *http.Client
}

// open prepares a session. Nothing is sent yet.
func (r *Remote) open(ref Reference) (*session, error) {
	creds, err := r.credentials()
	if err != nil {
		return nil, err
	}
	client, hc := r.client(ref.Registry, creds)
	repo := &remote.Repository{
		Client:               client,
		Reference:            registry.Reference{Registry: ref.Registry, Repository: ref.Repository},
		PlainHTTP:            r.plain(ref.Registry),
		ManifestMediaTypes:   []string{typeOCIManifest, typeOCIIndex},
		ReferrerListMaxPages: maxReferrerPages,
		MaxMetadataBytes:     MaxIndexBytes,
		// Deleting the old list of referrers needs a right that few have, and a stale list harms nobody.
		SkipReferrersGC: true,
	}
	return &session{r, ref, repo, hc}, nil
}

func (s *session) close() { s.http.CloseIdleConnections() }

func (r *Remote) plain(registry string) bool {
	return r.PlainHTTP || r.TLS == nil && isLoopback(registry)
}

func (r *Remote) credentials() (Credentials, error) {
	if r.Credentials != nil {
		return r.Credentials, nil
	}
	return DockerCredentials(nil)
}

// client makes the chain of clients: the library's login, its retries, our guard, the system's transport.
func (r *Remote) client(registryName string, creds Credentials) (*auth.Client, *http.Client) {
	g := newGuard(registryName, r.plain(registryName), r.TLS)
	if r.IdleTimeout > 0 {
		g.idle, g.base.ResponseHeaderTimeout = r.IdleTimeout, r.IdleTimeout
	}
	policy := r.retries
	if policy == nil {
		policy = retry.DefaultPolicy
	}
	hc := &http.Client{
		Transport:     &closingTransport{&retry.Transport{Base: g, Policy: func() retry.Policy { return policy }}, g},
		CheckRedirect: g.redirect,
	}
	agent := r.UserAgent
	if agent == "" {
		agent = "cloister"
	}
	c := &auth.Client{
		Client:     hc,
		Cache:      auth.NewCache(),
		Credential: credentials.Credential(libraryStore{creds}),
		ClientID:   "cloister",
	}
	c.SetUserAgent(agent)
	return c, hc
}

// Resolve asks the registry which plugin a reference names, and gives its digest, "sha256:…". What the digest names is a
// plugin by its OCI manifest; its contents were not fetched.
func (r *Remote) Resolve(ctx context.Context, ref string) (digest string, err error) {
	parsed, err := ParseReference(ref)
	if err != nil {
		return "", err
	}
	s, err := r.open(parsed)
	if err != nil {
		return "", err
	}
	defer s.close()
	ctx, finish := r.bounded(ctx)
	defer func() { err = finish(err) }()
	raw, err := s.fetchManifest(ctx)
	if err != nil {
		return "", err
	}
	if _, err := decodeArtifact(raw); err != nil {
		return "", err
	}
	return digestOf(raw), nil
}

// Login checks a user and a password with the registry, and keeps them in [Remote.Credentials]. Errors: ErrAuth when the
// registry refuses them or they cannot be kept, ErrRegistry when it cannot be asked.
func (r *Remote) Login(ctx context.Context, registryName, user, password string) error {
	switch {
	case !isRegistry(registryName):
		return fail(ErrReference, "%q is no registry; write a host, with a port if need be, such as ghcr.io", registryName)
	case user == "" || password == "":
		return fail(ErrAuth, "the user or the password is empty")
	}
	creds, err := r.credentials()
	if err != nil {
		return err
	}
	client, hc := r.client(registryName, creds)
	defer hc.CloseIdleConnections()
	reg, err := remote.NewRegistry(registryName)
	if err != nil {
		return fail(ErrReference, "%v", err)
	}
	reg.Client, reg.PlainHTTP = client, r.plain(registryName)
	ctx, finish := r.bounded(ctx)
	err = credentials.Login(ctx, libraryStore{creds}, reg, Credential{User: user, Password: password}.auth())
	if err != nil {
		err = registryError(registryName, "logging in", err)
	}
	return finish(err)
}

// Logout forgets the credentials for a registry.
func (r *Remote) Logout(ctx context.Context, registryName string) error {
	if !isRegistry(registryName) {
		return fail(ErrReference, "%q is no registry; write a host, with a port if need be, such as ghcr.io", registryName)
	}
	creds, err := r.credentials()
	if err != nil {
		return err
	}
	if err := creds.Delete(ctx, credentials.ServerAddressFromRegistry(registryName)); err != nil {
		return authError("the credentials for "+registryName+" cannot be deleted", err)
	}
	return nil
}
