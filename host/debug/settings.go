package debug

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/cloister-wasm/cloister/internal/redact"
)

// Names of the variables that FromEnv reads.
const (
	EnvCodeMode  = "CLOISTER_DEBUG_CODE_MODE"
	EnvTransport = "CLOISTER_DEBUG_MODEL_TRANSPORT"
	EnvPayload   = "CLOISTER_DEBUG_MODEL_PAYLOAD"
	EnvSSE       = "CLOISTER_DEBUG_SSE"
)

// Payload says what of a payload is logged.
type Payload string

// Kinds of Payload; the zero value is nothing.
const (
	// PayloadTools is what a request is made of: its members and names of its tools.
	PayloadTools Payload = "tools"
	// PayloadFullRedacted is all of it, without secrets, and cut.
	PayloadFullRedacted Payload = "full-redacted"
)

// SSE says what of a stream of events is logged.
type SSE string

// Kinds of SSE; the zero value is nothing.
const (
	// SSEEvents is the kind and the size of each event.
	SSEEvents SSE = "events"
	// SSEPeek is the first five events, without secrets.
	SSEPeek SSE = "peek"
)

// Settings says what is logged. The zero value is nothing.
type Settings struct {
	// CodeMode logs what cells do: the events of the host's trace.
	CodeMode bool
	// Transport logs requests and responses, or messages.
	Transport bool
	Payload   Payload
	SSE       SSE
}

// Enabled says whether anything is logged.
func (s Settings) Enabled() bool { return s != Settings{} }

// FromEnv reads settings with a function such as os.Getenv, which nil means. The
// error is ErrSetting and names all variables that are wrong.
func FromEnv(getenv func(string) string) (Settings, error) {
	if getenv == nil {
		getenv = os.Getenv
	}
	var faults []error
	read := func(name string, choices ...string) string {
		v := getenv(name)
		if v == "" || v == "0" {
			return ""
		}
		for _, c := range choices {
			if v == c {
				return v
			}
		}
		faults = append(faults, fmt.Errorf("%w: %s is %.40q: give %s, or 0 for off", ErrSetting, name, v, strings.Join(choices, " or ")))
		return ""
	}
	s := Settings{
		CodeMode:  read(EnvCodeMode, "1") != "",
		Transport: read(EnvTransport, "1") != "",
		Payload:   Payload(read(EnvPayload, string(PayloadTools), string(PayloadFullRedacted))),
		SSE:       SSE(read(EnvSSE, string(SSEEvents), string(SSEPeek))),
	}
	return s, errors.Join(faults...)
}

// Options configures New.
type Options struct {
	Settings
	// Logger takes the lines, at level debug. Nil means slog.Default.
	Logger *slog.Logger
	// Secrets are taken out of all that is logged, besides what looks like a secret.
	Secrets []string
	// MaxPayload bounds what is logged of one payload, in bytes. Default 64 KiB.
	MaxPayload int
}

// Debug logs what its settings say. It is safe for concurrent use; a nil *Debug
// logs nothing.
type Debug struct {
	on         Settings
	log        *slog.Logger
	redactor   *redact.Redactor
	maxPayload int
}

// New makes a Debug. With nothing enabled it gives nil, which works.
func New(o Options) *Debug {
	if !o.Enabled() {
		return nil
	}
	d := &Debug{on: o.Settings, log: o.Logger, redactor: redact.New(o.Secrets...), maxPayload: o.MaxPayload}
	if d.log == nil {
		d.log = slog.Default()
	}
	if d.maxPayload <= 0 {
		d.maxPayload = 64 << 10
	}
	return d
}

// text is for short texts of others: errors, names, addresses.
func (d *Debug) text(s string) string { return d.redactor.Looking(4096).Text(s, 300) }
