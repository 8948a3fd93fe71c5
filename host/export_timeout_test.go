package host

// SetTimeout changes codeMode.timeoutMs, for what is executed or waited for from now on.
// No other exec or wait of the host may be under way. A test whose attack has 100 ms can
// so give more to what it checks on the same host afterwards.
func (h *Host) SetTimeout(ms int) { h.cfg.TimeoutMs = ms }
