package namespace

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/cloister-wasm/cloister/internal/schema"
)

// MapArgs makes a tool's input of the arguments that a cell gave, for markers without MapInput. An item that is empty
// stands for undefined. With Args each argument becomes the member of its name, and undefined ones are left out; without,
// the first argument is the input, and {} where it is undefined or null. Errors are an [*ArgumentsError]: too many
// arguments, one that is not JSON, or a marker that only the plugin can map.
func (c *Call) MapArgs(args []json.RawMessage) (json.RawMessage, error) {
	if c.MapInput {
		return nil, &ArgumentsError{"the plugin has to map these arguments"}
	}
	most := 1
	if c.Args != nil {
		most = len(c.Args)
	}
	for i, a := range args {
		switch {
		case len(a) == 0:
		case i >= most:
			return nil, &ArgumentsError{c.tooMany(most)}
		default:
			// One JSON value and no more: what is put between braces could add members to them.
			if err := schema.Check(a); err != nil {
				return nil, &ArgumentsError{fmt.Sprintf("argument %d is not JSON", i+1)}
			}
		}
	}
	if c.Args == nil {
		if len(args) == 0 || len(args[0]) == 0 || strings.TrimSpace(string(args[0])) == "null" {
			return json.RawMessage("{}"), nil
		}
		return args[0], nil
	}
	return c.named(args), nil
}

func (c *Call) named(args []json.RawMessage) json.RawMessage {
	size := 2
	for _, a := range args {
		size += len(a) + MaxNameBytes
	}
	b := append(make([]byte, 0, size), '{')
	for i, name := range c.Args {
		if i >= len(args) || len(args[i]) == 0 {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, name), ':') // identifiers of ASCII: Go's quotes are JSON's
		b = append(b, args[i]...)
	}
	return append(b, '}')
}

func (c *Call) tooMany(most int) string {
	switch {
	case c.Args == nil:
		return "it takes one argument, an object"
	case most == 0:
		return "it takes no arguments"
	default:
		return fmt.Sprintf("it takes at most %d arguments: %s", most, strings.Join(c.Args, ", "))
	}
}
