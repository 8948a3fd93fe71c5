package sdk

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
)

// hostFunction sends a request to one host function and gives its answer. There is one for each, and nothing lists them
// all, so that the linker drops those that a plugin does not use.
type hostFunction func(request []byte) ([]byte, error)

// ask calls a host function. out may be nil.
func ask(f hostFunction, request, out any) error {
	raw, err := encode(request)
	if err != nil {
		return err
	}
	raw, err = f(raw)
	if err != nil {
		return err
	}
	var res guestabi.PluginResponse
	if err := open(raw, &res, &res.ABI); err != nil {
		return err
	}
	switch {
	case res.Error != nil:
		return asFailure(res.Error)
	case len(res.Value) == 0:
		return Fail("invalid_response", "the host answered without a value")
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(res.Value, out); err != nil {
		return Fail("invalid_response", "the host's answer does not fit: %w", err)
	}
	return nil
}

// Log writes a line to the host's log. The level is "trace", "debug", "info", "warn" or "error".
func Log(level, format string, args ...any) {
	// A log that cannot be written must not end a tool.
	_ = ask(hostLog, guestabi.LogRequest{ABI: guestabi.PluginABI, Level: level, Message: fmt.Sprintf(format, args...)}, nil)
}

// Progress reports how far the call is: done of total, in any unit. A total of 0 means that it is not known.
func Progress(done, total float64, message string) {
	// As with Log.
	_ = ask(hostProgress, guestabi.ProgressRequest{ABI: guestabi.PluginABI, Progress: done, Total: total, Message: message}, nil)
}

// Config reads what the operator set for a key of permissions.config into v. It is false, and v as before, where nothing
// is set.
func Config(key string, v any) (bool, error) {
	var raw json.RawMessage
	if err := ask(hostConfigGet, guestabi.ConfigRequest{ABI: guestabi.PluginABI, Key: key}, &raw); err != nil {
		return false, err
	}
	if len(raw) == 0 || string(raw) == "null" {
		return false, nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return false, Fail("invalid_config", "the configuration %q does not fit: %w", key, err)
	}
	return true, nil
}

// KVGet reads an entry of the plugin's own store, which is kept apart for each agent and session. It is false where there is none.
// Needs permissions.kv.
func KVGet(key string) (string, bool, error) {
	var v guestabi.KVValue
	err := ask(hostKVGet, guestabi.KVRequest{ABI: guestabi.PluginABI, Key: key}, &v)
	return v.Value, v.Found, err
}

// KVPut sets an entry. A ttl of 0 keeps it as long as the session's store; others are rounded up to whole seconds. Needs
// permissions.kv.
func KVPut(key, value string, ttl time.Duration) error {
	if ttl < 0 {
		return Fail("invalid_input", "a time to live of %s lies in the past", ttl)
	}
	seconds := int((ttl + time.Second - 1) / time.Second)
	return ask(hostKVPut, guestabi.KVPutRequest{ABI: guestabi.PluginABI, Key: key, Value: value, TTLSeconds: seconds}, nil)
}

// KVDelete removes an entry, if there is one. Needs permissions.kv.
func KVDelete(key string) error {
	return ask(hostKVDelete, guestabi.KVRequest{ABI: guestabi.PluginABI, Key: key}, nil)
}

// HTTP has the host make a request to a server of permissions.hosts. An answer with any status is an answer, not an
// error. r.ABI is filled in. Secrets go into headers by name and to their own hosts only, see
// guestabi.HTTPRequest.SecretHeaders: the plugin is not given them.
func HTTP(r *guestabi.HTTPRequest) (*guestabi.HTTPResponse, error) {
	request := *r
	request.ABI = guestabi.PluginABI
	var res guestabi.HTTPResponse
	if err := ask(hostHTTP, request, &res); err != nil {
		return nil, err
	}
	return &res, nil
}

// CallTool runs another tool, an entry of permissions.tools, and reads its result into output, a pointer or nil. A
// failure of that tool is a *[Failure]. A nil input is {}.
func CallTool(tool string, input, output any) error {
	if input == nil {
		input = struct{}{}
	}
	raw, err := encode(input)
	if err != nil {
		return err
	}
	return ask(hostCallTool, guestabi.CallRequest{ABI: guestabi.PluginABI, Tool: tool, Input: raw}, output)
}

// Interrupt pauses the run until somebody resolves it. The payload says what is asked; the answer is read into
// resolution, a pointer or nil. The time it takes does not count against the call's.
func Interrupt(payload, resolution any) error {
	raw, err := encode(payload)
	if err != nil {
		return err
	}
	return ask(hostInterrupt, guestabi.InterruptRequest{ABI: guestabi.PluginABI, Payload: raw}, resolution)
}

// Now is the host's clock in UTC, to the millisecond; where the host does not answer, the clock of the module.
func Now() time.Time {
	var now guestabi.NowResponse
	if err := ask(hostNow, guestabi.NowRequest{ABI: guestabi.PluginABI}, &now); err != nil {
		return time.Now().UTC()
	}
	return time.UnixMilli(now.UnixMs).UTC()
}

// maxRandom bounds Random: more than that is a mistake.
const maxRandom = 1 << 20

// Random gives n bytes that are fit for cryptography, at most 1 MiB.
func Random(n int) ([]byte, error) {
	if n < 0 || n > maxRandom {
		return nil, Fail("invalid_input", "%d random bytes; ask for 0 to %d", n, maxRandom)
	}
	var out []byte
	for len(out) < n {
		ask4k := min(n-len(out), 4096)
		var res guestabi.RandomResponse
		if err := ask(hostRandom, guestabi.RandomRequest{ABI: guestabi.PluginABI, Bytes: ask4k}, &res); err != nil {
			return nil, err
		}
		b, err := base64.StdEncoding.DecodeString(res.Base64)
		if err != nil || len(b) != ask4k {
			return nil, Fail("invalid_response", "the host gave %d random bytes for %d", len(b), ask4k)
		}
		out = append(out, b...)
	}
	return out, nil
}
