package trust

import (
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/cloister-wasm/cloister/internal/namespace"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// compiled is a checked policy, ready for Verify. It is immutable.
type compiled struct {
	source     *Policy               // what it was made of, a copy
	keys       map[string]signingKey // by hint, as bundles name keys
	identities map[Identity]int      // index of the publisher
	revoked    map[string]bool       // fingerprints of keys
	digests    map[string]bool       // of artifacts
	byKey      *verify.Verifier      // nil without keys
	byIdentity *verify.Verifier      // nil without a trusted root
}

// signingKey is a known public key.
type signingKey struct {
	publisher   int
	place       int // among the publisher's keys
	fingerprint string
}

var (
	nameForm   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$`)
	digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	issuerForm = regexp.MustCompile(`^https?://[^\s()*]+$`)
	idForm     = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*(\.|-|\.[a-z][a-z0-9]*(-[a-z0-9]+)*-?)$`)
	toolForm   = regexp.MustCompile(`^(\*|[A-Za-z][A-Za-z0-9_-]*)$`)
)

const (
	maxComment  = 400
	maxIdentity = 500
	maxKeyBytes = 4 << 10
	maxID       = 80
	maxTool     = 64
)

// compile checks what a policy means and prepares it. All mistakes are in the list; with any, compiled is of no use.
func compile(p *Policy) (*compiled, problemList) {
	c := &compiler{out: compiled{
		source:     p.clone(),
		keys:       map[string]signingKey{},
		identities: map[Identity]int{},
		revoked:    map[string]bool{},
		digests:    map[string]bool{},
	}, material: map[string]*root.ExpiringKey{}, names: map[string]int{}}
	c.bounds(p)
	if len(c.problemList) == 0 {
		for i := range p.Publishers {
			c.publisher(i, &p.Publishers[i])
		}
		c.ownership(p)
		c.minVersions(p)
		c.digestList("/revoked/keys", p.Revoked.Keys, c.out.revoked, "sha256: and the fingerprint that keygen and list show")
		c.digestList("/revoked/digests", p.Revoked.Digests, c.out.digests, "sha256: and the digest of the artifact")
		c.verifiers(p)
	}
	return &c.out, c.problemList
}

type compiler struct {
	problemList
	out      compiled
	material map[string]*root.ExpiringKey // by hint
	names    map[string]int
}

// bounds matters for policies that were made by hand; those of files have passed them.
func (c *compiler) bounds(p *Policy) {
	check := func(path string, n, most int) {
		if n > most {
			c.add(path, "", "%d entries are more than %d", n, most)
		}
	}
	check("/publishers", len(p.Publishers), MaxPublishers)
	check("/minVersions", len(p.MinVersions), MaxMinVersions)
	check("/revoked/keys", len(p.Revoked.Keys), MaxRevoked)
	check("/revoked/digests", len(p.Revoked.Digests), MaxRevoked)
	for i, pub := range p.Publishers[:min(len(p.Publishers), MaxPublishers)] {
		check(at("publishers", i, "keys"), len(pub.Keys), MaxSigners)
		check(at("publishers", i, "identities"), len(pub.Identities), MaxSigners)
		check(at("publishers", i, "owns", "ids"), len(pub.Owns.IDs), MaxOwned)
		check(at("publishers", i, "owns", "tools"), len(pub.Owns.Tools), MaxOwned)
		check(at("publishers", i, "owns", "globals"), len(pub.Owns.Globals), MaxOwned)
	}
}

func (c *compiler) publisher(i int, p *Publisher) {
	path := at("publishers", i)
	if !nameForm.MatchString(p.Name) {
		c.add(path+"/name", `write 1 to 64 letters and digits, with ". _ -" inside, for example "acme"`, "the name %s has the wrong form", text(p.Name))
	} else if first, taken := c.names[strings.ToLower(p.Name)]; taken {
		c.add(path+"/name", "put both into one publisher, or rename one", "publisher %d has the name %s already", first, text(p.Name))
	} else {
		c.names[strings.ToLower(p.Name)] = i
	}
	if len(p.Keys)+len(p.Identities) == 0 {
		c.add(path+"/keys", "add a key or an identity, or remove the publisher", "it has neither keys nor identities, so nothing can be signed by it")
	}
	c.threshold(path, p)
	for k, key := range p.Keys {
		c.key(i, k, path+at("keys", k), key)
	}
	for k, id := range p.Identities {
		c.identity(i, path+at("identities", k), id)
	}
}

func (c *compiler) key(publisher, place int, path string, k Key) {
	if len(k.Comment) > maxComment || !plaintext.Plain(k.Comment) {
		c.add(path+"/comment", "write one short line", "the comment is longer than %d bytes or not printable", maxComment)
	}
	pub, err := parsePublic(k.PublicKey)
	if err != nil {
		c.add(path+"/publicKey", "write the whole text of the .pub file", "%v", err)
		return
	}
	if first, taken := c.out.keys[pub.hint()]; taken {
		c.shared(path+"/publicKey", "key", first.publisher, publisher)
		return
	}
	v, err := signature.LoadVerifier(pub.key, crypto.SHA256)
	if err != nil {
		c.add(path+"/publicKey", "use another key", "%v", err)
		return
	}
	c.out.keys[pub.hint()] = signingKey{publisher, place, pub.fingerprint()}
	c.material[pub.hint()] = root.NewExpiringKey(v, time.Time{}, time.Time{})
}

func (c *compiler) shared(path, what string, first, second int) {
	if first == second {
		c.add(path, "remove one", "the publisher has this %s twice", what)
		return
	}
	c.add(path, "who signed would be unclear: each publisher has its own", "publisher %d has this %s already", first, what)
}

func (c *compiler) identity(publisher int, path string, id Identity) {
	ok := true
	if !issuerForm.MatchString(id.Issuer) || len(id.Issuer) > maxIdentity {
		ok = false
		c.add(path+"/issuer", `write the OIDC issuer, for example "https://token.actions.githubusercontent.com"`, "the issuer %s has the wrong form", text(id.Issuer))
	}
	if id.Subject == "" || len(id.Subject) > maxIdentity || !plaintext.Plain(id.Subject) || strings.ContainsAny(id.Subject, "*\ufffd") {
		ok = false
		c.add(path+"/subject", "write the certificate's subject alternative name exactly; there are no patterns", "the subject %s has the wrong form", text(id.Subject))
	}
	if !ok {
		return
	}
	if first, taken := c.out.identities[id]; taken {
		c.shared(path, "identity", first, publisher)
		return
	}
	c.out.identities[id] = publisher
}

func (c *compiler) digestList(path string, list []string, into map[string]bool, what string) {
	for i, d := range list {
		switch {
		case !digestForm.MatchString(d):
			c.add(path+at(i), "write "+what+", 64 hexadecimal digits in lower case", "%s has the wrong form", text(d))
		case into[d]:
			c.add(path+at(i), "remove one", "it is in the list twice")
		}
		into[d] = true
	}
}

// verifiers sets up the library: keys without any time, since keys do not expire here but are revoked; certificates with
// all the witnesses that the trusted root knows of.
func (c *compiler) verifiers(p *Policy) {
	var err error
	if len(c.material) > 0 {
		tm := root.NewTrustedPublicKeyMaterialFromMapping(c.material)
		if c.out.byKey, err = verify.NewVerifier(tm, verify.WithNoObserverTimestamps(), verify.WithoutStatementPredicate()); err != nil {
			c.add("/publishers", "", "the verifier cannot be made: %v", err)
		}
	}
	if len(p.TrustedRoot) > 0 {
		c.trustedRoot(p.TrustedRoot)
	} else if len(c.out.identities) > 0 {
		c.add("/trustedRoot", "add the trusted root of the sigstore instance, for example the output of cosign trusted-root create",
			"it is missing, and without it no identity can be verified")
	}
}

// trustedRoot asks for every witness that the root has keys of: a certificate lives for minutes, so only a log or a
// timestamp says that the signature was made while it did.
func (c *compiler) trustedRoot(raw []byte) {
	const path = "/trustedRoot"
	tr, err := parseTrustedRoot(raw)
	if err != nil {
		c.add(path, "write a sigstore trusted root, as JSON", "%v", err)
		return
	}
	if len(tr.FulcioCertificateAuthorities()) == 0 {
		c.add(path, "", "it has no certificate authority")
		return
	}
	options := []verify.VerifierOption{verify.WithoutStatementPredicate()}
	switch logs, stamps := len(tr.RekorLogs()), len(tr.TimestampingAuthorities()); {
	case logs > 0:
		options = append(options, verify.WithTransparencyLog(1), verify.WithObserverTimestamps(1))
	case stamps > 0:
		options = append(options, verify.WithSignedTimestamps(1))
	default:
		c.add(path, "", "it has neither a transparency log nor a timestamp authority, so no time of signing can be proved")
		return
	}
	if len(tr.CTLogs()) > 0 {
		options = append(options, verify.WithSignedCertificateTimestamps(1))
	}
	if c.out.byIdentity, err = verify.NewVerifier(tr, options...); err != nil {
		c.add(path, "", "the verifier cannot be made: %v", err)
	}
}

// globalName says what is wrong with the name of a global, or "".
func globalName(name string) string {
	if err := namespace.CheckGlobalName(name); err != nil {
		return plaintext.Line(err.Error(), 200)
	}
	return ""
}

// fingerprintOf turns the hint by which a sigstore bundle names a key, base64 of the SHA-256 of the SPKI, into a
// fingerprint; "" where it is none.
func fingerprintOf(hint string) string {
	sum, err := base64.StdEncoding.Strict().DecodeString(hint)
	if err != nil || len(sum) != sha256.Size {
		return ""
	}
	return "sha256:" + hex.EncodeToString(sum)
}

func (p *Policy) clone() *Policy {
	c := &Policy{
		Publishers:  slices.Clone(p.Publishers),
		MinVersions: maps.Clone(p.MinVersions),
		Revoked:     Revoked{slices.Clone(p.Revoked.Keys), slices.Clone(p.Revoked.Digests)},
		TrustedRoot: slices.Clone(p.TrustedRoot),
	}
	for i := range c.Publishers {
		q := &c.Publishers[i]
		q.Keys, q.Identities = slices.Clone(q.Keys), slices.Clone(q.Identities)
		q.Owns = Ownership{slices.Clone(q.Owns.IDs), slices.Clone(q.Owns.Tools), slices.Clone(q.Owns.Globals)}
	}
	return c
}

func (p *Policy) equal(o *Policy) bool {
	return slices.EqualFunc(p.Publishers, o.Publishers, func(a, b Publisher) bool {
		return a.Name == b.Name && a.Threshold == b.Threshold && slices.Equal(a.Keys, b.Keys) && slices.Equal(a.Identities, b.Identities) &&
			slices.Equal(a.Owns.IDs, b.Owns.IDs) && slices.Equal(a.Owns.Tools, b.Owns.Tools) && slices.Equal(a.Owns.Globals, b.Owns.Globals)
	}) && maps.Equal(p.MinVersions, o.MinVersions) && slices.Equal(p.Revoked.Keys, o.Revoked.Keys) && slices.Equal(p.Revoked.Digests, o.Revoked.Digests) &&
		slices.Equal(p.TrustedRoot, o.TrustedRoot)
}
