package transpile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// The protocol between a Worker and its child, over the child's standard input
// and output. Everything is a frame: four bytes of length, big endian, and that
// many bytes of payload.
//
//	parent → child   hello: magic, version, nonce, limits
//	child  → parent  hello: magic, version, the same nonce
//	parent → child   a source, as it is
//	child  → parent  a reply (see reply.go)
//	…                until the parent closes its end; then the child exits
//
// Both sides take the other for hostile: a length is compared with the most
// that may come, and the buffer grows with what has arrived, not with what was
// declared.

var (
	errFrameTooLarge = errors.New("frame is longer than allowed")
	errMalformed     = errors.New("malformed frame")
)

const frameHeader = 4

// appendFrame appends one frame to dst.
func appendFrame[T string | []byte](dst []byte, payload T) []byte {
	dst = slices.Grow(dst, frameHeader+len(payload))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(payload)))
	return append(dst, payload...)
}

// readFrame reads one frame of at most most bytes into buf and returns its
// payload, which is valid until buf is used again. The error is io.EOF only
// between two frames.
func readFrame(r io.Reader, buf *bytes.Buffer, most int) ([]byte, error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(header[:]))
	if n > int64(most) {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", errFrameTooLarge, n, most)
	}
	buf.Reset()
	if _, err := io.CopyN(buf, r, n); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return buf.Bytes(), nil
}

// trim gives a buffer back to the collector once it has grown beyond what
// ordinary cells need, so that one large cell does not stay in memory.
func trim(buf *bytes.Buffer) {
	const keep = 256 << 10
	if buf.Cap() > keep {
		*buf = bytes.Buffer{}
	}
}

// Fields of a payload: numbers are uvarints, texts are a length and bytes.

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// reader takes fields from the front of a payload. The first fault stays.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) number(most uint64) int {
	v, n := binary.Uvarint(r.rest)
	if r.err != nil || n <= 0 || v > most {
		r.err = errMalformed
		return 0
	}
	r.rest = r.rest[n:]
	return int(v)
}

func (r *reader) signed() int {
	v, n := binary.Varint(r.rest)
	if r.err != nil || n <= 0 || v != int64(int32(v)) {
		r.err = errMalformed
		return 0
	}
	r.rest = r.rest[n:]
	return int(v)
}

// text returns a copy, so that the payload may be overwritten.
func (r *reader) text(most int) string {
	n := r.number(uint64(most))
	if r.err != nil || n > len(r.rest) {
		r.err = errMalformed
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

// end reports a payload that has something left over.
func (r *reader) end() error {
	if r.err == nil && len(r.rest) > 0 {
		r.err = errMalformed
	}
	return r.err
}
