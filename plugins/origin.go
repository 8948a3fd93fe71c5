package plugins

import (
	"regexp"
)

// Origin is where a plugin is from and who vouches for it.
type Origin struct {
	// Digest is that of the artifact's OCI manifest, "sha256:…"; "" for a folder.
	Digest string
	// Publisher is the publisher's name in the trust policy.
	Publisher string
	// Signer is the key or the identity whose signature was verified.
	Signer string
	// Ref is the reference that it was pulled from, or "".
	Ref string
	// Unsigned says that nobody vouches for the plugin. It needs [LoadOptions.AllowUnsignedUnsafe].
	Unsigned bool
}

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// check refuses an origin that claims a signature without saying whose: an Origin that somebody forgot to fill must not
// read as a signed one.
func (o Origin) check(id string, allowUnsigned bool) error {
	refuse := func(detail string) error { return &PluginError{Plugin: id, Kind: ErrUnsigned, Detail: detail} }
	switch {
	case o.Unsigned && !allowUnsigned:
		return refuse("to load it while developing, set LoadOptions.AllowUnsignedUnsafe")
	case o.Unsigned:
		return nil
	case !digestForm.MatchString(o.Digest):
		return refuse("its origin has no digest of an artifact; take the origin from the verification, or mark it Unsigned")
	case o.Publisher == "" || o.Signer == "":
		return refuse("its origin names no publisher and signer; take the origin from the verification, or mark it Unsigned")
	}
	return nil
}

// New makes a plugin of a manifest that [ParseManifest] gave and of its module, for callers that verified both: what
// they pass is what will run. The bytes of wasm are kept until they are compiled, and must not be changed. Nil options are
// the zero value. Errors are a [*PluginError]: ErrUnsigned for an origin that does not say who vouches for the plugin,
// ErrPermission, ErrModule, ErrImport, ErrExport, ErrLimit. [LoadOptions.Eager] is for folders: call [Plugin.Compile].
func New(m *Manifest, wasm []byte, origin Origin, opts *LoadOptions) (*Plugin, error) {
	o := LoadOptions{}
	if opts != nil {
		o = *opts
	}
	o.Limits = o.Limits.withDefaults()
	if err := origin.check(m.ID, o.AllowUnsignedUnsafe); err != nil {
		return nil, err
	}
	return newPlugin(m, wasm, origin, o)
}
