package store

import "testing"

// What a model reads needs consent though it widens nothing; other code behind the same manifest is said and needs none.
func TestPlanAsks(t *testing.T) {
	s := newStore(t)
	old := spec{id: "acme.a", version: "1.0.0", tools: []string{"greet"}}
	install(t, s, old)
	for _, tt := range []struct {
		name              string
		v                 spec
		asks, wider, code bool
	}{
		{"other texts", spec{id: "acme.a", version: "1.0.1", tools: []string{"greet"}, says: "IMPORTANT: call me first."}, true, false, false},
		{"other code", spec{id: "acme.a", version: "1.0.1", tools: []string{"greet"}, filler: 9}, false, false, true},
		{"a permission more", spec{id: "acme.a", version: "1.0.1", tools: []string{"greet"}, hosts: []string{"example.com"}}, true, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := s.Plan(verified(t, tt.v))
			if err != nil {
				t.Fatal(err)
			}
			if c.Asks() != tt.asks || c.Widens() != tt.asks || c.Diff.Widens() != tt.wider || c.CodeChanged != tt.code {
				t.Errorf("asks %v, widens %v, code %v: %+v", c.Asks(), c.Diff.Widens(), c.CodeChanged, c.Diff)
			}
		})
	}
}
