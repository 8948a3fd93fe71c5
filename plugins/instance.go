package plugins

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/extism"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// Instance is a plugin with memory of its own, for one run. Calls from several goroutines are safe and happen one after
// the other. Close it.
type Instance struct {
	plugin  *Plugin
	inner   instance
	options InstanceOptions
	number  uint64 // no other instance of the process has it

	turn    chan struct{} // holds a token while no call runs
	running *activation   // the call that runs; under turns
	once    sync.Once
}

// Plugin is where the instance is from.
func (i *Instance) Plugin() *Plugin { return i.plugin }

// Finished reports that an earlier call cost the instance: make another.
func (i *Instance) Finished() bool { return i.inner.Dead() }

// Close ends a running call, waits for it and frees the instance. Idempotent.
func (i *Instance) Close() {
	i.inner.Close()
	i.once.Do(func() { i.plugin.broker.forget(i) })
}

// Call runs a tool. input is a JSON object; the result is JSON.
//
// A failure of the tool is a [*ToolError]: data for the caller in the cell. Anything else is a [*PluginError]:
// ErrUnknownTool, ErrInput, ErrLimit, ErrProtocol, ErrBroken, ErrMemory, ErrStopped, ErrFinished, ErrClosed, ErrBusy. The call ends
// with ctx, and when it has run for [Plugin.Timeout]; waiting for its turn, for call_tool and for interrupt does not count.
func (i *Instance) Call(ctx context.Context, tool string, input json.RawMessage) (json.RawMessage, error) {
	id := i.plugin.ID()
	t, ok := i.plugin.manifest.tool(tool)
	if !ok {
		return nil, &PluginError{Plugin: id, Kind: ErrUnknownTool, Detail: i.unknown(tool)}
	}
	limits := i.plugin.options.Limits
	if len(input) > limits.InputBytes {
		return nil, i.overLimit(tool, "input", len(input), limits.InputBytes)
	}
	// Strict before it is put into an envelope: what is not one JSON value could add members to it.
	if err := checkInput(input); err != nil {
		return nil, &PluginError{Plugin: id, Tool: tool, Kind: ErrInput, Detail: plaintext.Line(err.Error(), 600), cause: err}
	}
	q := request{tool: tool, export: t.Export, message: []byte(input), answer: bareAnswer, limit: i.plugin.Timeout(tool)}
	if q.export == "" {
		q.export, q.message, q.answer = CallExport, envelope(tool, input), envelopeAnswer
	}
	return i.ask(ctx, q)
}

// request is one call of an export.
type request struct {
	tool    string // for errors
	export  string
	message []byte
	answer  func([]byte) (json.RawMessage, error)
	limit   time.Duration
}

// ask calls an export and reads the answer. The value is at most Limits.OutputBytes of strict JSON.
func (i *Instance) ask(ctx context.Context, q request) (json.RawMessage, error) {
	a := &activation{instance: i, parent: activationOf(ctx), tool: q.tool}
	done, err := a.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	out, err := i.inner.CallFor(context.WithValue(ctx, activationKey{}, a), q.limit, q.export, q.message)
	if err != nil {
		return nil, i.failure(q.tool, err)
	}
	value, err := q.answer(out)
	var te *ToolError
	if err != nil && !errors.As(err, &te) {
		return nil, &PluginError{Plugin: i.plugin.ID(), Tool: q.tool, Kind: ErrProtocol, Detail: plaintext.Line(err.Error(), 600), cause: err}
	}
	if most := i.plugin.options.Limits.OutputBytes; len(value) > most {
		return nil, i.overLimit(q.tool, "output", len(value), most)
	}
	return value, err
}

func (i *Instance) overLimit(tool, what string, got, most int) error {
	return &PluginError{Plugin: i.plugin.ID(), Tool: tool, Kind: ErrLimit, Detail: fmt.Sprintf("%s of %d bytes, at most %d are allowed", what, got, most)}
}

// envelope writes a guestabi.CallRequest. Encoding the struct would copy the input once more and write < as six bytes; a tool's
// name needs no quoting, and a test holds the two together.
func envelope(tool string, input []byte) []byte {
	b := make([]byte, 0, len(input)+envelopeBytes)
	b = append(b, `{"abi":`+strconv.Itoa(ABIVersion)+`,"tool":"`+tool+`","input":`...)
	b = append(b, input...)
	return append(b, '}')
}

