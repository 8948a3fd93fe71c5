// Command mutants changes what Cloister stores and reads again, ten thousand times each,
// and has every mutant read by the entry point that users meet:
//
//	go run ./bench/mutants --n 10000 --seed 1
//
// The artefacts are a signed bundle, a trust policy, a lock file, a store of installed
// plugins, and snapshots of suspended programs, once as the engine restores them and once
// as a host gets them back from its store. A mutant is refused, or it means what the
// original means, or it lets in less than the original; that something else is accepted is
// a fault, and so is a crash, and so is one that takes more than a second, twice. Faults
// give exit code 1, with the seed and number that make the mutant again: --seed S --only
// NAME --from NUMBER --n 1.
//
// Bundles, stores and snapshots carry digests and signatures, so that every change of
// meaning is seen. Policies and lock files are what a person writes, and nothing signs
// them: a mutant that can be read is another one. A lock file must never agree to an
// artifact, a signer or a tool of which the original knows nothing, and a policy must
// never let a key pass that it does not name. A policy that lost a revocation, or gives
// one of its publishers what was another's, cannot be told from one that was written so:
// such mutants are counted as wider, and what keeps them away is who may write the file.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	o := options{progress: os.Stderr, slow: time.Second}
	only, asJSON := "", ""
	flag.IntVar(&o.n, "n", 10_000, "mutants of each artefact")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of all that is chosen")
	flag.IntVar(&o.from, "from", 0, "number of the first mutant")
	flag.StringVar(&only, "only", "", "names of artefacts, separated by commas; all if empty")
	flag.StringVar(&o.engine, "engine", "", "quickjs.wasm; where Cloister looks for it if empty")
	flag.StringVar(&asJSON, "json", "", "file for the report as JSON")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if only != "" {
		o.only = strings.Split(only, ",")
	}
	code, err := report(ctx, &o, asJSON)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		code = 1
	}
	os.Exit(code)
}

// report runs everything and prints what came out.
func report(ctx context.Context, o *options, asJSON string) (code int, err error) {
	fmt.Printf("seed %d, %d mutants of each artefact\n", o.seed, o.n)
	results, err := run(ctx, o)
	if err != nil {
		return 1, err
	}
	fmt.Print(table(results))
	for _, r := range results {
		for _, f := range r.Faults {
			fmt.Println("FAULT", f)
			code = 1
		}
	}
	if asJSON != "" {
		err = writeJSON(asJSON, o, results)
	}
	return code, err
}
