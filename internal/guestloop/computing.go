package guestloop

// Computing says whether somebody works on the guest without a leg: a turn that outlasted
// its leg, or a suspension that is being saved.
func (l *Loop) Computing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.busy && l.mu.leg == nil && !l.mu.over
}
