package host

import (
	"time"

	"github.com/cloister-wasm/cloister/internal/limits"
)

// closeGrace is how long Close waits for tools and sinks that it has told to end.
const closeGrace = 250 * time.Millisecond

// closing orders the end of a Host: calls that heed their cancellation are in the
// trace with their end, and when Close has returned no sink is used any more.
type closing struct {
	calls  limits.Census // in the dispatcher
	events limits.Census // on their way to a sink
}
