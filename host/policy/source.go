package policy

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	cedar "github.com/cedar-policy/cedar-go"

	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// parseSource turns a text into Cedar's policies, once it is known that doing so is
// cheap: Cedar's parser recurses as deep as its text says.
func parseSource(name string, text []byte) (cedar.PolicyList, *Fault) {
	switch {
	case len(text) > MaxSourceBytes:
		return nil, &Fault{File: name, Message: fmt.Sprintf("%d bytes are more than the %d of one file; split it", len(text), MaxSourceBytes)}
	case !utf8.Valid(text):
		return nil, &Fault{File: name, Message: "is not UTF-8 text"}
	}
	s := &sourceScan{name: name, text: string(text), line: 1}
	if f := s.run(); f != nil {
		return nil, f
	}
	list, err := cedar.NewPolicyListFromBytes(name, text)
	if err != nil {
		return nil, syntaxFault(name, err)
	}
	return list, nil
}

// cedarPlace is where Cedar's parser says that it stands.
var cedarPlace = regexp.MustCompile(`^(?:parser error: )?(?:parse error at )?<input>:(\d+):(\d+):? ?`)

func syntaxFault(name string, err error) *Fault {
	f := &Fault{File: name, Message: err.Error()}
	if m := cedarPlace.FindStringSubmatch(f.Message); m != nil {
		f.Message = "near " + f.Message[len(m[0]):]
		// Both match \d+; a number too large stays 0.
		f.Line, _ = strconv.Atoi(m[1])
		f.Column, _ = strconv.Atoi(m[2])
	}
	f.Message = "not Cedar: " + plaintext.Line(strings.TrimPrefix(f.Message, "parser error: "), 2*maxShown)
	return f
}

// sourceScan walks over a text and counts what makes it expensive. It knows as much
// of Cedar's tokens as that takes: strings, comments, brackets and words.
type sourceScan struct {
	name         string
	text         string
	pos, line    int
	lineStart    int
	policyStart  int // offset of the policy's first token, -1 before it
	depth, ifs   int
	chain        int // words of the chain of attributes so far
	attributes   int // the words so far, each by its place in its chain
	policies     int
	lastWasPoint bool // the last token was a point
}

func (s *sourceScan) fault(format string, args ...any) *Fault {
	return &Fault{File: s.name, Line: s.line, Column: s.pos - s.lineStart + 1, Message: fmt.Sprintf(format, args...)}
}

func (s *sourceScan) run() *Fault {
	s.policyStart = -1
	for s.pos < len(s.text) {
		if s.skipSpace() {
			continue
		}
		if s.policyStart < 0 {
			s.policyStart = s.pos
		}
		if f := s.token(); f != nil {
			return f
		}
		if s.policyStart >= 0 && s.pos-s.policyStart > MaxPolicyBytes {
			return s.fault("the policy is longer than %d bytes; split it", MaxPolicyBytes)
		}
	}
	return nil
}

// skipSpace steps over white space and comments.
func (s *sourceScan) skipSpace() bool {
	rest := s.text[s.pos:]
	switch {
	case rest[0] == '\n':
		s.pos++
		s.line++
		s.lineStart = s.pos
	case rest[0] == ' ', rest[0] == '\t', rest[0] == '\r':
		s.pos++
	case strings.HasPrefix(rest, "//"):
		if end := strings.IndexByte(rest, '\n'); end >= 0 {
			s.pos += end
		} else {
			s.pos = len(s.text)
		}
	case strings.HasPrefix(rest, "/*"):
		end := strings.Index(rest[2:], "*/")
		if end < 0 {
			s.pos = len(s.text) // Cedar reports it
			return true
		}
		comment := rest[:end+4]
		if nl := strings.LastIndexByte(comment, '\n'); nl >= 0 {
			s.line += strings.Count(comment, "\n")
			s.lineStart = s.pos + nl + 1
		}
		s.pos += len(comment)
	default:
		return false
	}
	return true
}

func (s *sourceScan) token() *Fault {
	point := false
	switch c := s.text[s.pos]; {
	case c == '"':
		return s.skipString()
	case c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		return s.wordToken()
	case c == '.':
		point = true
		s.pos++
	default:
		if f := s.operator(c); f != nil {
			return f
		}
		s.pos++
	}
	if !point && !s.lastWasPoint {
		s.chain = 0
	}
	s.lastWasPoint = point
	return nil
}

func (s *sourceScan) wordToken() *Fault {
	start := s.pos
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		if c != '_' && !('a' <= c && c <= 'z') && !('A' <= c && c <= 'Z') && !('0' <= c && c <= '9') {
			break
		}
		s.pos++
	}
	if s.text[start:s.pos] == "if" {
		if s.ifs++; s.ifs > MaxNesting {
			return s.fault("more than %d times \"if\" in one policy; split it", MaxNesting)
		}
	}
	if !s.lastWasPoint {
		s.chain = 0
	}
	if s.chain++; s.chain > MaxChain {
		return s.fault("a chain of more than %d attributes", MaxChain)
	}
	if s.attributes += s.chain; s.attributes > MaxAttributes {
		return s.fault("too many attributes in one file; split it")
	}
	s.lastWasPoint = false
	return nil
}

func (s *sourceScan) operator(c byte) *Fault {
	switch c {
	case '(', '[', '{':
		if s.depth++; s.depth > MaxNesting {
			return s.fault("brackets are nested deeper than %d; split the policy", MaxNesting)
		}
	case ')', ']', '}':
		s.depth--
	case ';':
		if s.policies++; s.policies > MaxPolicies {
			return s.fault("more than %d policies", MaxPolicies)
		}
		s.policyStart, s.depth, s.ifs = -1, 0, 0
	}
	return nil
}

// skipString steps over a string, which cannot go over a line's end.
func (s *sourceScan) skipString() *Fault {
	for i := s.pos + 1; i < len(s.text) && s.text[i] != '\n'; i++ {
		switch s.text[i] {
		case '\\':
			i++
			if i < len(s.text) && s.text[i] == '\n' {
				return s.fault("not Cedar: the string is not closed on its line")
			}
		case '"':
			s.pos = i + 1
			s.lastWasPoint = false
			return nil
		}
	}
	return s.fault("not Cedar: the string is not closed on its line")
}
