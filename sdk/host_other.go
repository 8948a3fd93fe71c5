//go:build !wasip1

package sdk

import (
	"encoding/json"

	"github.com/cloister-wasm/cloister/guestabi"
)

var testHost func(function string, request json.RawMessage) (any, error)

// SetTestHost has host functions answered by f until restore is called, for tests of plugins. It is not there in a plugin
// itself. The function's name is that of the import, such as guestabi.HostHTTP, and the request the message in guestabi.
// The result is what encoding/json makes of it; an error reaches the caller as a *[Failure].
func SetTestHost(f func(function string, request json.RawMessage) (any, error)) (restore func()) {
	before := testHost
	testHost = f
	return func() { testHost = before }
}

func offHost(function string, request []byte) ([]byte, error) {
	if testHost == nil {
		return nil, Fail("no_host", "there is no host to answer %s outside a plugin; in a test, answer it with sdk.SetTestHost", function)
	}
	value, err := testHost(function, request)
	if err != nil {
		return json.Marshal(guestabi.PluginResponse{ABI: guestabi.PluginABI, Error: asData(err)})
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, Fail("invalid_response", "the test host's answer to %s cannot be written: %w", function, err)
	}
	return json.Marshal(guestabi.PluginResponse{ABI: guestabi.PluginABI, Value: raw})
}

func hostLog(r []byte) ([]byte, error)       { return offHost(guestabi.HostLog, r) }
func hostProgress(r []byte) ([]byte, error)  { return offHost(guestabi.HostProgress, r) }
func hostConfigGet(r []byte) ([]byte, error) { return offHost(guestabi.HostConfigGet, r) }
func hostKVGet(r []byte) ([]byte, error)     { return offHost(guestabi.HostKVGet, r) }
func hostKVPut(r []byte) ([]byte, error)     { return offHost(guestabi.HostKVPut, r) }
func hostKVDelete(r []byte) ([]byte, error)  { return offHost(guestabi.HostKVDelete, r) }
func hostHTTP(r []byte) ([]byte, error)      { return offHost(guestabi.HostHTTP, r) }
func hostCallTool(r []byte) ([]byte, error)  { return offHost(guestabi.HostCallTool, r) }
func hostInterrupt(r []byte) ([]byte, error) { return offHost(guestabi.HostInterrupt, r) }
func hostNow(r []byte) ([]byte, error)       { return offHost(guestabi.HostNow, r) }
func hostRandom(r []byte) ([]byte, error)    { return offHost(guestabi.HostRandom, r) }
