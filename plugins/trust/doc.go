// Package trust decides whether a plugin may be loaded: it reads trust policies, verifies signatures, and makes them.
//
// # The policy
//
// A policy is a JSON file, version 1. It names publishers; each has keys or keyless identities, and owns what its plugins
// may be called:
//
//	{
//	  "version": 1,
//	  "publishers": [
//	    {
//	      "name": "acme",
//	      "threshold": 1,
//	      "keys": [{"publicKey": "-----BEGIN PUBLIC KEY-----\n…\n-----END PUBLIC KEY-----\n", "comment": "release key"}],
//	      "identities": [{
//	        "issuer": "https://token.actions.githubusercontent.com",
//	        "subject": "https://github.com/acme/plugins/.github/workflows/release.yml@refs/heads/main"
//	      }],
//	      "owns": {"ids": ["acme."], "tools": ["acme_", "greet"], "globals": ["Issues"]}
//	    }
//	  ],
//	  "minVersions": {"acme.hello": "0.2.0"},
//	  "revoked": {"keys": ["sha256:…"], "digests": ["sha256:…"]},
//	  "trustedRoot": {"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1", "…": "…"}
//	}
//
// Nothing has a default. Without a policy nothing is loaded ([ErrNoPolicy]); a policy without publishers trusts nobody; what
// is not listed is not owned. Two publishers never share a key, an identity, an id, a tool name or a global: such a policy
// is a mistake, reported with all others at once ([*PolicyError]). "owns.ids" holds plugin ids, or prefixes that end in "."
// or "-"; "owns.tools" holds names, prefixes that end in "_" or "-", or "*" for all; "owns.globals" holds names.
//
// Two rules ask for more and may be left out. "threshold" is how many of a publisher's keys and identities must have signed
// the same artifact, against the theft of one of them. "minVersions" has the lowest version of a plugin that is accepted,
// against whoever answers with an old release (rollback): its signature is as good as that of a new one, and nothing in a
// registry says which is the newest.
//
// [LoadPolicy] reads a file, the methods of [Policy] change it, [Policy.Save] replaces the file in one step.
//
// # Verifying
//
// [Policy.Verify] takes an artifact of package bundle, whose bounds and digests were checked while it was read, and makes
// the next checks in a fixed order: signature → signer → revocation → ownership → threshold → manifest → least version → ABI.
// Loading makes the last two, imports and lock. A refusal is an [*Error] that names the step and one of these states:
//
//	unsigned           there is no signature at all
//	invalid-signature  one is there and proves nothing: damaged, for another artifact, of another kind
//	unknown-signer     whoever signed is no publisher of the policy
//	not-owned          the publisher may not use this id, tool name or global
//	revoked            the key or the artifact is on the list of revoked ones
//	too-few-signers    good signatures are there, of fewer signers than the publisher's threshold
//	too-old            the version is below the policy's least one
//	invalid            a rule is broken that has nothing to do with the signer; the step says which
//	internal           the check itself failed: nothing is known about the plugin
//
// Only an artifact without any signature reads as unsigned. A panic inside a library, an ended context or an error that
// nobody foresaw is internal; [Classify] sorts the errors of the packages around this one in the same way.
//
// # What counts as a signature
//
// A sigstore bundle v0.3 with a DSSE envelope that has exactly one signature, over an in-toto statement with exactly one
// subject, which is the artifact's sha256 digest and nothing else, and the predicate type that cosign sign writes
// ([PredicateType]). So one signature covers the manifest, the wasm and every other file. An attestation of another type
// says something about an artifact; it does not say that it may be used, and is refused as a signature. The bundle is in the one
// writing that sigstore's JSON has, but for the order of members and members that are empty.
//
// With a key: ECDSA on P-256 with SHA-256, or pure Ed25519, chosen by the policy's key and never by the signature. The
// bundle only hints which key to try. Keyless: the certificate chains up to the policy's trusted root; the time of signing
// is proved by a log entry if the root knows a transparency log, else by a signed timestamp; the certificate is in a
// certificate log if the root knows one; it has one subject, which equals the policy's, as does the issuer.
//
// # Signing
//
// [GenerateKey] makes a key pair, [WriteKeys] puts it into files that nobody else can read, [LoadKey] reads it, [Sign] makes
// a signature. Keys with a password are in cosign's own format. In both directions, with cosign 3: what Sign makes passes
// cosign verify --key, and what cosign sign --key makes passes Verify. The exception is cosign sign with an Ed25519 key, which
// signs in a way (Ed25519ph) that cosign's own verify does not accept either.
package trust
