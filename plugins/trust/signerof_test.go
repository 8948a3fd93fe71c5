package trust

import (
	"strings"
	"testing"
)

// Only what Verify counts has a signer; whatever names nobody that the policy knows is not verified at all.
func TestSignerOf(t *testing.T) {
	one, two, revoked := testKey(t, "one"), newKey(t, KeyECDSAP256), testKey(t, "revoked")
	vs, strangers := sigstoreInstance(t), sigstoreInstance(t)
	acme := publisher("acme", one, two, revoked)
	acme.Identities = []Identity{{Issuer: issuer, Subject: workflow}}
	p, err := ParsePolicy((&Policy{Publishers: []Publisher{acme, publisher("other", testKey(t, "others"))},
		Revoked: Revoked{Keys: []string{revoked.Fingerprint()}}, TrustedRoot: trustedRoot(t, vs, witnesses{log: true})}).Marshal())
	if err != nil {
		t.Fatal(err)
	}
	a := artifact(t, helloJSON)
	statement := statementJSON(t, a.Digest(), nil)
	forged := []byte(strings.Replace(string(sig(t, a, testKey(t, "stranger"))), testKey(t, "stranger").public.hint(), one.public.hint(), 1))
	tests := []struct {
		name      string
		signature []byte
		want      string
	}{
		{"a key", sig(t, a, one), "acme " + one.Fingerprint()},
		{"another key", sig(t, a, two), "acme " + two.Fingerprint()},
		{"an identity", keyless(t, vs, workflow, issuer, statement, nil), "acme " + workflow + " (" + issuer + ")"},
		{"an unknown key", sig(t, a, testKey(t, "stranger")), ""},
		{"a known hint over an unknown key's signature", forged, ""},
		{"a revoked key", sig(t, a, revoked), ""},
		{"a publisher that does not own it", sig(t, a, testKey(t, "others")), ""},
		{"over another artifact", sig(t, artifact(t, issuesJSON), one), ""},
		{"an unknown identity", keyless(t, vs, "evil@acme.example", issuer, statement, nil), ""},
		{"the identity by another CA", keyless(t, strangers, workflow, issuer, statement, nil), ""},
		{"no bundle", []byte(`{"mediaType":"x"}`), ""},
		{"no JSON", []byte(`{`), ""},
		{"nothing", nil, ""},
	}
	for _, tt := range tests {
		if got := p.SignerOf(a, tt.signature); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if (*Policy)(nil).SignerOf(a, sig(t, a, one)) != "" || p.SignerOf(nil, sig(t, a, one)) != "" || new(Policy).SignerOf(a, sig(t, a, one)) != "" {
		t.Error("somebody is known to nobody")
	}
}
