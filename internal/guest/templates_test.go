package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cloister-wasm/cloister/api"
	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/quickjs"
)

var engine *quickjs.Engine // of all tests

func TestMain(m *testing.M) {
	var err error
	if engine, err = quickjs.Load(context.Background(), nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	engine.Close(context.Background())
	os.Exit(code)
}

// build makes a template without tools.
func build() (*quickjs.Template, error) {
	return engine.NewTemplate(context.Background(), &quickjs.TemplateOptions{
		Prelude: guestabi.Prelude(), PreludeName: "cloister:prelude", Entries: guestabi.EntryCount, MemoryLimit: 16 << 20,
		Setup: []byte(`{"tools":[],"names":{},"files":{},"namespaces":[],"maxOutput":1024,"maxOpen":16}`),
	})
}

func TestTemplatesAreBuiltOnce(t *testing.T) {
	var c Templates
	defer c.Close()
	var built atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			ref, err := c.Get(t.Context(), "a", func() (*quickjs.Template, error) {
				built.Add(1)
				return build()
			})
			if err != nil {
				t.Error(err)
				return
			}
			ref.Release()
		})
	}
	wg.Wait()
	if built.Load() != 1 || !c.Ready("a") || c.Ready("b") {
		t.Errorf("built %d times, ready %v and %v", built.Load(), c.Ready("a"), c.Ready("b"))
	}
}

func TestTemplateFailureIsNotKept(t *testing.T) {
	var c Templates
	defer c.Close()
	broken := errors.New("broken")
	if _, err := c.Get(t.Context(), "a", func() (*quickjs.Template, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	ref, err := c.Get(t.Context(), "a", build)
	if err != nil {
		t.Fatal(err)
	}
	ref.Release()
}

func TestTemplateIsWaitedForNoLongerThanCtx(t *testing.T) {
	var c Templates
	ctx, cancel := context.WithCancelCause(t.Context())
	gone, release := errors.New("gone"), make(chan struct{})
	cancel(gone)
	if _, err := c.Get(ctx, "a", func() (*quickjs.Template, error) {
		<-release
		return build()
	}); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
	close(release) // the template is built all the same, for whoever asks next
	ref, err := c.Get(t.Context(), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	ref.Release()
	c.Close()
}

func TestTemplatesWithoutUsersAreBounded(t *testing.T) {
	var c Templates
	for i := range maxTemplates + 2 {
		ref, err := c.Get(t.Context(), fmt.Sprint(i), build)
		if err != nil {
			t.Fatal(err)
		}
		ref.Release()
	}
	if c.Ready("0") || !c.Ready(fmt.Sprint(maxTemplates+1)) {
		t.Error("the oldest is kept, or the newest is not")
	}
	used, err := c.Get(t.Context(), "used", build)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if vm, err := used.NewVM(t.Context(), nil); err != nil {
		t.Errorf("a template in use was closed: %v", err)
	} else {
		vm.Close()
	}
	used.Release()
	if _, err := c.Get(t.Context(), "x", build); !errors.Is(err, api.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
