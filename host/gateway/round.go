package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/cloister-wasm/cloister/internal/schema"
)

// round is what a client carries from a result with questions to the call with their
// answers (requestState). It names the program or the call that goes on and the
// questions, and is of use to the one session and the one call that it was made for.
type round struct {
	Session   string   `json:"session"`
	Principal string   `json:"principal"`
	Tool      string   `json:"tool"`
	Arguments string   `json:"arguments"` // SHA-256
	Run       string   `json:"run,omitempty"`
	Call      string   `json:"call,omitempty"`
	Questions []string `json:"questions"`
	Until     int64    `json:"until"` // Unix seconds
}

const (
	maxState      = 8 << 10
	roundLifetime = 24 * time.Hour
	// roundPrefix keeps the key's use here apart from any other.
	roundPrefix = "cloister round 1\n"
)

// argumentsHash is the same for arguments that are the same JSON, however a client
// writes them the second time.
func argumentsHash(args []byte) string {
	if same, err := schema.Canonical(args); err == nil {
		args = same
	}
	sum := sha256.Sum256(args)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func (g *Gateway) mac(text []byte) []byte {
	m := hmac.New(sha256.New, g.key)
	m.Write([]byte(roundPrefix))
	m.Write(text)
	return m.Sum(nil)
}

// sealRound writes a round for the client.
func (c *call) sealRound(r *round) (string, error) {
	r.Session, r.Principal, r.Tool, r.Arguments = c.s.client.SessionID, c.s.client.Principal, c.name, argumentsHash(c.args)
	r.Until = c.s.g.now().Add(roundLifetime).Unix()
	text, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("writing requestState: %w", err)
	}
	enc := base64.RawURLEncoding
	return enc.EncodeToString(text) + "." + enc.EncodeToString(c.s.g.mac(text)), nil
}

// openRound reads what a client sent back: nil without a state. A state that is not
// ours, or ours and for something else, is refused, and so are answers without one.
func (s *session) openRound(c *call) (*round, error) {
	state := c.state
	if state == "" {
		if len(c.responses) > 0 {
			return nil, errForged
		}
		return nil, nil
	}
	if len(state) > maxState {
		return nil, errForged
	}
	body, sum, _ := strings.Cut(state, ".")
	enc := base64.RawURLEncoding.Strict()
	text, err := enc.DecodeString(body)
	if err != nil {
		return nil, errForged
	}
	mac, err := enc.DecodeString(sum)
	if err != nil || !hmac.Equal(mac, s.g.mac(text)) {
		return nil, errForged
	}
	var r round
	if err := schema.DecodeInto(text, &r, nil); err != nil {
		return nil, errForged
	}
	if r.Session != s.client.SessionID || r.Principal != s.client.Principal || r.Tool != c.name || r.Arguments != argumentsHash(c.args) || s.g.now().Unix() > r.Until {
		return nil, errForged
	}
	return &r, nil
}
