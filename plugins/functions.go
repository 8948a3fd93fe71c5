package plugins

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cloister-wasm/cloister/guestabi"
	"github.com/cloister-wasm/cloister/internal/plaintext"
)

// Bounds of host functions.
const (
	maxLogLine        = 4 << 10  // bytes of one record
	maxLogRecords     = 1 << 10  // records of one call
	maxProgress       = 1 << 10  // events of one call
	maxProgressText   = 500      // bytes
	maxConfigValue    = 1 << 20  // bytes
	maxInterruptBytes = 64 << 10 // of a payload
	maxRandomBytes    = 4096
)

var logLevels = []string{"trace", "debug", "info", "warn", "error"}

// hostLog writes to the host's log, one record for each line.
func (b *broker) hostLog(_ context.Context, a *activation, request []byte) (any, *guestabi.PluginFailure) {
	var req guestabi.LogRequest
	if f := decode(request, &req, &req.ABI); f != nil {
		return nil, f
	}
	if !slices.Contains(logLevels, req.Level) {
		return nil, failure(CodeInvalidInput, `"level" is "trace", "debug", "info", "warn" or "error"`)
	}
	if b.log == nil {
		return nil, nil
	}
	for text := range strings.Lines(req.Message) {
		if a.lines < 0 {
			break
		}
		text = plaintext.Line(strings.TrimRight(text, "\r\n"), maxLogLine)
		a.lines++
		if a.logged += len(text); a.logged > b.limits.LogBytes || a.lines > maxLogRecords {
			a.lines = -1 // no more in this call
			b.log(LogRecord{Plugin: b.plugin, Level: req.Level, Text: "(the rest of this call's log was dropped)", Truncated: true})
			break
		}
		b.log(LogRecord{Plugin: b.plugin, Level: req.Level, Text: text})
	}
	if a.lines < 0 {
		return nil, failure(CodeTooLarge, fmt.Sprintf("one call may log %d bytes in %d lines; the rest is dropped", b.limits.LogBytes, maxLogRecords))
	}
	return nil, nil
}

// hostProgress passes events on, up to a number in each call; later ones are dropped.
func (b *broker) hostProgress(ctx context.Context, a *activation, request []byte) (any, *guestabi.PluginFailure) {
	var req guestabi.ProgressRequest
	if f := decode(request, &req, &req.ABI); f != nil {
		return nil, f
	}
	if req.Progress < 0 || req.Total < 0 {
		return nil, failure(CodeInvalidInput, `"progress" and "total" are 0 or more`)
	}
	req.Message = plaintext.Line(req.Message, maxProgressText)
	if env := a.instance.options.Env; env != nil && a.progress < maxProgress {
		a.progress++
		env.Progress(ctx, req)
	}
	return nil, nil
}

func (b *broker) hostNow(_ context.Context, _ *activation, request []byte) (any, *guestabi.PluginFailure) {
	var req guestabi.NowRequest
	if f := decode(request, &req, &req.ABI); f != nil {
		return nil, f
	}
	return guestabi.NowResponse{UnixMs: time.Now().UnixMilli()}, nil
}

func (b *broker) hostRandom(_ context.Context, _ *activation, request []byte) (any, *guestabi.PluginFailure) {
	var req guestabi.RandomRequest
	if f := decode(request, &req, &req.ABI); f != nil {
		return nil, f
	}
	if req.Bytes < 1 || req.Bytes > maxRandomBytes {
		return nil, failure(CodeInvalidInput, fmt.Sprintf(`"bytes" is 1 to %d`, maxRandomBytes))
	}
	buf := make([]byte, req.Bytes)
	rand.Read(buf) // never fails: the runtime ends the process before
	return guestabi.RandomResponse{Base64: base64.StdEncoding.EncodeToString(buf)}, nil
}

// hostConfigGet gives what the operator set, null where nothing is.
func (b *broker) hostConfigGet(_ context.Context, _ *activation, request []byte) (any, *guestabi.PluginFailure) {
	var req guestabi.ConfigRequest
	if f := decode(request, &req, &req.ABI); f != nil {
		return nil, f
	}
	if !slices.Contains(b.perms.Config, req.Key) {
		return nil, notGranted("configuration key", "config", req.Key, b.perms.Config)
	}
	v, err := b.config(req.Key)
	if err != nil {
		return nil, failure(CodeUnavailable, fmt.Sprintf("the value that is set for %q is not usable; ask the operator to set it again, as JSON of at most %d bytes", req.Key, maxConfigValue))
	}
	if v == nil {
		return nil, nil
	}
	return v, nil
}

// config reads a declared key; nil means that it is not set.
func (b *broker) config(key string) (json.RawMessage, error) {
	if b.services.Config == nil {
		return nil, nil
	}
	v, ok := b.services.Config(b.plugin, key)
	if !ok {
		return nil, nil
	}
	if _, f := jsonValue(v, maxConfigValue); f != nil {
		return nil, errConfigValue
	}
	return v, nil
}

// hostCallTool runs another tool of the run. The run's policy has the last word.
func (b *broker) hostCallTool(ctx context.Context, a *activation, request []byte) (any, *guestabi.PluginFailure) {
	var req guestabi.CallRequest
	if f := decode(request, &req, &req.ABI); f != nil {
		return nil, f
	}
	if !slices.Contains(b.perms.Tools, req.Tool) {
		return nil, notGranted("tool", "tools", req.Tool, b.perms.Tools)
	}
	if len(req.Input) == 0 {
		req.Input = json.RawMessage("{}")
	}
	if err := checkInput(req.Input); err != nil {
		return nil, failure(CodeInvalidInput, `"input": `+plaintext.Line(err.Error(), 400))
	}
	env := a.instance.options.Env
	if env == nil {
		return nil, failure(CodeUnavailable, "there is no run to call tools of")
	}
	out, err := env.CallTool(ctx, req.Tool, req.Input)
	if err != nil {
		return nil, envFailure(ctx, fmt.Sprintf("the call of %q", req.Tool), err)
	}
	v, f := jsonValue(out, b.limits.OutputBytes)
	return v, f
}

// hostInterrupt waits for somebody outside.
func (b *broker) hostInterrupt(ctx context.Context, a *activation, request []byte) (any, *guestabi.PluginFailure) {
	var req guestabi.InterruptRequest
	if f := decode(request, &req, &req.ABI); f != nil {
		return nil, f
	}
	switch {
	case len(req.Payload) == 0:
		return nil, failure(CodeInvalidInput, `"payload" is missing; say what is asked, null at least`)
	case len(req.Payload) > maxInterruptBytes:
		return nil, failure(CodeTooLarge, fmt.Sprintf("the payload of %d bytes is over the limit of %d", len(req.Payload), maxInterruptBytes))
	}
	env := a.instance.options.Env
	if env == nil {
		return nil, failure(CodeUnavailable, "there is no run that could be paused")
	}
	out, err := env.Interrupt(ctx, req.Payload)
	if err != nil {
		return nil, envFailure(ctx, "the interruption", err)
	}
	v, f := jsonValue(out, b.limits.OutputBytes)
	return v, f
}
