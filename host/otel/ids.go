package otel

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
	"time"
)

// digest makes an id of its parts, each with its length so that no two lists of
// parts read the same. No part is left readable in it.
func digest(parts ...string) [sha256.Size]byte {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		// A hash never fails to take what is written to it.
		_, _ = io.WriteString(h, p)
	}
	sum := [sha256.Size]byte(h.Sum(nil))
	sum[0] |= 1 // an id of zeros is none
	return sum
}

// traceID gives the id of a run's trace.
func traceID(key string) []byte {
	d := digest("cloister trace", key)
	return d[:16]
}

// spanID gives the id of a span in the trace of key. Kinds that happen more than
// once under the same call take the time into it.
func spanID(key, kind, callID string, at time.Time) []byte {
	when := ""
	if !at.IsZero() {
		when = at.UTC().Format(time.RFC3339Nano)
	}
	d := digest("cloister span", key, kind, callID, when)
	return d[:8]
}

// rootID gives the id of a run's exec, under which all else is.
func rootID(key string) []byte { return spanID(key, "exec", "", time.Time{}) }
