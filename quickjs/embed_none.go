//go:build !embed_engine

package quickjs

// embeddedEngine is filled by the build tag embed_engine.
var embeddedEngine []byte
