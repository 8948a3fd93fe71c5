package trust

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/internal/schema"
)

const (
	// payloadType is that of an in-toto statement, the only payload that is read.
	payloadType = "application/vnd.in-toto+json"
	// PredicateType is what a signature's statement says: this artifact is signed. It is what cosign sign writes. Other
	// predicates, such as provenance or a scan's result, are statements about an artifact and no approval of it.
	PredicateType = "https://sigstore.dev/cosign/sign/v1"
)

// statementTypes are the versions of in-toto statements: cosign sign writes the first, cosign attest the second.
var statementTypes = []string{"https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1"}

// statement is an in-toto statement. The predicate is not looked at: its type says all.
type statement struct {
	Type          string          `json:"_type"`
	Subject       []subject       `json:"subject"`
	PredicateType string          `json:"predicateType"`
	Predicate     json.RawMessage `json:"predicate,omitempty"`
}

type subject struct {
	Name   string            `json:"name,omitempty"`
	Digest map[string]string `json:"digest"`
}

// newStatement is the statement over a digest, "sha256:…".
func newStatement(digest string) ([]byte, error) {
	if !digestForm.MatchString(digest) {
		return nil, fmt.Errorf("signing: %s is not the digest of an artifact", text(digest))
	}
	return json.Marshal(statement{
		Type:          statementTypes[0],
		Subject:       []subject{{Digest: map[string]string{"sha256": strings.TrimPrefix(digest, "sha256:")}}},
		PredicateType: PredicateType,
		Predicate:     json.RawMessage("{}"),
	})
}

// checkStatement says why a statement is no signature of the artifact, or "". The payload is what was signed.
func checkStatement(payload []byte, digest string) string {
	var s statement
	// Unknown members are part of the format ("consumers MUST ignore unrecognized fields"). A key that comes twice is not,
	// and names match exactly: no two readers may take a statement in two ways. The library folds case and takes the last;
	// it has to agree with what is read here.
	if err := schema.DecodeInto(payload, &s, &schema.DecodeOptions{AllowUnknown: true}); err != nil {
		return "its statement cannot be read: " + err.Error()
	}
	want := strings.TrimPrefix(digest, "sha256:")
	switch {
	case !slices.Contains(statementTypes, s.Type):
		return fmt.Sprintf("its statement has the type %s", text(s.Type))
	case s.PredicateType != PredicateType:
		return fmt.Sprintf("it is a statement of the type %s about the artifact, not a signature; sign with cloister plugin sign or cosign sign", text(s.PredicateType))
	case len(s.Subject) != 1:
		return fmt.Sprintf("its statement is about %d subjects, and not about this artifact alone", len(s.Subject))
	case len(s.Subject[0].Digest) != 1 || s.Subject[0].Digest["sha256"] != want:
		return "it is over another artifact; sign this one"
	}
	return ""
}
