package otel

import "errors"

var (
	// ErrOptions reports Options that cannot be used. Its text names the option.
	ErrOptions = errors.New("invalid OpenTelemetry options")
	// ErrExport reports spans that a collector did not take. They are lost.
	ErrExport = errors.New("exporting spans failed")
	// ErrShutdown reports use of an Exporter after Shutdown.
	ErrShutdown = errors.New("the exporter is shut down")
)
