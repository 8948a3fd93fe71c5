package trust

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/bundle"
)

// wantRefused checks step, state and sentinel of a refusal.
func wantRefused(t *testing.T, err error, step Step, state State) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error of step %s and state %s", err, step, state)
	}
	if e.Step != step || e.State != state || !errors.Is(err, state.sentinel()) {
		t.Fatalf("got step %s, state %s (%v), want step %s, state %s", e.Step, e.State, err, step, state)
	}
	for _, s := range []State{StateUnsigned, StateInvalidSignature, StateUnknownSigner, StateNotOwned, StateRevoked, StateInternal, StateInvalid} {
		if s != state && errors.Is(err, s.sentinel()) {
			t.Errorf("%v is %v, too", err, s.sentinel())
		}
	}
	if e.Detail == "" {
		t.Errorf("%v has no detail", err)
	}
	if strings.ContainsAny(err.Error(), "\n\x1b") {
		t.Errorf("the text is not one plain line: %q", err)
	}
	return e
}

func TestVerify(t *testing.T) {
	for _, kind := range []KeyKind{KeyECDSAP256, KeyEd25519} {
		t.Run(string(kind), func(t *testing.T) {
			k := newKey(t, kind)
			p := policy(t, publisher("other", newKey(t, kind)), publisher("acme", newKey(t, kind), k))
			a := signWith(t, artifact(t, issuesJSON), k)
			v, err := p.Verify(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			if v.Artifact != a || v.Manifest.ID != "acme.issues" {
				t.Errorf("verified something else: %+v", v)
			}
			if want := (Signer{Publisher: "acme", Key: k.Fingerprint()}); v.Signer != want {
				t.Errorf("the signer is %v, want %v", v.Signer, want)
			}
			want := plugins.Origin{Digest: a.Digest(), Publisher: "acme", Signer: k.Fingerprint(), Ref: "registry/acme:1"}
			if got := v.Origin("registry/acme:1"); got != want {
				t.Errorf("the origin is %+v, want %+v", got, want)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	acme, other, stranger := newKey(t, ""), newKey(t, ""), newKey(t, KeyEd25519)
	p := policy(t, publisher("acme", acme), publisher("other", other))
	for _, c := range []struct {
		name     string
		artifact func(t *testing.T) *bundle.Artifact
		step     Step
		state    State
		says     string
	}{
		{"no signature", func(t *testing.T) *bundle.Artifact { return artifact(t, helloJSON) }, StepSignature, StateUnsigned, "cloister plugin sign"},
		{"a stranger's signature", func(t *testing.T) *bundle.Artifact { return signWith(t, artifact(t, helloJSON), stranger) }, StepSigner, StateUnknownSigner, stranger.Fingerprint()},
		{"another artifact's signature", func(t *testing.T) *bundle.Artifact {
			a := artifact(t, helloJSON)
			add(t, a, sig(t, artifact(t, issuesJSON), acme))
			return a
		}, StepSignature, StateInvalidSignature, ""},
		{"another publisher's id", func(t *testing.T) *bundle.Artifact { return signWith(t, artifact(t, helloJSON), other) }, StepOwnership, StateNotOwned, "acme.hello"},
		{"the prefix itself", func(t *testing.T) *bundle.Artifact {
			return signWith(t, artifact(t, strings.Replace(helloJSON, "acme.hello", "acme2.hello", 1)), acme)
		}, StepOwnership, StateNotOwned, "acme2.hello"},
		{"a foreign tool", func(t *testing.T) *bundle.Artifact {
			return signWith(t, artifact(t, strings.ReplaceAll(helloJSON, "acme_greet", "other_greet")), acme)
		}, StepOwnership, StateNotOwned, "other_greet"},
		{"a foreign tool after an own one", func(t *testing.T) *bundle.Artifact {
			return signWith(t, artifact(t, strings.Replace(helloJSON, greetTool, greetTool+","+strings.Replace(greetTool, "acme_greet", "read", 1), 1)), acme)
		}, StepOwnership, StateNotOwned, `"read"`},
		{"a tool in another case", func(t *testing.T) *bundle.Artifact {
			return signWith(t, artifact(t, strings.ReplaceAll(helloJSON, "acme_greet", "ACME_greet")), acme)
		}, StepOwnership, StateNotOwned, "ACME_greet"},
		{"a foreign global", func(t *testing.T) *bundle.Artifact {
			return signWith(t, artifact(t, strings.Replace(issuesJSON, `"Issues"`, `"Files"`, 1)), acme)
		}, StepOwnership, StateNotOwned, "Files"},
		{"a foreign id in a manifest with mistakes: ownership comes first", func(t *testing.T) *bundle.Artifact {
			return signWith(t, artifact(t, strings.Replace(helloJSON, `"1.0.0"`, `"one"`, 1)), other)
		}, StepOwnership, StateNotOwned, ""},
		{"a manifest with mistakes", func(t *testing.T) *bundle.Artifact {
			return signWith(t, artifact(t, strings.Replace(helloJSON, `"1.0.0"`, `"one"`, 1)), acme)
		}, StepManifest, StateInvalid, "/version"},
		{"a manifest that is no JSON", func(t *testing.T) *bundle.Artifact { return signWith(t, artifact(t, "{"), acme) }, StepManifest, StateInvalid, ""},
		{"a manifest whose id comes twice", func(t *testing.T) *bundle.Artifact {
			return signWith(t, artifact(t, strings.Replace(helloJSON, `"id":`, `"id": "acme.x", "id":`, 1)), acme)
		}, StepManifest, StateInvalid, ""},
		{"a manifest whose id is also there in another case", func(t *testing.T) *bundle.Artifact {
			return signWith(t, artifact(t, strings.Replace(helloJSON, `"id":`, `"ID": "other.x", "id":`, 1)), acme)
		}, StepManifest, StateInvalid, ""},
		{"a newer ABI", func(t *testing.T) *bundle.Artifact {
			return signWith(t, artifact(t, strings.Replace(helloJSON, "cloister.plugin/1", "cloister.plugin/2", 1)), acme)
		}, StepABI, StateInvalid, "cloister.plugin/2"},
		{"something else than an ABI", func(t *testing.T) *bundle.Artifact {
			return signWith(t, artifact(t, strings.Replace(helloJSON, "cloister.plugin/1", "extism/1", 1)), acme)
		}, StepManifest, StateInvalid, "/abi"},
		{"an unsigned one with a bad manifest is unsigned first", func(t *testing.T) *bundle.Artifact { return artifact(t, "{}") }, StepSignature, StateUnsigned, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := p.Verify(t.Context(), c.artifact(t))
			if v != nil {
				t.Fatalf("verified: %+v", v)
			}
			e := wantRefused(t, err, c.step, c.state)
			if !strings.Contains(e.Detail, c.says) {
				t.Errorf("the detail %q does not say %q", e.Detail, c.says)
			}
		})
	}
}

func TestRevoked(t *testing.T) {
	old, fresh := newKey(t, ""), newKey(t, "")
	a := signWith(t, artifact(t, helloJSON), old)
	p := policy(t, publisher("acme", old, fresh))
	if err := p.RevokeKey(old.Fingerprint()); err != nil {
		t.Fatal(err)
	}
	_, err := p.Verify(t.Context(), a)
	wantRefused(t, err, StepSigner, StateRevoked)

	// The way out of a lost key: the same artifact, signed again with another.
	signWith(t, a, fresh)
	v, err := p.Verify(t.Context(), a)
	if err != nil || v.Signer.Key != fresh.Fingerprint() {
		t.Fatalf("signed again: %v, %v", v, err)
	}

	if err := p.RevokeDigest(a.Digest()); err != nil {
		t.Fatal(err)
	}
	_, err = p.Verify(t.Context(), a)
	if e := wantRefused(t, err, StepSigner, StateRevoked); !strings.Contains(e.Detail, a.Digest()) {
		t.Errorf("the detail %q does not name the artifact", e.Detail)
	}

	// A revoked key that is nobody's any more is unknown, and the text says why.
	p = policy(t, publisher("acme", fresh))
	if err := p.RevokeKey(old.Fingerprint()); err != nil {
		t.Fatal(err)
	}
	_, err = p.Verify(t.Context(), signWith(t, artifact(t, helloJSON), old))
	if e := wantRefused(t, err, StepSigner, StateUnknownSigner); !strings.Contains(e.Detail, "revoked") {
		t.Errorf("the detail %q does not say that the key is revoked", e.Detail)
	}
}

// Whoever can write to a registry can add signatures. None may turn a good artifact bad or a bad one good, in any order.
func TestSeveralSignatures(t *testing.T) {
	acme, lost, other, stranger := newKey(t, ""), newKey(t, ""), newKey(t, ""), newKey(t, KeyEd25519)
	p := policy(t, publisher("acme", acme, lost), publisher("other", other))
	if err := p.RevokeKey(lost.Fingerprint()); err != nil {
		t.Fatal(err)
	}
	digest := artifact(t, helloJSON).Digest()
	signatures := map[string][]byte{
		"good":     sig(t, artifact(t, helloJSON), acme),
		"unknown":  sig(t, artifact(t, helloJSON), stranger),
		"invalid":  sig(t, artifact(t, issuesJSON), acme),
		"foreign":  sig(t, artifact(t, helloJSON), other),
		"revoked":  sig(t, artifact(t, helloJSON), lost),
		"scan":     envelope(t, acme, payloadType, statementJSON(t, digest, map[string]any{"predicateType": "https://example.com/scan"}), nil),
		"nonsense": []byte(`{}`),
	}
	for _, c := range []struct {
		names string
		state State // "": it verifies
	}{
		{"good", ""},
		{"good unknown invalid foreign revoked scan nonsense", ""},
		{"unknown nonsense", StateInvalidSignature},
		{"unknown invalid", StateInvalidSignature},
		{"unknown scan", StateInvalidSignature},
		{"unknown invalid foreign", StateNotOwned},
		{"unknown invalid foreign revoked", StateRevoked},
		{"unknown", StateUnknownSigner},
	} {
		names := strings.Fields(c.names)
		for range names {
			names = append(names[1:], names[0]) // every one comes first once
			a := artifact(t, helloJSON)
			for _, n := range names {
				add(t, a, signatures[n])
			}
			_, err := p.Verify(t.Context(), a)
			switch {
			case c.state == "" && err != nil:
				t.Errorf("%v: %v", names, err)
			case c.state != "":
				step := StepSignature
				if c.state == StateUnknownSigner || c.state == StateRevoked {
					step = StepSigner
				} else if c.state == StateNotOwned {
					step = StepOwnership
				}
				wantRefused(t, err, step, c.state)
			}
		}
	}
}

func TestNoPolicy(t *testing.T) {
	a := signWith(t, artifact(t, helloJSON), newKey(t, ""))
	_, err := (*Policy)(nil).Verify(t.Context(), a)
	wantRefused(t, err, StepPolicy, StateInternal)
	if !errors.Is(err, ErrNoPolicy) {
		t.Errorf("%v is not ErrNoPolicy", err)
	}
	// An empty policy is a policy: it trusts nobody.
	for _, p := range []*Policy{{}, policy(t)} {
		_, err = p.Verify(t.Context(), a)
		wantRefused(t, err, StepSigner, StateUnknownSigner)
		_, err = p.Verify(t.Context(), artifact(t, helloJSON))
		wantRefused(t, err, StepSignature, StateUnsigned)
	}
	// One with mistakes trusts nobody either.
	_, err = (&Policy{Publishers: []Publisher{{Name: "acme"}}}).Verify(t.Context(), a)
	wantRefused(t, err, StepPolicy, StateInternal)
	if !errors.Is(err, ErrPolicy) {
		t.Errorf("%v is not ErrPolicy", err)
	}
}

// What is changed by hand after reading counts at once.
func TestPolicyChangedByHand(t *testing.T) {
	k := newKey(t, "")
	a := signWith(t, artifact(t, helloJSON), k)
	fresh := func() *Policy { return policy(t, publisher("acme", k)) }
	for _, c := range []struct {
		name   string
		change func(*Policy)
		state  State
	}{
		{"no publishers", func(p *Policy) { p.Publishers = nil }, StateUnknownSigner},
		{"another key", func(p *Policy) { p.Publishers[0].Keys[0].PublicKey = string(newKey(t, "").PublicPEM()) }, StateUnknownSigner},
		{"another prefix", func(p *Policy) { p.Publishers[0].Owns.IDs[0] = "acme-x." }, StateNotOwned},
		{"a revoked key", func(p *Policy) { p.Revoked.Keys = []string{k.Fingerprint()} }, StateRevoked},
		{"a revoked artifact", func(p *Policy) { p.Revoked.Digests = append(p.Revoked.Digests, a.Digest()) }, StateRevoked},
		{"a mistake", func(p *Policy) { p.Revoked.Keys = []string{"all"} }, StateInternal},
		{"a root that is none", func(p *Policy) { p.TrustedRoot = json.RawMessage(`{}`) }, StateInternal},
	} {
		p := fresh()
		if _, err := p.Verify(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		c.change(p)
		_, err := p.Verify(t.Context(), a)
		var e *Error
		if !errors.As(err, &e) || e.State != c.state {
			t.Errorf("%s: %v, want the state %s", c.name, err, c.state)
		}
	}
}

func TestContextEnds(t *testing.T) {
	k := newKey(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := policy(t, publisher("acme", k)).Verify(ctx, signWith(t, artifact(t, helloJSON), k))
	wantRefused(t, err, StepSignature, StateInternal)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v is not context.Canceled", err)
	}
	if _, err := Sign(ctx, artifact(t, helloJSON), k); !errors.Is(err, context.Canceled) {
		t.Errorf("Sign: %v", err)
	}
	_, err = policy(t).Verify(t.Context(), nil)
	wantRefused(t, err, StepBounds, StateInternal)
}

// A library that panics says nothing about the plugin: least of all that it has no signature.
func TestPanicIsInternal(t *testing.T) {
	k := newKey(t, "")
	a := signWith(t, artifact(t, helloJSON), k)
	p := policy(t, publisher("acme", k))
	broken := root.NewTrustedPublicKeyMaterial(func(string) (root.TimeConstrainedVerifier, error) { panic("broken\nlibrary") })
	v, err := verify.NewVerifier(broken, verify.WithNoObserverTimestamps())
	if err != nil {
		t.Fatal(err)
	}
	p.compiled.byKey = v
	_, err = p.Verify(t.Context(), a)
	if e := wantRefused(t, err, StepSignature, StateInternal); !strings.Contains(e.Detail, "broken library") {
		t.Errorf("the detail is %q", e.Detail)
	}
	// Also above the library.
	p.compiled.source.Publishers = nil
	p.Publishers = nil
	_, err = p.Verify(t.Context(), a)
	wantRefused(t, err, StepSignature, StateInternal)
}

func TestErrorNamesThePlugin(t *testing.T) {
	k := newKey(t, "")
	p := policy(t, publisher("acme", k))
	_, err := p.Verify(t.Context(), artifact(t, helloJSON))
	if want := "plugin acme.hello: signature: not signed: "; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %q, want it to begin with %q", err, want)
	}
	a := artifact(t, `{"id": "\u001b[31mred"}`)
	_, err = p.Verify(t.Context(), a)
	if want := "plugin " + a.Digest() + ": "; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %q, want it to begin with %q", err, want)
	}
}

// One policy serves all loads of a host at once.
func TestVerifyConcurrently(t *testing.T) {
	k := newKey(t, "")
	p := policy(t, publisher("acme", k))
	signed, unsigned := signWith(t, artifact(t, helloJSON), k), artifact(t, helloJSON)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if _, err := p.Verify(t.Context(), signed); err != nil {
					t.Error(err)
				}
				if _, err := p.Verify(t.Context(), unsigned); !errors.Is(err, ErrUnsigned) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// Only Verify vouches, and only for what it saw.
func TestForgedVerified(t *testing.T) {
	k := newKey(t, "")
	a := signWith(t, artifact(t, helloJSON), k)
	v, err := policy(t, publisher("acme", k)).Verify(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	bad := artifact(t, issuesJSON)
	m, err := bad.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	swapped := func(change func(*Verified)) *Verified { c := *v; change(&c); return &c }
	for name, v := range map[string]*Verified{
		"nil":      nil,
		"zero":     {},
		"filled":   {Artifact: a, Manifest: v.Manifest, Signer: v.Signer},
		"artifact": swapped(func(v *Verified) { v.Artifact = bad }),
		"manifest": swapped(func(v *Verified) { v.Manifest = m }),
		"signer":   swapped(func(v *Verified) { v.Signer.Publisher = "other" }),
		"none":     swapped(func(v *Verified) { v.Artifact = nil }),
	} {
		if got, want := v.Origin("r"), (plugins.Origin{Ref: "r"}); got != want || v.Genuine() {
			t.Errorf("%s: the origin is %+v", name, got)
		}
		if _, err := plugins.New(m, []byte(wasmPreamble), v.Origin("r"), nil); !errors.Is(err, plugins.ErrUnsigned) {
			t.Errorf("%s: plugins.New: %v", name, err)
		}
	}
	if c := *v; !c.Genuine() {
		t.Error("a copy is not genuine any more")
	}
}

func TestSignerTextsDiffer(t *testing.T) {
	signers := []Signer{
		{Key: "sha256:" + strings.Repeat("a", 64)},
		{Issuer: "https://i", Subject: "s"},
		{Issuer: "https://j", Subject: "s (https://i)"},
		{Issuer: "https://i", Subject: "s (https://i) (https://j)"},
	}
	var texts []string
	for _, s := range signers {
		if slices.Contains(texts, s.String()) {
			t.Errorf("two signers are %q", s)
		}
		texts = append(texts, s.String())
	}
	if got, want := fmt.Sprint(signers[1]), "s (https://i)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
