package trust

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/plugins"
)

// Sentinels, for errors.Is. The first nine are the states of an [*Error], one each.
var (
	// ErrUnsigned: there is no signature at all.
	ErrUnsigned = errors.New("not signed")
	// ErrInvalidSignature: there is a signature and it proves nothing: damaged, over other bytes, of another kind.
	ErrInvalidSignature = errors.New("the signature is not valid")
	// ErrUnknownSigner: who signed is no publisher of the policy.
	ErrUnknownSigner = errors.New("the signer is unknown")
	// ErrNotOwned: the publisher may not use this plugin id, this tool name or this global.
	ErrNotOwned = errors.New("the publisher does not own this")
	// ErrRevoked: the key or the artifact is on the policy's list of revoked ones.
	ErrRevoked = errors.New("revoked")
	// ErrTooFewSigners: good signatures are there, of fewer signers than the policy wants of the publisher.
	ErrTooFewSigners = errors.New("signed by too few")
	// ErrTooOld: the policy wants a higher version of this plugin.
	ErrTooOld = errors.New("the version is too old")
	// ErrInternal: the check itself failed. It says nothing about the plugin, and the plugin is not loaded.
	ErrInternal = errors.New("the check could not be made")
	// ErrInvalid: the artifact breaks a rule that has nothing to do with who signed it; the step says which.
	ErrInvalid = errors.New("not valid")

	// ErrNoPolicy: there is no trust policy. It is never the same as a policy that allows everything.
	ErrNoPolicy = errors.New("there is no trust policy")
	// ErrPolicy: the trust policy has mistakes. A [*PolicyError] lists them.
	ErrPolicy = errors.New("the trust policy has mistakes")
	// ErrExists: a publisher, key, identity or file is there already.
	ErrExists = errors.New("it is there already")
	// ErrNotFound: the policy has no such publisher, key or identity.
	ErrNotFound = errors.New("it is not in the policy")

	// ErrKey: a key cannot be read; below it lies what is wrong where one of the next three fits.
	ErrKey = errors.New("the key cannot be used")
	// ErrKeyType: the key is neither ECDSA P-256 nor Ed25519. Also ErrKey.
	ErrKeyType = errors.New("the key is neither ECDSA P-256 nor Ed25519")
	// ErrPassword: the private key is encrypted, and the password is missing or wrong. Also ErrKey.
	ErrPassword = errors.New("the password is missing or wrong")
	// ErrNotEncrypted: a password was given for a private key that has none. Also ErrKey.
	ErrNotEncrypted = errors.New("the private key is not encrypted")
)

// Step is one step of loading a plugin, in the order in which they are made.
type Step string

// The steps. [Policy.Verify] makes those from signature to abi; the others belong to bundle, plugins and lock, and
// [Classify] names them.
const (
	StepPolicy    Step = "policy"    // there is a policy, and it has no mistakes
	StepBounds    Step = "bounds"    // the artifact is within its bounds
	StepDigests   Step = "digests"   // its bytes are those that its digests name
	StepFormat    Step = "format"    // its parts are those of a plugin bundle
	StepSignature Step = "signature" // a signature over its digest verifies
	StepSigner    Step = "signer"    // who made it is a publisher of the policy and not revoked; enough of its signers did
	StepOwnership Step = "ownership" // the publisher may use this id, these tools, these globals
	StepManifest  Step = "manifest"  // the manifest has no mistakes, and its version is high enough
	StepABI       Step = "abi"       // this host speaks the plugin's version of the contract
	StepImports   Step = "imports"   // the wasm imports only what the manifest's permissions grant
	StepLock      Step = "lock"      // the lock file agrees
	StepLoad      Step = "load"      // none of these: files, a registry, this host; always an internal error
)

// State is how a check ended when it did not end well.
type State string

// The states. Each has a sentinel of the same name.
const (
	StateUnsigned         State = "unsigned"
	StateInvalidSignature State = "invalid-signature"
	StateUnknownSigner    State = "unknown-signer"
	StateNotOwned         State = "not-owned"
	StateRevoked          State = "revoked"
	StateTooFewSigners    State = "too-few-signers"
	StateTooOld           State = "too-old"
	StateInternal         State = "internal"
	StateInvalid          State = "invalid"
)

// sentinel gives the error of a state. What is no state is internal: it must never read as anything milder.
func (s State) sentinel() error {
	switch s {
	case StateUnsigned:
		return ErrUnsigned
	case StateInvalidSignature:
		return ErrInvalidSignature
	case StateUnknownSigner:
		return ErrUnknownSigner
	case StateNotOwned:
		return ErrNotOwned
	case StateRevoked:
		return ErrRevoked
	case StateTooFewSigners:
		return ErrTooFewSigners
	case StateTooOld:
		return ErrTooOld
	case StateInvalid:
		return ErrInvalid
	default:
		return ErrInternal
	}
}

// Error is a refusal: at which step, and how the check ended. It is its state's sentinel and whatever caused it.
type Error struct {
	// Step is the step that failed.
	Step Step
	// State tells the ways to fail apart.
	State State
	// Plugin is the plugin's id as the artifact claims it, or its digest, or "". Before the signer is known nobody vouches
	// for it: it is for reading only.
	Plugin string
	// Detail is one bounded line that says what is wrong and how to mend it.
	Detail string

	cause error
}

// Error is one line: plugin, step, state, detail.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Plugin != "" {
		b.WriteString("plugin " + plaintext.Line(e.Plugin, 200) + ": ")
	}
	fmt.Fprintf(&b, "%s: %v", e.Step, e.State.sentinel())
	if e.Detail != "" {
		b.WriteString(": " + plaintext.Line(e.Detail, 800))
	}
	return b.String()
}

// Unwrap gives the state's sentinel and what lies below it.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.State.sentinel()}
	}
	return []error{e.State.sentinel(), e.cause}
}

func refuse(step Step, state State, cause error, format string, args ...any) *Error {
	return &Error{Step: step, State: state, Detail: fmt.Sprintf(format, args...), cause: cause}
}

// PolicyError lists all mistakes of a trust policy, in order of their places. It is [ErrPolicy].
type PolicyError struct {
	// Problems has at least one entry. Paths are JSON pointers into the policy file.
	Problems []plugins.Problem
	// More is set when the list was cut off at [MaxProblems].
	More bool
}

// Error has a line for each mistake.
func (e *PolicyError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v:", ErrPolicy)
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.String())
	}
	if e.More {
		b.WriteString("\n  and more")
	}
	return b.String()
}

// Unwrap gives [ErrPolicy].
func (e *PolicyError) Unwrap() error { return ErrPolicy }

// KeyError says why a key cannot be used. It is [ErrKey] and its Kind. Its text never holds key material.
type KeyError struct {
	// Kind is ErrKeyType, ErrPassword, ErrNotEncrypted, or nil for text that is no key.
	Kind error
	// Detail is one line that says what is wrong and how to mend it.
	Detail string
}

// Error is one line.
func (e *KeyError) Error() string {
	if e.Kind == nil {
		return ErrKey.Error() + ": " + plaintext.Line(e.Detail, 400)
	}
	return e.Kind.Error() + ": " + plaintext.Line(e.Detail, 400)
}

// Unwrap gives [ErrKey] and the kind.
func (e *KeyError) Unwrap() []error {
	if e.Kind == nil {
		return []error{ErrKey}
	}
	return []error{ErrKey, e.Kind}
}

func badKey(kind error, format string, args ...any) *KeyError {
	return &KeyError{Kind: kind, Detail: fmt.Sprintf(format, args...)}
}
