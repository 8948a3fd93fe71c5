package dispatch

import (
	"context"

	"github.com/cloister-wasm/cloister/api"
)

// ReportProgress hands a tool's progress to RunOptions.OnProgress. It does
// nothing outside of a tool call. Progress is a Progress, a text, or any value that makes sense
// to the embedding program.
func ReportProgress(ctx context.Context, progress any) {
	c := callOf(ctx)
	if c == nil || c.run.o.OnProgress == nil {
		return
	}
	var p api.Progress
	switch v := progress.(type) {
	case api.Progress:
		p = v
	case string:
		p.Message = v
	default:
		p.Value = v
	}
	c.run.d.Contain("OnProgress", func() { c.run.o.OnProgress(c.tc, p) })
}
