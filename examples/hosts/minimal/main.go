// Command minimal embeds Cloister: it offers one Go function as a tool, runs a
// cell that calls it, and prints the result.
//
//	go run ./examples/hosts/minimal
//	go run ./examples/hosts/minimal examples/plugins/csvquery   # with a development plugin
//
// The cell stands where an agent would put what its model wrote.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/plugins"
)

// stockInput and stockOutput become the tool's JSON Schemas.
type stockInput struct {
	SKU string `json:"sku" jsonschema:"number of the article, such as A-100"`
}

type stockOutput struct {
	SKU     string  `json:"sku"`
	OnHand  int     `json:"onHand" jsonschema:"pieces in the warehouse"`
	PerWeek float64 `json:"perWeek" jsonschema:"pieces sold in a week"`
}

var warehouse = map[string]stockOutput{
	"A-100": {SKU: "A-100", OnHand: 12, PerWeek: 8},
	"A-200": {SKU: "A-200", OnHand: 140, PerWeek: 9.5},
	"B-700": {SKU: "B-700", OnHand: 3, PerWeek: 2.25},
}

func stock(_ context.Context, in stockInput) (stockOutput, error) {
	s, ok := warehouse[in.SKU]
	if !ok {
		// A tool's failure is data: the cell can catch it and read the code.
		return s, &host.ToolError{Code: "unknown_article", Message: "no article has the number " + in.SKU}
	}
	return s, nil
}

const cell = `
interface Stock { sku: string; onHand: number; perWeek: number }

const skus = ["A-100", "A-200", "B-700", "C-900"];
const found = await Promise.allSettled(skus.map((sku) => tools.stock({ sku })));
const weeks: Record<string, number> = {};
const unknown: string[] = [];
found.forEach((f, i) => {
  if (f.status === "rejected") return void unknown.push(skus[i] + ": " + f.reason.code);
  const s: Stock = f.value;
  weeks[s.sku] = Math.round((s.onHand / s.perWeek) * 10) / 10;
});
return { reorder: Object.keys(weeks).filter((sku) => weeks[sku] < 2), weeks, unknown };
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "minimal:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, pluginDirs []string) error {
	var loaded []*plugins.Plugin
	for _, dir := range pluginDirs {
		// What lies in a folder is under development: nobody has signed it.
		p, err := plugins.LoadDir(ctx, dir, &plugins.LoadOptions{AllowUnsignedUnsafe: true})
		if err != nil {
			return err
		}
		defer p.Close()
		loaded = append(loaded, p)
	}

	// A Host lives as long as the program.
	h, err := host.New(ctx, &host.Options{
		CodeMode: host.CodeModeConfig{Enabled: true},
		Tools:    []host.RawTool{host.Tool("stock", "Stock and weekly sales of an article.", stock)},
		Plugins:  loaded,
	})
	if err != nil {
		return err
	}
	defer h.Close()

	// A Run is one agent run: its scope decides who may continue its cells.
	r, err := h.NewRun(ctx, host.RunOptions{AgentID: "example", AgentRunID: "run-1", SessionID: "session-1"})
	if err != nil {
		return err
	}
	defer r.Close()
	for _, tool := range r.Surface() {
		fmt.Fprintf(out, "the model sees: %s\n", tool.Name)
	}
	for _, tool := range r.Catalog() {
		fmt.Fprintf(out, "a cell can call: %s\n", tool.ID)
	}

	res, err := r.Exec(ctx, host.ExecInput{Code: cell, Language: host.TypeScript})
	for err == nil && res.Status == guestabi.StatusWaiting {
		// An agent would give this result to its model, which calls wait.
		res, err = r.Wait(ctx, host.WaitInput{CellID: res.CellID})
	}
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(res, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n", text)
	return nil
}
