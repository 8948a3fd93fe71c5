package codemode

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/guest"
	"github.com/cloister-wasm/cloister/quickjs"
)

// templateReady says that nothing is left to do for the template of this run's catalog.
func (r *Run) templateReady() bool {
	ns := r.spaces.Get()
	return ns != nil && r.h.templates.Ready(r.view.CatalogKey+ns.Key)
}

// template gives the template for this run's catalog, made if need be, as far as ctx allows.
func (r *Run) template(ctx context.Context) (*guest.Template, error) {
	h := r.h
	ns, err := r.buildNamespaces(ctx)
	if err != nil {
		return nil, err
	}
	// It is for all runs that see the same: the end of the first one's caller does not end it.
	bctx := context.WithoutCancel(ctx)
	return h.templates.Get(ctx, r.view.CatalogKey+ns.Key, func() (*quickjs.Template, error) {
		e, err := h.o.Engine(bctx)
		if err != nil {
			return nil, err
		}
		setup, err := json.Marshal(guestabi.Setup{
			Tools: r.view.Catalog.GuestEntries(), Names: r.view.Catalog.Convenience(), Files: r.view.Files(), Namespaces: ns.Setup, MCP: ns.MCP,
			MaxOutput: h.cfg.MaxOutputBytes, MaxOpen: h.cfg.MaxPendingToolCalls * api.QueuedPerPending,
		})
		if err != nil {
			return nil, fmt.Errorf("describing the catalog to the guest: %w", err)
		}
		return e.NewTemplate(bctx, &quickjs.TemplateOptions{
			Prelude: guestabi.Prelude(), PreludeName: "cloister:prelude", Setup: setup, Entries: guestabi.EntryCount,
			MemoryLimit: uint32(h.cfg.MemoryLimitBytes), Train: guest.Train,
		})
	})
}
