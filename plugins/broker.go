package plugins

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/extism"
	"github.com/cloister-wasm/cloister/internal/plaintext"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// broker answers the host functions of one plugin. What the manifest does not ask for is not even offered as an import.
// Requests are written by the plugin: hostile. Each has a bound before it is read, is decoded strictly, and is checked
// against the manifest here, on the host.
type broker struct {
	plugin   string
	perms    *Permissions
	services Services
	limits   Limits
	log      func(LogRecord)
	memory   *memoryKV   // of instances that nobody gave a store
	http     *httpClient // nil without permissions.hosts
}

func newBroker(m *Manifest, o LoadOptions) *broker {
	b := &broker{plugin: m.ID, perms: &m.Permissions, services: o.Services, limits: o.Limits, log: o.Log, memory: newMemoryKV(maxStoreBytes)}
	if len(m.Permissions.Hosts) > 0 {
		b.http = newHTTPClient(m.Permissions.Hosts, o.Services.HTTP)
	}
	return b
}

// handler answers one request. The value is marshalled, but for a json.RawMessage, which is strict JSON already.
type handler func(ctx context.Context, a *activation, request []byte) (any, *guestabi.PluginFailure)

// effect is what a host function does.
type effect int

const (
	reads effect = iota // nothing that anybody else would notice
	acts                // something outside of the instance
	waits               // the same, and its time is not the plugin's
)

// duringTools refuses a function outside of a tool's call. Scopes are computed and arguments are mapped before any hook, policy or
// approval was asked: what acts there would act unasked.
func duringTools(h handler) handler {
	return func(ctx context.Context, a *activation, request []byte) (any, *guestabi.PluginFailure) {
		if a.tool == "" {
			return nil, failure(CodeNotGranted, "a scope, a mapping of arguments or a description may read but not act; do this in a tool")
		}
		return h(ctx, a, request)
	}
}

// granted lists the host functions that the manifest's permissions give.
func (b *broker) granted() []extism.HostFunction {
	var fs []extism.HostFunction
	offer := func(ok bool, name string, kind effect, h handler) {
		if !ok {
			return
		}
		if kind != reads {
			h = duringTools(h)
		}
		fs = append(fs, extism.HostFunction{Name: name, Pauses: kind == waits, Call: b.serve(h)})
	}
	p := b.perms
	offer(true, guestabi.HostLog, reads, b.hostLog)
	offer(true, guestabi.HostProgress, reads, b.hostProgress)
	offer(true, guestabi.HostNow, reads, b.hostNow)
	offer(true, guestabi.HostRandom, reads, b.hostRandom)
	offer(true, guestabi.HostInterrupt, waits, b.hostInterrupt)
	offer(len(p.Config) > 0, guestabi.HostConfigGet, reads, b.hostConfigGet)
	offer(p.KV, guestabi.HostKVGet, reads, b.hostKVGet)
	offer(p.KV, guestabi.HostKVPut, acts, b.hostKVPut)
	offer(p.KV, guestabi.HostKVDelete, acts, b.hostKVDelete)
	offer(len(p.Hosts) > 0, guestabi.HostHTTP, acts, b.hostHTTP)
	offer(len(p.Tools) > 0, guestabi.HostCallTool, waits, b.hostCallTool)
	return fs
}

// serve puts a handler's answer into a PluginResponse that fits.
func (b *broker) serve(h handler) func(context.Context, []byte) []byte {
	return func(ctx context.Context, request []byte) []byte {
		a := activationOf(ctx)
		if a == nil { // not during a call of ours, which the runtime refuses before
			return respond(nil, failure(CodeUnavailable, "host functions work during calls only"), b.limits.OutputBytes)
		}
		value, f := h(ctx, a, request)
		return respond(value, f, b.limits.OutputBytes)
	}
}

