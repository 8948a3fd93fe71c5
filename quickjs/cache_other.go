//go:build !unix

package quickjs

// checkPrivate has nothing to ask where a user's cache folder is private by
// the system's own rules.
func checkPrivate(string) error { return nil }
