// Package debug shows what a model is sent and what comes back: for when code mode
// does not do what an agent's author expects. All of it is off unless asked for.
//
// # Switches
//
// FromEnv reads four variables of the environment:
//
//	CLOISTER_DEBUG_CODE_MODE=1            execs, waits, nested calls, denials, approvals
//	CLOISTER_DEBUG_MODEL_TRANSPORT=1      requests and responses: method, address, status, duration, bytes
//	CLOISTER_DEBUG_MODEL_PAYLOAD=tools    what a request is made of: model, members, names of the tools
//	CLOISTER_DEBUG_MODEL_PAYLOAD=full-redacted
//	                                      the request without its secrets, cut after 64 KiB
//	CLOISTER_DEBUG_SSE=events             kind and size of each event of a stream
//	CLOISTER_DEBUG_SSE=peek               the first five events of a stream, without their secrets
//
// Empty and 0 are off. Any other value is an error that names the choices.
//
// # Use
//
// An embedding program wraps the HTTP client of its provider's SDK and the trace of
// its host:
//
//	settings, err := debug.FromEnv(os.Getenv)
//	if err != nil {
//		return err
//	}
//	d := debug.New(debug.Options{Settings: settings, Logger: logger, Secrets: []string{apiKey}})
//	client := openai.NewClient(option.WithHTTPClient(&http.Client{Transport: d.Transport(nil)}))
//	h, err := host.New(ctx, &host.Options{Trace: d.Trace(sink)})
//
// A server whose clients are models wraps its streams, Reader and Writer, or its
// handler, Handler. With a switch off, each of these gives back what it was given.
//
// # What is shown
//
// Secrets that Options names and what looks like a secret are taken out of all that
// is logged (passwords, tokens, authorization, keys with well-known prefixes), and
// credentials in addresses; headers and queries are not logged at all. full-redacted
// and peek still show prompts and texts of messages, which may hold what nothing
// marks as secret: they are for debugging, not for keeping. A peek shows no pieces
// of texts and arguments, since a secret in pieces cannot be recognised: only their
// lengths.
//
// What is looked at is bounded: 8 MiB of a payload, 64 KiB of an event or line,
// 1,000 events of a stream. What passes is handed on as it is, when it comes.
package debug
