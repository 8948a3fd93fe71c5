package plugins

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/cloister-wasm/cloister/internal/extism"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// Instance is a plugin with memory of its own, for one run. Calls from several goroutines are safe and happen one after
// the other. Close it.
type Instance struct {
	plugin *Plugin
	inner  instance
}

// Plugin is where the instance is from.
func (i *Instance) Plugin() *Plugin { return i.plugin }

// Finished reports that an earlier call cost the instance: make another.
func (i *Instance) Finished() bool { return i.inner.Dead() }

// Close ends a running call, waits for it and frees the instance. Idempotent.
func (i *Instance) Close() { i.inner.Close() }

// Call runs a tool. input is a JSON object; the result is JSON.
//
// A failure of the tool is a [*ToolError]: data for the caller in the cell. Anything else is a [*PluginError]:
// ErrUnknownTool, ErrInput, ErrLimit, ErrProtocol, ErrBroken, ErrMemory, ErrStopped, ErrFinished, ErrClosed. The call ends with
// ctx and at [Plugin.Timeout] at the latest.
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
		return nil, &PluginError{Plugin: id, Tool: tool, Kind: ErrInput, Detail: line(err.Error(), 600), cause: err}
	}
	ctx, cancel := context.WithTimeout(ctx, i.plugin.Timeout(tool))
	defer cancel()

	export, message, answer := t.Export, []byte(input), bareAnswer
	if export == "" {
		export, message, answer = CallExport, envelope(tool, input), envelopeAnswer
	}
	out, err := i.inner.Call(ctx, export, message)
	if err != nil {
		return nil, i.failure(tool, err)
	}
	value, err := answer(out)
	var te *ToolError
	if err != nil && !errors.As(err, &te) {
		return nil, &PluginError{Plugin: id, Tool: tool, Kind: ErrProtocol, Detail: line(err.Error(), 600), cause: err}
	}
	if len(value) > limits.OutputBytes {
		return nil, i.overLimit(tool, "output", len(value), limits.OutputBytes)
	}
	return value, err
}

func (i *Instance) overLimit(tool, what string, got, most int) error {
	return &PluginError{Plugin: i.plugin.ID(), Tool: tool, Kind: ErrLimit, Detail: fmt.Sprintf("%s of %d bytes, at most %d are allowed", what, got, most)}
}

// envelope writes a CallRequest. Encoding the struct would copy the input once more and write < as six bytes; a tool's
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
		return fmt.Sprintf("%q; did you mean %q?", line(tool, 80), near)
	}
	return fmt.Sprintf("%q", line(tool, 80))
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
		return toolError(CallFailure{Message: fmt.Sprintf("the tool failed without a message (return code %d)", guest.Code)})
	}
	var f CallFailure
	if strings.HasPrefix(guest.Message, "{") && schema.DecodeInto([]byte(guest.Message), &f, nil) == nil && f.Message != "" {
		return toolError(f)
	}
	return toolError(CallFailure{Message: guest.Message})
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

// envelopeAnswer opens a CallResponse.
func envelopeAnswer(out []byte) (json.RawMessage, error) {
	if len(out) == 0 {
		return nil, errors.New(`it wrote no output; write {"abi":1,"value":…} or {"abi":1,"error":{…}}`)
	}
	// The version first: an answer of a newer one may look like anything.
	var version struct {
		ABI int `json:"abi"`
	}
	if err := schema.DecodeInto(out, &version, &schema.DecodeOptions{AllowUnknown: true}); err != nil {
		return nil, err
	}
	switch {
	case version.ABI > ABIVersion:
		return nil, fmt.Errorf("it answers in ABI version %d, this host speaks %d; update Cloister, or build the plugin for version %d", version.ABI, ABIVersion, ABIVersion)
	case version.ABI != ABIVersion:
		return nil, fmt.Errorf(`its answer has no "abi": %d`, ABIVersion)
	}
	var res CallResponse
	if err := schema.DecodeInto(out, &res, nil); err != nil {
		return nil, err
	}
	switch {
	case res.Error != nil && res.Value != nil:
		return nil, errors.New("its answer has both a value and an error")
	case res.Error != nil:
		return nil, toolError(*res.Error)
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
func toolError(f CallFailure) error {
	e := &ToolError{Name: "Error", Message: strings.ToValidUTF8(f.Message, "\uFFFD"), Code: "tool_failed"}
	if namePattern.MatchString(f.Name) {
		e.Name = f.Name
	}
	if codePattern.MatchString(f.Code) {
		e.Code = f.Code
	}
	if len(e.Message) > maxMessage {
		e.Message = strings.ToValidUTF8(e.Message[:maxMessage], "") + "…"
	}
	if e.Message == "" {
		e.Message = "the tool failed without a message"
	}
	return e
}
