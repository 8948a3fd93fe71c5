// Package wazeroinit lets wazero find out its own version before it is used by
// several goroutines: version 1.12 keeps it in a global variable that nothing guards.
// It is a package of its own because both users of wazero, of which neither imports
// the other, need the same first time.
package wazeroinit

import (
	"context"
	"sync"

	"github.com/tetratelabs/wazero"
)

// Once is to be called before anything else of wazero. It costs some microseconds the
// first time and nothing later, and is safe for concurrent use.
var Once = sync.OnceFunc(func() {
	r := wazero.NewRuntime(context.Background())
	_ = r.Close(context.Background()) // it holds nothing
})
