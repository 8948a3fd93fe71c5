package api

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Progress is how far a call is, as its tool or its server reports it. All texts in it are theirs.
type Progress struct {
	// Done counts towards Total, in any unit; a Total of 0 means that it is not known.
	Done, Total float64
	Message     string
	// Value is what a Go tool reported that was no Progress and no text.
	Value any
}

// String is the message, or "done of total", or both; or the value.
func (p Progress) String() string {
	switch {
	case p.Value != nil:
		return fmt.Sprint(p.Value)
	case p.Message != "" && p.Total == 0:
		return p.Message
	}
	return strings.TrimSpace(fmt.Sprintf("%s %v of %v", p.Message, p.Done, p.Total))
}

// MarshalJSON writes the value where there is one, else the message alone or an object.
func (p Progress) MarshalJSON() ([]byte, error) {
	switch {
	case p.Value != nil:
		return json.Marshal(p.Value)
	case p.Done == 0 && p.Total == 0:
		return json.Marshal(p.Message)
	}
	return json.Marshal(struct {
		Done    float64 `json:"done"`
		Total   float64 `json:"total,omitempty"`
		Message string  `json:"message,omitempty"`
	}{p.Done, p.Total, p.Message})
}
