package quickjs

import (
	"runtime"
	"time"
)

// timeSlice is how long a guest computes before other goroutines that wait for a processor get it. Go's own slice is
// 10 ms, so that a short program would wait tens of milliseconds behind a few that compute. Saving and restoring do not
// give the processor away: it made their neighbours no faster.
const timeSlice = time.Millisecond

// slice is the time since other goroutines could last have the processor.
type slice struct{ start time.Time }

// share gives the processor to others after a slice. The first time that it is asked it only starts the clock: short
// work gives nothing away.
func (s *slice) share(now time.Time) {
	switch {
	case s.start.IsZero():
		s.start = now
	case now.Sub(s.start) >= timeSlice:
		runtime.Gosched()
		s.start = time.Now()
	}
}
