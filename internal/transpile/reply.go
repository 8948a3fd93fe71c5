package transpile

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// replyKind is the first byte of a reply.
type replyKind byte

const (
	replyOK       replyKind = iota // text code, then the line map up to the end
	replySyntax                    // line, column, text message, text line
	replyModule                    // line, column, text syntax
	replyTooLarge                  // nothing
	replyInternal                  // nothing
)

// encodeReply returns the payload for a transform's outcome, at most most bytes
// long; a longer one becomes replyTooLarge.
func encodeReply(dst []byte, out *Output, err error, most int) []byte {
	var syntax *SyntaxError
	var module *ModuleAccessError
	switch {
	case err == nil && len(out.Code) >= most:
		return append(dst, byte(replyTooLarge))
	case err == nil:
		reply := appendText(append(dst, byte(replyOK)), out.Code)
		reply = appendLineMap(reply, out.Map)
		if len(reply)-len(dst) > most {
			return append(dst, byte(replyTooLarge))
		}
		return reply
	case errors.As(err, &syntax):
		dst = appendPosition(append(dst, byte(replySyntax)), syntax.Position)
		return appendText(appendText(dst, plaintext.Head(syntax.Message, maxMessage)), plaintext.Head(syntax.LineText, maxLineText))
	case errors.As(err, &module):
		return appendText(appendPosition(append(dst, byte(replyModule)), module.Position), module.Syntax)
	case errors.Is(err, ErrOutputTooLarge):
		return append(dst, byte(replyTooLarge))
	default:
		return append(dst, byte(replyInternal))
	}
}

// decodeReply returns the outcome that a reply holds. malformed is set when it
// holds none; what the child says is then not to be believed at all.
func decodeReply(payload []byte) (out *Output, outcome, malformed error) {
	if len(payload) == 0 {
		return nil, nil, errMalformed
	}
	r := reader{rest: payload[1:]}
	switch replyKind(payload[0]) {
	case replyOK:
		out = &Output{Code: r.text(maxOutputBytes)}
		out.Map = r.lineMap()
	case replySyntax:
		outcome = &SyntaxError{Position: r.position(), Message: r.text(maxMessage), LineText: r.text(maxLineText)}
	case replyModule:
		outcome = &ModuleAccessError{Position: r.position(), Syntax: r.text(len(syntaxMeta))}
	case replyTooLarge:
		outcome = ErrOutputTooLarge
	case replyInternal:
		outcome = ErrInternal
	default:
		r.err = errMalformed
	}
	if err := r.end(); err != nil {
		return nil, nil, err
	}
	return out, outcome, nil
}

func appendPosition(dst []byte, p Position) []byte {
	dst = binary.AppendUvarint(dst, uint64(max(p.Line, 1)))
	return binary.AppendUvarint(dst, uint64(max(p.Column, 1)))
}

func (r *reader) position() Position {
	return Position{Line: r.number(math.MaxInt32), Column: r.number(math.MaxInt32)}
}

// The line map on the wire: for each segment, in order, how many generated
// lines and columns it lies behind the one before (a column counts from the
// start when the line is new), and by how much the place in the source differs.

func appendLineMap(dst []byte, m LineMap) []byte {
	var last segment
	for _, s := range m.segs {
		dst = binary.AppendUvarint(dst, uint64(s.genLine-last.genLine))
		if s.genLine != last.genLine {
			last.genCol = 0
		}
		dst = binary.AppendUvarint(dst, uint64(s.genCol-last.genCol))
		dst = binary.AppendVarint(dst, int64(s.srcLine)-int64(last.srcLine))
		dst = binary.AppendVarint(dst, int64(s.srcCol)-int64(last.srcCol))
		last = s
	}
	return dst
}

// lineMap reads segments up to the end of the payload. Each takes four bytes at
// least, so the result is bounded by what has arrived.
func (r *reader) lineMap() LineMap {
	m := LineMap{mapped: true}
	var genLine, genCol, srcLine, srcCol int
	for len(r.rest) > 0 && r.err == nil {
		if d := r.number(math.MaxInt32); d > 0 {
			genLine, genCol = genLine+d, 0
		}
		genCol += r.number(math.MaxInt32)
		srcLine += r.signed()
		srcCol += r.signed()
		seg, ok := makeSegment(genLine, genCol, srcLine, srcCol)
		if !ok {
			r.err = errMalformed
		}
		m.segs = append(m.segs, seg)
	}
	return m
}
