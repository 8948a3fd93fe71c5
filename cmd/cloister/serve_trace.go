package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/otel"
)

// serveTrace hands events to a file and to a collector.
type serveTrace struct {
	mu       sync.Mutex
	file     *traceFile
	exporter *otel.Exporter
	stop     chan struct{}
	stopped  sync.WaitGroup
}

// flushEvery is how old an event in a trace file can be that is not on disk.
const flushEvery = time.Second

func openServeTrace(f *serveFlags, stderr io.Writer, log *slog.Logger) (*serveTrace, error) {
	t := &serveTrace{stop: make(chan struct{})}
	if f.otlp != "" {
		var err error
		if t.exporter, err = otel.New(otel.Options{Endpoint: f.otlp, Version: readVersion().Version, Logger: log}); err != nil {
			return nil, usageError(fmt.Errorf("--otlp: %w", err), "")
		}
	}
	var err error
	if t.file, err = openTrace(f.trace, stderr); err != nil {
		if t.exporter != nil {
			_ = t.exporter.Shutdown(context.Background()) // it has nothing to send
		}
		return nil, err
	}
	if t.file.buf != nil {
		t.stopped.Go(t.flush)
	}
	return t, nil
}

// Emit implements host.TraceSink.
func (t *serveTrace) Emit(e host.TraceEvent) {
	if t.exporter != nil {
		t.exporter.Emit(e)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file.JSONLTrace != nil {
		t.file.Emit(e)
	}
}

// flush brings events to disk while they are few.
func (t *serveTrace) flush() {
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-t.stop:
			return
		case <-ticker.C:
			t.mu.Lock()
			_ = t.file.buf.Flush() // the error stays, and close reports it
			t.mu.Unlock()
		}
	}
}

// close says whether the trace is complete.
func (t *serveTrace) close(ctx context.Context) error {
	close(t.stop)
	t.stopped.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.file.close()
	if t.exporter != nil {
		if wrong := t.exporter.Shutdown(ctx); wrong != nil && err == nil {
			err = &exitError{code: exitInternal, err: fmt.Errorf("not all spans were sent: %w", wrong)}
		}
	}
	return err
}
