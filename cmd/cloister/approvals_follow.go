package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// watcher keeps the lists of all servers.
type watcher struct {
	a     *app
	flags *approvalsFlags

	mu      sync.Mutex
	servers map[string][]waitingCall // by address
	changed chan struct{}            // capacity 1
	polls   sync.WaitGroup
	// complained: the server of --url could not be reached, and that was said.
	complained atomic.Bool
}

// find follows servers that start later.
func (w *watcher) find(ctx context.Context) {
	ticker := time.NewTicker(findEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if servers, err := w.flags.servers(); err == nil { // otherwise it may be next time
			w.follow(ctx, servers)
		}
	}
}

func (w *watcher) follow(ctx context.Context, servers []*approvalsServer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range servers {
		if _, ok := w.servers[s.url]; !ok {
			w.servers[s.url] = nil
			w.polls.Go(func() { w.poll(ctx, s) })
		}
	}
}

// poll keeps the list of one server until it cannot be reached.
func (w *watcher) poll(ctx context.Context, s *approvalsServer) {
	tag := ""
	for {
		seconds := pollSeconds
		if tag == "" {
			seconds = 0
		}
		calls, next, err := s.list(ctx, tag, seconds)
		if err != nil {
			w.mu.Lock()
			delete(w.servers, s.url)
			w.mu.Unlock()
			w.tell()
			if ctx.Err() == nil && w.flags.url != "" && !w.complained.Swap(true) {
				w.a.complain("note: "+err.Error(), "it is tried again")
			}
			return
		}
		if tag = next; calls != nil {
			list := make([]waitingCall, len(calls))
			for i, c := range calls {
				list[i] = waitingCall{c, s.url, s}
			}
			w.mu.Lock()
			w.servers[s.url] = list
			w.mu.Unlock()
			w.tell()
		}
		select { // a server that answers at once is not asked at once
		case <-ctx.Done():
		case <-time.After(pollPause):
		}
	}
}

func (w *watcher) tell() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// next gives the oldest call that is not in seen.
func (w *watcher) next(seen map[string]bool) *waitingCall {
	w.mu.Lock()
	defer w.mu.Unlock()
	var oldest *waitingCall
	for _, list := range w.servers {
		for i := range list {
			if c := &list[i]; !seen[c.ID] && (oldest == nil || c.Since.Before(oldest.Since)) {
				oldest = c
			}
		}
	}
	return oldest
}

// open says whether a call still waits.
func (w *watcher) open(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, list := range w.servers {
		for i := range list {
			if list[i].ID == id {
				return true
			}
		}
	}
	return false
}