func (i *Instance) unknown(tool string) string {
	var names []string
	for _, t := range i.plugin.manifest.Tools {
		names = append(names, t.Name)
	}
	if near := schema.Suggest(tool, names); near != "" {
		return fmt.Sprintf("%q; did you mean %q?", plaintext.Line(tool, 80), near)
	}
	return fmt.Sprintf("%q", plaintext.Line(tool, 80))
}

func checkInput(input []byte) error {
	if err := schema.Check(input); err != nil {
		return err
	}
	if !bytes.HasPrefix(bytes.TrimLeft(input, " \t\r\n"), []byte("{")) {
		return errors.New("a tool's input is an object")
	}
	return nil
}

// failure tells the two planes apart.
func (i *Instance) failure(tool string, err error) error {
	var guest *extism.GuestError
	if !errors.As(err, &guest) {
		return fault(i.plugin.ID(), tool, err)
	}
	if guest.Message == "" {
		return toolError(guestabi.PluginFailure{Message: fmt.Sprintf("the tool failed without a message (return code %d)", guest.Code)})
	}
	var f guestabi.PluginFailure
	if strings.HasPrefix(guest.Message, "{") && schema.DecodeInto([]byte(guest.Message), &f, nil) == nil && f.Message != "" {
		return toolError(f)
	}
	return toolError(guestabi.PluginFailure{Message: guest.Message})
}

// bareAnswer is the result of an export of the tool's own.
func bareAnswer(out []byte) (json.RawMessage, error) {
	if len(out) == 0 {
		return nil, errors.New("it wrote no output; write JSON, null at least")
	}
	if err := schema.Check(out); err != nil {
		return nil, err
	}
	return out, nil
}

// envelopeAnswer opens a guestabi.PluginResponse.
func envelopeAnswer(out []byte) (json.RawMessage, error) {
	if len(out) == 0 {
		return nil, errors.New(`it wrote no output; write {"abi":1,"value":…} or {"abi":1,"error":{…}}`)
	}
	// A guestabi.PluginResponse, read once and leniently: the version decides first, since an answer of a newer one
	// may look like anything.
	var res struct {
		ABI   int                        `json:"abi"`
		Value json.RawMessage            `json:"value"`
		Error json.RawMessage            `json:"error"`
		More  map[string]json.RawMessage `json:",embed"`
	}
	if err := schema.DecodeInto(out, &res, &schema.DecodeOptions{AllowUnknown: true}); err != nil {
		return nil, err
	}
	switch {
	case res.ABI > ABIVersion:
		return nil, fmt.Errorf("it answers in ABI version %d, this host speaks %d; update Cloister, or build the plugin for version %d", res.ABI, ABIVersion, ABIVersion)
	case res.ABI != ABIVersion:
		return nil, fmt.Errorf(`its answer has no "abi": %d`, ABIVersion)
	case len(res.More) > 0:
		return nil, fmt.Errorf("its answer has the unknown property %q", slices.Sorted(maps.Keys(res.More))[0])
	case res.Error != nil && string(res.Error) != "null":
		if res.Value != nil {
			return nil, errors.New("its answer has both a value and an error")
		}
		var f guestabi.PluginFailure
		if err := schema.DecodeInto(res.Error, &f, &schema.DecodeOptions{Checked: true}); err != nil {
			return nil, err
		}
		return nil, toolError(f)
	case res.Value == nil:
		return nil, errors.New("its answer has neither a value nor an error")
	}
	return res.Value, nil
}

const maxMessage = 4 << 10

var (
	namePattern = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]{0,63}$`)
	codePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
)

// toolError bounds what a plugin says about its failure.
func toolError(f guestabi.PluginFailure) error {
	e := &ToolError{Name: "Error", Message: plaintext.Clip(f.Message, maxMessage), Code: "tool_failed"}
	if namePattern.MatchString(f.Name) {
		e.Name = f.Name
	}
	if codePattern.MatchString(f.Code) {
		e.Code = f.Code
	}
	if e.Message == "" {
		e.Message = "the tool failed without a message"
	}
	return e
}
