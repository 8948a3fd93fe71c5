package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"

	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// policySubject reads trust policies, and has each that can be read judge artifacts that
// the original judges differently. A key that the original does not name may never pass.
//
// A policy is what a person writes, and nothing signs it: one that was changed so that it
// can still be read is another policy. It may have lost what was revoked, or give one of
// its publishers what was another's, and nothing in the file can show that. Such mutants
// are wider; who may write the file is what keeps them away.
type policySubject struct {
	file   string
	bytes  []byte
	policy *trust.Policy

	good   *bundle.Artifact // acme's, by acme
	forged *bundle.Artifact // an unknown key's
	// A publisher's under another's name, what is revoked, and what a revoked key signed.
	foreign, revoked, byRevoked *bundle.Artifact
	signer                      trust.Signer
}

func newPolicy(ctx context.Context, dir string, _ *options) (*subject, error) {
	keys := map[string]*trust.SigningKey{}
	for _, name := range []string{"acme", "old", "partner", "unknown"} {
		k, err := key(name)
		if err != nil {
			return nil, err
		}
		keys[name] = k
	}
	p := &policySubject{file: filepath.Join(dir, "trust.json")}
	for _, a := range []struct {
		to                 **bundle.Artifact
		owner, name, signs string
	}{
		{&p.good, "acme", "hello", "acme"}, {&p.forged, "acme", "hello", "unknown"}, {&p.foreign, "acme", "other", "partner"},
		{&p.revoked, "acme", "revoked", "acme"}, {&p.byRevoked, "acme", "older", "old"},
	} {
		var err error
		if *a.to, err = artifact(ctx, a.owner, a.name, "1.0.0", keys[a.signs]); err != nil {
			return nil, err
		}
	}
	policy := &trust.Policy{Publishers: []trust.Publisher{publisher("acme", keys["acme"]), publisher("partner", keys["partner"])}}
	policy.Publishers[0].Keys = append(policy.Publishers[0].Keys, trust.Key{PublicKey: string(keys["old"].PublicPEM())})
	if err := errors.Join(policy.RevokeKey(keys["old"].Fingerprint()), policy.RevokeDigest(p.revoked.Digest())); err != nil {
		return nil, err
	}
	p.bytes = policy.Marshal()
	var err error
	if p.policy, err = trust.ParsePolicy(p.bytes); err != nil {
		return nil, err
	}
	v, err := p.policy.Verify(ctx, p.good)
	if err != nil {
		return nil, err
	}
	p.signer = v.Signer
	return &subject{
		mutate: func(r *rand.Rand) mutant {
			text, what := damage(r, p.bytes)
			return mutant{what, !bytes.Equal(text, p.bytes), func(ctx context.Context) (verdict, error) { return p.read(ctx, text) }}
		},
		intact: func(ctx context.Context) (verdict, error) { return p.read(ctx, p.bytes) },
		close:  func() {},
	}, nil
}

func (p *policySubject) read(ctx context.Context, text []byte) (verdict, error) {
	if err := os.WriteFile(p.file, text, 0o600); err != nil {
		return refused, err
	}
	got, err := trust.LoadPolicy(p.file)
	if err != nil {
		return refused, nil
	}
	if v, err := got.Verify(ctx, p.forged); err == nil {
		return refused, fmt.Errorf("an artifact of an unknown key passes, as %s", v.Signer)
	}
	if v, err := got.Verify(ctx, p.good); err == nil && v.Signer.Key != p.signer.Key {
		return refused, fmt.Errorf("the signer is %s", v.Signer)
	}
	if reflect.DeepEqual(got.Publishers, p.policy.Publishers) && reflect.DeepEqual(got.Revoked, p.policy.Revoked) {
		return same, nil
	}
	for _, a := range []*bundle.Artifact{p.foreign, p.revoked, p.byRevoked} {
		if _, err := got.Verify(ctx, a); err == nil {
			return wider, nil
		}
	}
	return narrower, nil
}
