package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/cloister-wasm/cloister/internal/safefile"
)

// Endings of the files of a key pair, the same as cosign's.
const (
	PrivateKeySuffix = ".key"
	PublicKeySuffix  = ".pub"
)

// WriteKeys writes a key pair to base.key, readable by its owner only, and base.pub. Neither may be there: a key is never
// overwritten (ErrExists). After an error neither is left behind.
func WriteKeys(base string, private, public []byte) error {
	if err := createFile(base+PrivateKeySuffix, private, 0o600); err != nil {
		return err
	}
	if err := createFile(base+PublicKeySuffix, public, 0o644); err != nil {
		if rm := os.Remove(base + PrivateKeySuffix); rm != nil {
			return errors.Join(err, rm)
		}
		return err
	}
	return nil
}

// LoadKeyFile reads a private key from a file, see [LoadKey]. It is refused if others can read or change the file.
func LoadKeyFile(path string, password []byte) (*SigningKey, error) {
	data, err := safefile.ReadTrusted(path, maxKeyBytes)
	if err != nil {
		return nil, fmt.Errorf("reading the private key: %w", err)
	}
	k, err := LoadKey(data, password)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	// Only what is a private key is a secret: a public one, given by mistake, was told apart above.
	if _, err := safefile.ReadSecret(path, maxKeyBytes); err != nil {
		return nil, fmt.Errorf("reading the private key: %w", err)
	}
	return k, nil
}

// createFile makes a new file, with its mode from the start.
func createFile(path string, data []byte, mode fs.FileMode) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %w; choose another name, or move it away", path, ErrExists)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(path) // made by us a moment ago; the first error counts
		}
	}()
	if _, err := f.Write(data); err != nil {
		_ = f.Close() // the first error counts
		return err
	}
	if err := f.Sync(); err != nil {
		_ = f.Close() // the first error counts
		return err
	}
	return f.Close()
}
