package transpile_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloister-wasm/cloister/internal/transpile"
)

func ExampleWorker() {
	w := transpile.NewWorker(nil)
	defer w.Close()

	out, err := w.Transform(context.Background(), transpile.Input{
		Filename: "cell.ts",
		Source: `enum Size { S = 1, M }
const size: Size = await Promise.resolve(Size.M);
return { size } as const;
`,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(out.Code)
	place, _ := out.Map.Source(8, 1)
	fmt.Println("line 8 comes from", place)
	// Output:
	// "use strict";
	// var Size = /* @__PURE__ */ ((Size2) => {
	//   Size2[Size2["S"] = 1] = "S";
	//   Size2[Size2["M"] = 2] = "M";
	//   return Size2;
	// })(Size || {});
	// const size = await Promise.resolve(2 /* M */);
	// return { size };
	// line 8 comes from 3:1
}

func ExampleSyntaxError() {
	w := transpile.NewWorker(nil)
	defer w.Close()

	_, err := w.Transform(context.Background(), transpile.Input{Source: "const a = 1;\nconst b: = 2;", Filename: "cell.ts"})
	var syntax *transpile.SyntaxError
	if errors.As(err, &syntax) {
		fmt.Println(err)
		fmt.Println(syntax.LineText)
	}
	// Output:
	// cell.ts:2:10: Unexpected "="
	// const b: = 2;
}

func ExampleModuleAccessError() {
	w := transpile.NewWorker(nil)
	defer w.Close()

	_, err := w.Transform(context.Background(), transpile.Input{Source: "import type { A } from 'a';\nimport { b } from 'b';"})
	var module *transpile.ModuleAccessError
	if errors.As(err, &module) {
		fmt.Println(module.Syntax, "at", module.Position)
	}
	// Output:
	// import at 2:1
}

func ExampleWorkerDiedError() {
	w := transpile.NewWorker(nil)
	defer w.Close()

	bomb := make([]byte, 256<<10)
	for i := range bomb {
		bomb[i] = '!'
	}
	_, err := w.Transform(context.Background(), transpile.Input{Source: string(bomb)})
	fmt.Println(errors.Is(err, transpile.ErrWorkerDied))
	fmt.Println(err)
	// Output:
	// true
	// transpile: the source is too complex for the TypeScript transform (nested too deeply); nest it less deeply or split it
}

func ExampleOptions_Validate() {
	o := &transpile.Options{MaxWorkers: 1000}
	fmt.Println(o.Validate())
	// Output:
	// transpile: Options.MaxWorkers is 1000; it must be from 1 to 64
}

func ExampleNewLineMap() {
	m := transpile.NewLineMap([]transpile.Mapping{
		{Generated: transpile.Position{Line: 3, Column: 1}, Source: transpile.Position{Line: 1, Column: 5}},
	})
	place, ok := m.Source(3, 20)
	fmt.Println(place, ok)
	_, ok = m.Source(1, 1)
	fmt.Println(ok)
	// Output:
	// 1:5 true
	// false
}
