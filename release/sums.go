package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cloister-wasm/cloister/plugins/trust"
)

// Names of the list of digests and of its signature.
const (
	sumsFile      = "SHA256SUMS"
	signatureFile = "SHA256SUMS.sigstore.json"
)

// loadKey reads the signing key before hours of building, not after; nil for none.
func loadKey(o *options) (*trust.SigningKey, error) {
	if o.key == "" {
		return nil, nil
	}
	key, err := trust.LoadKeyFile(o.key, nil)
	if err != nil && o.password != nil {
		key, err = trust.LoadKeyFile(o.key, o.password)
	}
	if err != nil {
		return nil, fmt.Errorf("CLOISTER_RELEASE_KEY: %w (the password is that of CLOISTER_KEY_PASSWORD)", err)
	}
	return key, nil
}

// finish writes the list of digests, and signs it if there is a key.
func (o *options) finish(ctx context.Context, names []string, key *trust.SigningKey, log io.Writer) error {
	names = slices.Sorted(slices.Values(names))
	var sums strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(o.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), name)
	}
	if err := os.WriteFile(filepath.Join(o.out, sumsFile), []byte(sums.String()), 0o644); err != nil {
		return err
	}
	if key == nil {
		fmt.Fprintf(log, "%s is unsigned: CLOISTER_RELEASE_KEY names no key (cloister plugin keygen makes one)\n", sumsFile)
		return nil
	}
	signature, err := trust.SignFile(ctx, []byte(sums.String()), key)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.out, signatureFile), append(signature, '\n'), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(log, "%s is signed by %s\n", sumsFile, key.Fingerprint())
	return os.WriteFile(filepath.Join(o.out, "cloister.pub"), key.PublicPEM(), 0o644)
}