// respond writes a PluginResponse by hand where the value is JSON already: it may have megabytes.
func respond(value any, f *guestabi.PluginFailure, most int) []byte {
	raw, isRaw := value.(json.RawMessage)
	if f == nil && !isRaw {
		var err error
		if raw, err = encode(value); err != nil {
			f = failure(CodeFailed, "the answer cannot be written as JSON")
		}
	}
	if f == nil && len(raw) > most {
		f = failure(CodeTooLarge, fmt.Sprintf("the answer of %d bytes is over the limit of %d; ask for less at once", len(raw), most))
	}
	if f == nil {
		out := append(make([]byte, 0, len(raw)+32), fmt.Sprintf(`{"abi":%d,"value":`, ABIVersion)...)
		return append(append(out, raw...), '}')
	}
	f.Message = plaintext.Clip(f.Message, maxMessage)
	out, err := json.Marshal(guestabi.PluginResponse{ABI: ABIVersion, Error: f})
	if err != nil { // three texts and a number
		return fmt.Appendf(nil, `{"abi":%d,"error":{"message":"the host failed","code":%q}}`, ABIVersion, CodeFailed)
	}
	return out
}

// encode writes JSON without the escapes that are for HTML: they make a page six times longer where it is densest.
func encode(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// decode reads a request strictly: unknown members are refused, since a plugin that sends one expects something of it.
// abi must point into req.
func decode[T any](data []byte, req *T, abi *int) *guestabi.PluginFailure {
	err := schema.DecodeInto(data, req, nil)
	if err == nil && *abi == ABIVersion {
		return nil
	}
	// A newer request may look like anything, so its version is all there is to say.
	var version struct {
		ABI *int `json:"abi"`
	}
	if verr := schema.DecodeInto(data, &version, &schema.DecodeOptions{AllowUnknown: true}); verr == nil {
		switch {
		case version.ABI == nil:
			return failure(CodeUnsupportedABI, fmt.Sprintf(`the request has no "abi": %d`, ABIVersion))
		case *version.ABI > ABIVersion:
			return failure(CodeUnsupportedABI, fmt.Sprintf("the request is of ABI version %d, this host speaks %d; update Cloister, or build the plugin for version %d",
				*version.ABI, ABIVersion, ABIVersion))
		case *version.ABI != ABIVersion:
			return failure(CodeUnsupportedABI, fmt.Sprintf("the request is of ABI version %d, this host speaks %d; rebuild the plugin", *version.ABI, ABIVersion))
		}
	}
	detail := "the request is malformed"
	if err != nil {
		detail += ": " + plaintext.Line(err.Error(), 400)
	}
	return failure(CodeInvalidInput, detail)
}

// notGranted says what the manifest lacks.
func notGranted(what, permission, name string, granted []string) *guestabi.PluginFailure {
	message := fmt.Sprintf("the %s %q is not in the manifest's permissions.%s", what, plaintext.Line(name, 80), permission)
	if near := schema.Suggest(name, granted); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	}
	return failure(CodeNotGranted, message)
}

// envFailure is what a plugin may know of an error from its run.
func envFailure(ctx context.Context, what string, err error) *guestabi.PluginFailure {
	var te *ToolError
	switch {
	case errors.As(err, &te):
		return &guestabi.PluginFailure{Name: te.Name, Message: te.Message, Code: te.Code}
	case errors.Is(err, context.DeadlineExceeded):
		return failure(CodeTimeout, what+" took longer than it may")
	}
	if f := ended(ctx); f != nil {
		return f
	}
	return failure(CodeFailed, what+" failed")
}

// jsonValue checks JSON that the embedding program gave.
func jsonValue(v json.RawMessage, most int) (json.RawMessage, *guestabi.PluginFailure) {
	switch {
	case len(v) > most:
		return nil, failure(CodeTooLarge, fmt.Sprintf("the answer of %d bytes is over the limit of %d; ask for less at once", len(v), most))
	case schema.Check(v) != nil:
		return nil, failure(CodeUnavailable, "the host's answer is not usable JSON")
	}
	return v, nil
}
