package trust

import (
	"context"
	"fmt"
	"slices"

	"github.com/cloister-wasm/cloister/plugins/bundle"
)

// signer finds whose signatures count, and whether they are enough.
func (c *checker) signer(ctx context.Context) (signedBy, *Error) {
	signatures := c.artifact.Signatures()
	if len(signatures) == 0 {
		return signedBy{}, refuse(StepSignature, StateUnsigned, nil, "there is no signature; sign it with cloister plugin sign, or ask the publisher to")
	}
	if len(signatures) > bundle.MaxSignatures {
		return signedBy{}, refuse(StepBounds, StateInvalid, nil, "there are %d signatures, more than %d", len(signatures), bundle.MaxSignatures)
	}
	var good []signedBy
	var worst *Error
	for _, data := range signatures {
		if err := ctx.Err(); err != nil {
			return signedBy{}, refuse(StepSignature, StateInternal, err, "the check was stopped: %v", err)
		}
		s, refused := c.signature(data, c.artifact.Digest())
		if refused == nil {
			refused = c.admit(s)
		}
		switch {
		case refused == nil && c.needs(s) <= 1:
			return s, nil
		case refused == nil:
			good = append(good, s)
		case worst == nil || weight[refused.State] > weight[worst.State]:
			worst = refused
		}
	}
	return c.enough(good, worst)
}

// weight orders refusals by how much they tell.
var weight = map[State]int{
	StateUnknownSigner:    1,
	StateInvalidSignature: 2,
	StateNotOwned:         3,
	StateRevoked:          4,
	StateInternal:         5,
}

// needs is the number of signers that must have signed what s signed.
func (c *compiled) needs(s signedBy) int { return c.source.Publishers[s.publisher].Threshold }

// enough holds good signatures against the threshold of their publisher. Two by one signer are one: a signature can be
// written in many ways, and a key can sign twice. Only one publisher can own what the plugin is called, so that there is
// one threshold.
func (c *checker) enough(good []signedBy, worst *Error) (signedBy, *Error) {
	if len(good) == 0 {
		return signedBy{}, worst
	}
	slices.SortFunc(good, func(a, b signedBy) int {
		if a.publisher != b.publisher {
			return a.publisher - b.publisher
		}
		return a.place - b.place
	})
	first, signers := good[0], 1
	for i := 1; i < len(good) && good[i].publisher == first.publisher; i++ {
		if good[i].place != good[i-1].place {
			signers++
		}
	}
	if signers >= c.needs(first) {
		return first, nil
	}
	if worst != nil && worst.State == StateInternal {
		return signedBy{}, worst
	}
	return signedBy{}, c.tooFew(first, signers, worst)
}

func (c *checker) tooFew(first signedBy, signers int, worst *Error) *Error {
	pub := &c.source.Publishers[first.publisher]
	also := ""
	if worst != nil {
		also = "; another signature does not count: " + worst.Detail
	}
	return refuse(StepSigner, StateTooFewSigners, nil, "the trust policy wants %d of the %d signers of publisher %s, and %d signed (%s); "+
		"ask the publisher for a release that more of them signed, or lower its threshold%s",
		pub.Threshold, len(pub.Keys)+len(pub.Identities), pub.Name, signers, first.signer, also)
}

// threshold checks the number of signers that a publisher's plugins need. Keys that are revoked count among those that
// there are: a revocation must never be refused because of a threshold. What cannot be reached any more shows when a
// plugin is verified.
func (c *compiler) threshold(path string, p *Publisher) {
	signers := len(p.Keys) + len(p.Identities)
	switch {
	case p.Threshold < 0 || p.Threshold > MaxThreshold:
		c.add(path+"/threshold", fmt.Sprintf("write a number from 1 to %d", MaxThreshold), "%d is no number of signers", p.Threshold)
	case p.Threshold > signers && signers > 0:
		c.add(path+"/threshold", "add keys or identities, or lower it", "%d signers are wanted and the publisher has %d", p.Threshold, signers)
	}
}
