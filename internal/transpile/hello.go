package transpile

import (
	"encoding/binary"
	"fmt"
)

// helloMagic and helloVersion open the first frame of each side. NB: raise the
// version with every change of a frame; another version is refused.
const (
	helloMagic   = "cloister/transpile"
	helloVersion = 1
	nonceBytes   = 16
)

// nonce ties one child to the parent that started it: the parent puts it into
// the child's environment and into its hello, and the child sends it back.
type nonce [nonceBytes]byte

// hello is the first frame from the parent.
type hello struct {
	nonce     nonce
	memory    int64
	maxSource int
	maxOutput int
}

const helloBytes = len(helloMagic) + 1 + nonceBytes + 8 + 4 + 4

func (h hello) encode() []byte {
	b := encodeGreeting(h.nonce)
	b = binary.BigEndian.AppendUint64(b, uint64(h.memory))
	b = binary.BigEndian.AppendUint32(b, uint32(h.maxSource))
	return binary.BigEndian.AppendUint32(b, uint32(h.maxOutput))
}

// decodeHello reads the parent's hello and refuses limits that no Options can
// hold, so that a stray parent cannot ask for a worker without bounds.
func decodeHello(b []byte) (hello, error) {
	var h hello
	if len(b) != helloBytes {
		return h, fmt.Errorf("%w: hello of %d bytes", errMalformed, len(b))
	}
	var err error
	if h.nonce, err = decodeGreeting(b[:helloBytes-16]); err != nil {
		return h, err
	}
	b = b[helloBytes-16:]
	memory, source, output := binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint32(b[12:])
	if memory < minMemory || memory > maxMemory || source > maxSourceBytes || output > maxOutputBytes {
		return h, fmt.Errorf("%w: limits out of range", errMalformed)
	}
	h.memory, h.maxSource, h.maxOutput = int64(memory), int(source), int(output)
	return h, nil
}

// encodeGreeting is the child's hello, and the start of the parent's.
func encodeGreeting(n nonce) []byte {
	b := append([]byte(helloMagic), helloVersion)
	return append(b, n[:]...)
}

func decodeGreeting(b []byte) (nonce, error) {
	var n nonce
	const size = len(helloMagic) + 1 + nonceBytes
	if len(b) != size || string(b[:len(helloMagic)]) != helloMagic {
		return n, fmt.Errorf("%w: not the hello of a transpile worker", errMalformed)
	}
	if v := b[len(helloMagic)]; v != helloVersion {
		return n, fmt.Errorf("%w: hello of version %d, not %d", errMalformed, v, helloVersion)
	}
	copy(n[:], b[len(helloMagic)+1:])
	return n, nil
}
