package trust

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cloister-wasm/cloister/internal/safefile"
	"github.com/cloister-wasm/cloister/plugins/bundle"
)

// PolicyVersion is the version of the policy file that this package reads and writes. Others are refused.
const PolicyVersion = 1

// Bounds of a policy.
const (
	// MaxPolicyBytes bounds the file. The trusted root of the public sigstore instance has 7 KB.
	MaxPolicyBytes = 1 << 20
	// MaxPublishers bounds the publishers.
	MaxPublishers = 1000
	// MaxSigners bounds the keys, and the identities, of one publisher.
	MaxSigners = 64
	// MaxOwned bounds each list of what one publisher owns.
	MaxOwned = 1000
	// MaxRevoked bounds each list of what is revoked.
	MaxRevoked = 10000
	// MaxMinVersions bounds the plugins of which old versions are refused.
	MaxMinVersions = 10000
	// MaxThreshold bounds the signers that a publisher's plugins need: an artifact carries no more signatures.
	MaxThreshold = bundle.MaxSignatures
	// MaxProblems is the number of mistakes that are reported at once.
	MaxProblems = 100
)

// Policy says whose plugins may be loaded and what each publisher may own. The zero value trusts nobody; a nil policy is
// no policy, and an error everywhere. Its methods check it anew when it was changed by hand. Reading and [Policy.Verify]
// are safe for concurrent use, changes are not.
type Policy struct {
	// Publishers are those whose plugins are loaded. No two share a key, an identity, or anything they own.
	Publishers []Publisher `json:"publishers"`
	// MinVersions are the lowest versions that are accepted, by the id of the plugin: a registry, or whoever stands before it, can
	// answer with an old release that is signed as well as the new one. Plugins that are not listed may have any version.
	MinVersions map[string]string `json:"minVersions,omitempty"`
	// Revoked is what is not accepted any more, whoever signed it.
	Revoked Revoked `json:"revoked,omitzero"`
	// TrustedRoot is a sigstore trusted root (media type application/vnd.dev.sigstore.trustedroot+json;version=0.1), which
	// identities need. Without one, keyless signatures are never accepted.
	TrustedRoot json.RawMessage `json:"trustedRoot,omitempty"`

	compiled *compiled // of the content at the time of ParsePolicy or the last edit; used only while it still matches
}

// Publisher is somebody whose plugins may be loaded.
type Publisher struct {
	// Name is unique, also when case is ignored: letters, digits, and ". _ -" inside, at most 64 bytes.
	Name string `json:"name"`
	// Threshold is the number of its signers that must have signed the same artifact, each with a key or an identity of its own;
	// 0 and 1 mean any one of them.
	Threshold int `json:"threshold,omitempty"`
	// Keys are its public keys. A signature by any of them counts.
	Keys []Key `json:"keys,omitempty"`
	// Identities are its keyless signers.
	Identities []Identity `json:"identities,omitempty"`
	// Owns is what its plugins may be called.
	Owns Ownership `json:"owns"`
}

// Key is a public key.
type Key struct {
	// PublicKey is PEM, type PUBLIC KEY (SPKI): ECDSA P-256 or Ed25519.
	PublicKey string `json:"publicKey"`
	// Comment is for people.
	Comment string `json:"comment,omitempty"`
}

// Identity is who a certificate of a sigstore CA was issued to. Both fields match exactly; there are no patterns.
type Identity struct {
	// Issuer is the OIDC issuer, such as "https://token.actions.githubusercontent.com".
	Issuer string `json:"issuer"`
	// Subject is the subject alternative name: an address, or the URI of a workflow with its ref.
	Subject string `json:"subject"`
}

// Ownership is what a publisher's plugins may be called. What is not listed it may not use.
type Ownership struct {
	// IDs are plugin ids, or prefixes of them that end in "." or "-": "acme." owns every "acme.NAME".
	IDs []string `json:"ids"`
	// Tools are tool names, or prefixes of them that end in "_" or "-"; "*" owns all names.
	Tools []string `json:"tools"`
	// Globals are names of namespaces' globals.
	Globals []string `json:"globals,omitempty"`
}

// Revoked is what is not accepted any more.
type Revoked struct {
	// Keys are fingerprints: "sha256:" and the SHA-256 of the SPKI DER in hexadecimal, see [Fingerprint].
	Keys []string `json:"keys,omitempty"`
	// Digests are artifacts: "sha256:" and the digest of the OCI manifest in hexadecimal.
	Digests []string `json:"digests,omitempty"`
}

// policyFile is the file: the version comes first.
type policyFile struct {
	Version int `json:"version"`
	*Policy
}

// ParsePolicy reads a policy file: strict JSON, version 1. Mistakes are a [*PolicyError] with all of them.
func ParsePolicy(data []byte) (*Policy, error) {
	p, problems := readPolicy(data)
	if p != nil {
		var more problemList
		p.compiled, more = compile(p)
		problems.merge(more)
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	return p, nil
}

// LoadPolicy reads a policy from a file. Where there is none the error is [ErrNoPolicy] and fs.ErrNotExist.
func LoadPolicy(path string) (*Policy, error) {
	data, err := safefile.ReadTrusted(path, MaxPolicyBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w at %s; write one, or add a publisher to make it: %w", ErrNoPolicy, path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the trust policy: %w", err)
	}
	p, err := ParsePolicy(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// Marshal is the policy as a file: indented JSON, the same bytes for the same policy. It does not check.
func (p *Policy) Marshal() []byte {
	c := *p
	if c.Publishers == nil {
		c.Publishers = []Publisher{}
	}
	if len(c.TrustedRoot) > 0 && !json.Valid(c.TrustedRoot) {
		// A root that is no JSON cannot be inside a JSON file; as a text it stays visible and is refused when it is read.
		c.TrustedRoot, _ = json.Marshal(string(c.TrustedRoot)) // a string always marshals
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(policyFile{PolicyVersion, &c}) // strings and valid raw JSON into memory: nothing that can fail
	return b.Bytes()
}

// Save checks the policy and writes it to path, readable by its owner only. The file is replaced by one rename: whoever
// reads it sees the old policy or the new one, also after a crash.
func (p *Policy) Save(path string) error {
	if p == nil {
		return ErrNoPolicy
	}
	if _, err := p.use(); err != nil {
		return err
	}
	data := p.Marshal()
	if len(data) > MaxPolicyBytes {
		return fmt.Errorf("%w: %d bytes are more than %d", ErrPolicy, len(data), MaxPolicyBytes)
	}
	if err := safefile.ReplaceBytes(path, 0o600, data); err != nil {
		return fmt.Errorf("writing the trust policy: %w", err)
	}
	return nil
}

// use gives what Verify needs of the policy as it is now.
func (p *Policy) use() (*compiled, error) {
	if p.compiled != nil && p.compiled.source.equal(p) {
		return p.compiled, nil
	}
	c, problems := compile(p)
	if err := problems.err(); err != nil {
		return nil, err
	}
	return c, nil
}
