//go:build wasip1

package sdk

import (
	"encoding/json"

	pdk "github.com/extism/go-pdk"

	"github.com/cloister-wasm/cloister/guestabi"
)

//go:wasmexport cloister_call
func exportCall() int32 { return reply(guestabi.ExportCall) }

//go:wasmexport cloister_scope
func exportScope() int32 { return reply(guestabi.ExportScope) }

//go:wasmexport cloister_map_input
func exportMapInput() int32 { return reply(guestabi.ExportMapInput) }

//go:wasmexport cloister_describe
func exportDescribe() int32 { return reply(guestabi.ExportDescribe) }

func reply(export string) int32 {
	pdk.Output(answer(export, pdk.Input()))
	return 0
}

// Serve runs a tool behind an export of its own, whose name is the tool's "export" in the manifest: input and result are
// bare there, which saves large ones from being copied once more. In a file of main that begins with //go:build wasip1:
//
//	//go:wasmexport csv_query
//	func csvQuery() int32 { return sdk.Serve("csv_query") }
//
// The result is the export's.
func Serve(tool string) int32 {
	out, err := call(tool, pdk.Input())
	if err == nil {
		pdk.Output(out)
		return 0
	}
	text, jsonErr := json.Marshal(asData(err))
	if jsonErr != nil {
		text = []byte(err.Error())
	}
	pdk.SetErrorString(string(text))
	return 1
}

// exchange hands a request to an import and reads the answer.
func exchange(request []byte, send func(uint64) uint64) ([]byte, error) {
	in := pdk.AllocateBytes(request)
	out := pdk.FindMemory(send(in.Offset()))
	in.Free()
	if out.Length() == 0 {
		return nil, Fail("invalid_response", "the host did not answer")
	}
	answer := out.ReadBytes()
	out.Free()
	return answer, nil
}

//go:wasmimport cloister:host log
func importLog(uint64) uint64

//go:wasmimport cloister:host progress
func importProgress(uint64) uint64

//go:wasmimport cloister:host config_get
func importConfigGet(uint64) uint64

//go:wasmimport cloister:host kv_get
func importKVGet(uint64) uint64

//go:wasmimport cloister:host kv_put
func importKVPut(uint64) uint64

//go:wasmimport cloister:host kv_delete
func importKVDelete(uint64) uint64

//go:wasmimport cloister:host http
func importHTTP(uint64) uint64

//go:wasmimport cloister:host call_tool
func importCallTool(uint64) uint64

//go:wasmimport cloister:host interrupt
func importInterrupt(uint64) uint64

//go:wasmimport cloister:host now
func importNow(uint64) uint64

//go:wasmimport cloister:host random
func importRandom(uint64) uint64

func hostLog(r []byte) ([]byte, error)       { return exchange(r, importLog) }
func hostProgress(r []byte) ([]byte, error)  { return exchange(r, importProgress) }
func hostConfigGet(r []byte) ([]byte, error) { return exchange(r, importConfigGet) }
func hostKVGet(r []byte) ([]byte, error)     { return exchange(r, importKVGet) }
func hostKVPut(r []byte) ([]byte, error)     { return exchange(r, importKVPut) }
func hostKVDelete(r []byte) ([]byte, error)  { return exchange(r, importKVDelete) }
func hostHTTP(r []byte) ([]byte, error)      { return exchange(r, importHTTP) }
func hostCallTool(r []byte) ([]byte, error)  { return exchange(r, importCallTool) }
func hostInterrupt(r []byte) ([]byte, error) { return exchange(r, importInterrupt) }
func hostNow(r []byte) ([]byte, error)       { return exchange(r, importNow) }
func hostRandom(r []byte) ([]byte, error)    { return exchange(r, importRandom) }
