package extism

import (
	"slices"

	"github.com/cloister-wasm/cloister/guestabi"
)

const (
	envModule  = "extism:host/env"
	wasiModule = "wasi_snapshot_preview1"
	// ownModule holds the functions that take the place of envModule's. Plugins cannot name it.
	ownModule = "cloister:extism"
)

// envImports is every function that Extism offers to plugins: "" is offered, anything else is why not. What is missing
// here is refused as unknown.
var envImports = func() map[string]string {
	const (
		http   = "plugins have no HTTP of Extism's: it follows redirects anywhere; import http from " + guestabi.PluginHostModule
		vars   = "keep state in the plugin's own memory: an instance lives for one run; or import kv_get and kv_put from " + guestabi.PluginHostModule
		config = "take it as tool input, or import config_get from " + guestabi.PluginHostModule
		host   = "for the host's side only"
	)
	m := map[string]string{
		"http_request": http, "http_status_code": http, "http_headers": http,
		"var_get": vars, "var_set": vars, "config_get": config,
		"input_set": host, "reset": host, "error_get": host, "memory_bytes": host,
		"output_offset": host, "output_length": host,
	}
	for _, f := range env() {
		m[f.Name] = ""
	}
	return m
}()

// wasiImports is all of WASI preview 1. The functions are sealed by what they find: no files, no sockets, no
// environment.
var wasiImports = func() map[string]bool {
	m := map[string]bool{}
	for _, name := range []string{
		"args_get", "args_sizes_get", "clock_res_get", "clock_time_get", "environ_get", "environ_sizes_get", "fd_advise",
		"fd_allocate", "fd_close", "fd_datasync", "fd_fdstat_get", "fd_fdstat_set_flags", "fd_fdstat_set_rights",
		"fd_filestat_get", "fd_filestat_set_size", "fd_filestat_set_times", "fd_pread", "fd_prestat_dir_name",
		"fd_prestat_get", "fd_pwrite", "fd_read", "fd_readdir", "fd_renumber", "fd_seek", "fd_sync", "fd_tell", "fd_write",
		"path_create_directory", "path_filestat_get", "path_filestat_set_times", "path_link", "path_open", "path_readlink",
		"path_remove_directory", "path_rename", "path_symlink", "path_unlink_file", "poll_oneoff", "proc_exit",
		"proc_raise", "random_get", "sched_yield", "sock_accept", "sock_recv", "sock_send", "sock_shutdown",
	} {
		m[name] = true
	}
	return m
}()

// grants says what a manifest must have for a host function, "" for those that everybody may use.
var grants = map[string]string{
	guestabi.HostLog: "", guestabi.HostProgress: "", guestabi.HostInterrupt: "", guestabi.HostNow: "", guestabi.HostRandom: "",
	guestabi.HostConfigGet: "permissions.config with the keys",
	guestabi.HostKVGet:     "permissions.kv", guestabi.HostKVPut: "permissions.kv", guestabi.HostKVDelete: "permissions.kv",
	guestabi.HostHTTP:     "permissions.hosts with the hosts",
	guestabi.HostCallTool: "permissions.tools with the tools",
}

// refuseImport says why an import is not offered, "" if it is.
func refuseImport(module, name string, functions []string) string {
	switch module {
	case envModule:
		if why, ok := envImports[name]; ok {
			return why
		}
		return "unknown; build with a current Extism PDK"
	case guestabi.PluginHostModule:
		return refuseFunction(name, functions)
	case wasiModule:
		if wasiImports[name] {
			return ""
		}
		return "not a function of WASI preview 1"
	case "extism:host/user":
		return "host functions of other hosts are not offered; Cloister's are in " + guestabi.PluginHostModule
	default:
		return "only " + envModule + ", " + guestabi.PluginHostModule + " and " + wasiModule + " are offered"
	}
}

// refuseFunction says why a host function is not offered, "" if it is.
func refuseFunction(name string, functions []string) string {
	if slices.Contains(functions, name) {
		return ""
	}
	switch needs, known := grants[name]; {
	case !known:
		return "unknown host function; use one of this version's, or update Cloister"
	case needs != "":
		return "the manifest's permissions do not grant it; add " + needs + ", or leave it out of the plugin"
	}
	return "the manifest's permissions do not grant it, or this host does not offer it"
}
