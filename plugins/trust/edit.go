package trust

import (
	"fmt"
	"slices"
	"strings"
)

// change applies an edit to a copy and takes it over when the result has no mistakes: a policy is never left half edited.
func (p *Policy) change(edit func(*Policy) error) error {
	if p == nil {
		return ErrNoPolicy
	}
	c := p.clone()
	if err := edit(c); err != nil {
		return err
	}
	out, problems := compile(c)
	if err := problems.err(); err != nil {
		return err
	}
	c.compiled = out
	*p = *c
	return nil
}

func (p *Policy) publisher(name string) (*Publisher, error) {
	for i := range p.Publishers {
		if strings.EqualFold(p.Publishers[i].Name, name) {
			return &p.Publishers[i], nil
		}
	}
	return nil, fmt.Errorf("publisher %s: %w", text(name), ErrNotFound)
}

// AddPublisher adds a publisher. ErrExists when one has the name, a [*PolicyError] for mistakes, such as a key or a prefix
// that is another's.
func (p *Policy) AddPublisher(pub Publisher) error {
	return p.change(func(c *Policy) error {
		if _, err := c.publisher(pub.Name); err == nil {
			return fmt.Errorf("publisher %s: %w", text(pub.Name), ErrExists)
		}
		c.Publishers = append(c.Publishers, pub)
		return nil
	})
}

// RemovePublisher removes a publisher and all it owns. Its plugins are unknown signers' from then on. ErrNotFound.
func (p *Policy) RemovePublisher(name string) error {
	return p.change(func(c *Policy) error {
		if _, err := c.publisher(name); err != nil {
			return err
		}
		c.Publishers = slices.DeleteFunc(c.Publishers, func(q Publisher) bool { return strings.EqualFold(q.Name, name) })
		return nil
	})
}

// AddKey adds a key to a publisher. ErrNotFound, ErrExists, or a [*PolicyError].
func (p *Policy) AddKey(publisher string, k Key) error {
	return p.change(func(c *Policy) error {
		pub, err := c.publisher(publisher)
		if err != nil {
			return err
		}
		if print, err := Fingerprint(k.PublicKey); err != nil {
			return err
		} else if slices.ContainsFunc(pub.Keys, func(o Key) bool { return sameKey(o, print) }) {
			return fmt.Errorf("key %s: %w", print, ErrExists)
		}
		pub.Keys = append(pub.Keys, k)
		return nil
	})
}

// RemoveKey takes a key from a publisher, by its fingerprint. It is for keys that were added by mistake: one that was lost
// or stolen is revoked, so that nobody adds it again. ErrNotFound, or a [*PolicyError] when it was the last signer.
func (p *Policy) RemoveKey(publisher, fingerprint string) error {
	return p.change(func(c *Policy) error {
		pub, err := c.publisher(publisher)
		if err != nil {
			return err
		}
		n := len(pub.Keys)
		pub.Keys = slices.DeleteFunc(pub.Keys, func(k Key) bool { return sameKey(k, fingerprint) })
		if len(pub.Keys) == n {
			return fmt.Errorf("key %s: %w", text(fingerprint), ErrNotFound)
		}
		return nil
	})
}

func sameKey(k Key, fingerprint string) bool {
	print, err := Fingerprint(k.PublicKey)
	return err == nil && print == fingerprint
}

// AddIdentity adds a keyless signer to a publisher; [Policy.TrustedRoot] must be set. ErrNotFound, ErrExists, or a
// [*PolicyError].
func (p *Policy) AddIdentity(publisher string, id Identity) error {
	return p.change(func(c *Policy) error {
		pub, err := c.publisher(publisher)
		if err != nil {
			return err
		}
		if slices.Contains(pub.Identities, id) {
			return fmt.Errorf("identity %s: %w", text(id.Subject), ErrExists)
		}
		pub.Identities = append(pub.Identities, id)
		return nil
	})
}

// RevokeKey puts a key on the list of revoked ones, by its fingerprint. Nothing that it signed is accepted any more, whenever it
// was signed. The publisher keeps it, so that its plugins read as revoked and not as unknown. Twice is not an error.
func (p *Policy) RevokeKey(fingerprint string) error {
	return p.change(func(c *Policy) error {
		if !slices.Contains(c.Revoked.Keys, fingerprint) {
			c.Revoked.Keys = append(c.Revoked.Keys, fingerprint)
		}
		return nil
	})
}

// RevokeDigest puts an artifact on the list of revoked ones, by its digest, "sha256:…". Twice is not an error.
func (p *Policy) RevokeDigest(digest string) error {
	return p.change(func(c *Policy) error {
		if !slices.Contains(c.Revoked.Digests, digest) {
			c.Revoked.Digests = append(c.Revoked.Digests, digest)
		}
		return nil
	})
}

// SetThreshold says how many of a publisher's signers must have signed each of its plugins; 1 means any one of them. What is
// installed and has fewer good signatures is refused from then on. ErrNotFound, or a [*PolicyError] where the publisher has
// not as many signers.
func (p *Policy) SetThreshold(publisher string, signers int) error {
	return p.change(func(c *Policy) error {
		pub, err := c.publisher(publisher)
		if err != nil {
			return err
		}
		if pub.Threshold = signers; signers == 1 {
			pub.Threshold = 0
		}
		return nil
	})
}

// SetMinVersion says the lowest version of a plugin that is accepted. What is installed and lower is refused from then on.
// A [*PolicyError] for what is no id or no version.
func (p *Policy) SetMinVersion(id, version string) error {
	return p.change(func(c *Policy) error {
		if c.MinVersions == nil {
			c.MinVersions = map[string]string{}
		}
		c.MinVersions[id] = version
		return nil
	})
}

// RemoveMinVersion accepts every version of a plugin again. ErrNotFound where the policy has no least one.
func (p *Policy) RemoveMinVersion(id string) error {
	return p.change(func(c *Policy) error {
		if _, ok := c.MinVersions[id]; !ok {
			return fmt.Errorf("a least version of %s: %w", text(id), ErrNotFound)
		}
		delete(c.MinVersions, id)
		return nil
	})
}
