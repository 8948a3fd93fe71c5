package egress_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloister-wasm/cloister/internal/egress"
)

// A request that no rule fits is refused before any name is looked up.
func ExampleClient_Do() {
	rules := []egress.Rule{{Host: "api.example.com", Paths: []string{"/v1/"}}}
	_, err := egress.New(nil).Do(context.Background(), rules, &egress.Request{URL: "https://api.example.com/admin"})

	var e *egress.Error
	fmt.Println(errors.As(err, &e), errors.Is(err, egress.ErrNotAllowed))
	fmt.Println(e.Code())
	fmt.Println(e.Detail)
	// Output:
	// true true
	// not_allowed
	// path: no path prefix of api.example.com covers "/admin" for GET; add one to paths in permissions.hosts
}

// Every mistake of a rule is reported, with its place.
func ExampleParseRule() {
	err := egress.ParseRule(egress.Rule{Host: "https://api.example.com", Methods: []string{"get"}, Paths: []string{"/v1/*"}})
	var e *egress.RuleError
	if errors.As(err, &e) {
		for _, p := range e.Problems {
			fmt.Println(p.Path, p.Message)
		}
	}
	// Output:
	// /host write the host alone, without https://; for http set insecure to true
	// /methods/0 write the method in capitals: GET
	// /paths/0 paths are prefixes and take no *; /repos/ allows all that is below it
}

// Secrets that come back in a text are replaced.
func ExampleRedact() {
	secrets := map[string]egress.Secret{"Authorization": {Prefix: "Bearer ", Value: "open-sesame"}}
	fmt.Println(egress.Redact(`{"error":"the token open-sesame has expired"}`, secrets))
	// Output: {"error":"the token *** has expired"}
}
