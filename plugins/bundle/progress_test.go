package bundle

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProgress(t *testing.T) {
	everyRegistry(t, func(t *testing.T, host string) {
		var mu sync.Mutex
		var finished []string
		last := map[string]Progress{}
		r := anonymous()
		r.Progress = func(p Progress) {
			if !mu.TryLock() {
				t.Error("told twice at a time")
				return
			}
			defer mu.Unlock()
			if p.Done < 0 || p.Done > p.Total || p.Finished && p.Done != p.Total {
				t.Errorf("%+v", p)
			}
			if p.Finished {
				finished = append(finished, p.Operation+" "+p.Name)
			}
			last[p.Operation+" "+p.Name] = p
		}
		ref := host + "/acme/hello:1"
		if _, err := r.Push(t.Context(), ref, signed(t, "one")); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Pull(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
		want := []string{"push config", "push manifest", "push wasm", "push readme", "push license", "push OCI manifest",
			"push signature", "push signature's config", "push signature's OCI manifest",
			"pull OCI manifest", "pull config", "pull manifest", "pull wasm", "pull readme", "pull license", "pull signature"}
		if d := cmp.Diff(want, finished); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		if p := last["pull wasm"]; p.Total != 2008 {
			t.Errorf("%+v", p)
		}
	})
}

// atOnce tries again without waiting.
type atOnce struct{}

func (atOnce) Retry(attempt int, resp *http.Response, err error) (time.Duration, error) {
	if attempt < 3 && (err != nil || resp.StatusCode >= 500) {
		return 0, nil
	}
	return -1, nil
}

// A registry that fails now and then is asked again, uploads included.
func TestRetries(t *testing.T) {
	var n atomic.Int64
	next := registries[2].open(t)
	host := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%2 == 1 {
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	}))
	finished := 0
	r := anonymous()
	r.retries = atOnce{}
	r.Progress = func(p Progress) {
		if p.Finished {
			finished++
		}
	}
	want := signed(t, "one")
	if _, err := r.Push(t.Context(), host+"/acme/hello:1", want); err != nil {
		t.Fatal(err)
	}
	got, err := r.Pull(t.Context(), host+"/acme/hello:1")
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, want)
	if finished != 16 {
		t.Errorf("%d transfers finished, want 16", finished)
	}
}
