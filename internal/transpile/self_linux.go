package transpile

// selfExecutable names the running program itself, not the file it was started
// from: that may have been replaced by an upgrade in the meantime.
func selfExecutable() (string, error) { return "/proc/self/exe", nil }
