package extism

const (
	envModule  = "extism:host/env"
	wasiModule = "wasi_snapshot_preview1"
	// ownModule holds the functions that replace some of envModule's.
	ownModule = "cloister:extism"
)

// disposal says what becomes of an import of envModule.
type disposal struct {
	replaced bool   // by ours
	why      string // refused, with this advice
}

// envImports is every function that the SDK's kernel offers. What is missing here is refused as unknown.
var envImports = func() map[string]disposal {
	const (
		http   = "plugins have no HTTP in this version"
		vars   = "keep state in the plugin's own memory: an instance lives for one run"
		config = "plugins get no configuration in this version: take it as tool input"
		host   = "for the host's side only"
	)
	m := map[string]disposal{
		"http_request": {why: http}, "http_status_code": {why: http}, "http_headers": {why: http},
		"var_get": {why: vars}, "var_set": {why: vars}, "config_get": {why: config},
		"input_set": {why: host}, "reset": {why: host}, "error_get": {why: host}, "memory_bytes": {why: host},
		"output_offset": {why: host}, "output_length": {why: host},
	}
	for _, name := range []string{"alloc", "free", "length", "length_unsafe", "load_u64",
		"input_offset", "input_load_u64", "output_set", "error_set"} {
		m[name] = disposal{}
	}
	for _, name := range []string{"input_length", "input_load_u8", "load_u8", "store_u8", "store_u64", "get_log_level",
		"log_trace", "log_debug", "log_info", "log_warn", "log_error"} {
		m[name] = disposal{replaced: true}
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

// decideImport gives the module an import is to come from, or why it is refused.
func decideImport(module, name string) (from, why string) {
	switch module {
	case envModule:
		d, ok := envImports[name]
		switch {
		case !ok:
			return "", "unknown; build with a current Extism PDK"
		case d.why != "":
			return "", d.why
		case d.replaced:
			return ownModule, ""
		}
		return envModule, ""
	case wasiModule:
		if wasiImports[name] {
			return wasiModule, ""
		}
		return "", "not a function of WASI preview 1"
	case "extism:host/user":
		return "", "host functions of other hosts are not offered"
	default:
		return "", "only " + envModule + " and " + wasiModule + " are offered"
	}
}
