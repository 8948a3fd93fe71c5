package mcp

import (
	"errors"
	"fmt"
	"sync"

	"github.com/cloister-wasm/cloister/internal/egress"
)

// secrets are the values that were looked up for one connection.
type secrets struct {
	mu   sync.Mutex
	list map[string]egress.Secret
}

// add takes a value up, if it is one that nobody is to see. Shorter than four bytes it
// would stand in every text.
func (s *secrets) add(value string, secret bool) {
	if !secret || len(value) < 4 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list == nil {
		s.list = map[string]egress.Secret{}
	}
	s.list[fmt.Sprint(len(s.list))] = egress.Secret{Value: value}
}

// redact takes secrets out of a text that a server wrote.
func (s *secrets) redact(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == 0 {
		return text
	}
	return egress.Redact(text, s.list)
}

// clean is redact for an error, which keeps what it wraps.
func (s *secrets) clean(err error) error {
	text := err.Error()
	if out := s.redact(text); out != text {
		return &redacted{text: out, err: err}
	}
	return err
}

type redacted struct {
	text string
	err  error
}

func (e *redacted) Error() string { return e.text }

// Is keeps sentinels reachable. The error behind, whose text has a secret, is not.
func (e *redacted) Is(target error) bool { return errors.Is(e.err, target) }
