package bundle

import (
	"context"
	"errors"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
)

// Credential is what a registry is shown. The zero value is nobody.
type Credential struct {
	// User and Password are for basic access and for getting tokens.
	User, Password string
	// IdentityToken gets tokens without a password.
	IdentityToken string
	// RegistryToken is shown to the registry as it is.
	RegistryToken string
}

// Credentials keeps credentials for registries, which are named as in Docker's configuration: HOST or HOST:PORT, and
// https://index.docker.io/v1/ for Docker Hub. Implementations must be safe for concurrent use.
type Credentials interface {
	// Get gives the credential, or the zero value if there is none, which is no error.
	Get(ctx context.Context, registry string) (Credential, error)
	// Put keeps a credential in the place of an earlier one.
	Put(ctx context.Context, registry string, c Credential) error
	// Delete forgets one.
	Delete(ctx context.Context, registry string) error
}

// DockerOptions are the choices of [DockerCredentials].
type DockerOptions struct {
	// ConfigFile is the configuration; "" means config.json in $DOCKER_CONFIG, or in ~/.docker.
	ConfigFile string
	// PlaintextUnsafe lets Put write a password into the file where no credential helper is set up. Whoever reads the file
	// has the password.
	PlaintextUnsafe bool
}

// DockerCredentials are those of Docker's configuration file and the credential helpers that it names; other tools for
// registries share them. Nil options are the zero value. A file that is not there is an empty one.
func DockerCredentials(o *DockerOptions) (Credentials, error) {
	if o == nil {
		o = &DockerOptions{}
	}
	options := credentials.StoreOptions{AllowPlaintextPut: o.PlaintextUnsafe, DetectDefaultNativeStore: true}
	open := func() (credentials.Store, error) { return credentials.NewStoreFromDocker(options) }
	if o.ConfigFile != "" {
		open = func() (credentials.Store, error) { return credentials.NewStore(o.ConfigFile, options) }
	}
	store, err := open()
	if err != nil {
		return nil, fail(ErrAuth, "Docker's configuration cannot be read; mend it or move it away: %v", err)
	}
	return dockerStore{store}, nil
}

// StaticCredentials is one credential for one registry, kept nowhere. With the zero values it is nobody, for any
// registry.
func StaticCredentials(registry string, c Credential) Credentials {
	return static{credentials.ServerAddressFromRegistry(registry), c}
}

type static struct {
	registry string
	c        Credential
}

func (s static) Get(_ context.Context, registry string) (Credential, error) {
	if registry == s.registry {
		return s.c, nil
	}
	return Credential{}, nil
}

var errStatic = errors.New("these credentials are fixed; log in with Docker's configuration")

func (static) Put(context.Context, string, Credential) error { return errStatic }
func (static) Delete(context.Context, string) error          { return errStatic }

// dockerStore makes Credentials of a store of the library.
type dockerStore struct{ s credentials.Store }

func (d dockerStore) Get(ctx context.Context, registry string) (Credential, error) {
	c, err := d.s.Get(ctx, registry)
	return Credential{User: c.Username, Password: c.Password, IdentityToken: c.RefreshToken, RegistryToken: c.AccessToken}, err
}

func (d dockerStore) Put(ctx context.Context, registry string, c Credential) error {
	err := d.s.Put(ctx, registry, c.auth())
	if errors.Is(err, credentials.ErrPlaintextPutDisabled) {
		return fail(ErrAuth, "no credential helper is set up, and the password is not written to a file in the clear; set credsStore in Docker's configuration, or allow plain text: %v", err)
	}
	return err
}

func (d dockerStore) Delete(ctx context.Context, registry string) error {
	return d.s.Delete(ctx, registry)
}

func (c Credential) auth() auth.Credential {
	return auth.Credential{Username: c.User, Password: c.Password, RefreshToken: c.IdentityToken, AccessToken: c.RegistryToken}
}

// libraryStore makes a store of the library of Credentials.
type libraryStore struct{ c Credentials }

func (l libraryStore) Get(ctx context.Context, server string) (auth.Credential, error) {
	c, err := l.c.Get(ctx, server)
	if err != nil {
		err = authError("the credentials for "+server+" cannot be had", err)
	}
	return c.auth(), err
}

func (l libraryStore) Put(ctx context.Context, server string, c auth.Credential) error {
	err := l.c.Put(ctx, server, Credential{User: c.Username, Password: c.Password, IdentityToken: c.RefreshToken, RegistryToken: c.AccessToken})
	if err != nil {
		return authError("the credentials for "+server+" cannot be kept", err)
	}
	return nil
}

func (l libraryStore) Delete(ctx context.Context, server string) error {
	return l.c.Delete(ctx, server)
}

func authError(what string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	return fail(ErrAuth, "%s: %v", what, err)
}
