// Package redact takes secrets out of what is shown to people: payloads of model
// requests, messages of MCP servers, texts of errors.
//
// A Redactor knows the secrets that its maker told it, plain and as JSON, URLs,
// hexadecimal and base64 write them, and what looks like a secret: credentials behind
// "Bearer" and "Basic", keys with well-known prefixes (sk-, ghp_, AKIA …), JSON
// Web Tokens, private keys, passwords in addresses, and the values of members and
// variables named password, token, secret, api_key, authorization and alike.
//
//	r := redact.New(apiKey)
//	logger.Debug("request", "payload", r.JSON(body, 64<<10))
//
// It looks at no more than MaxInput bytes, whatever it is given, and gives no more
// than asked for. What it cannot read as JSON to the end it leaves out from there
// on: less is shown, never more. Prose can hold secrets that nothing marks as such;
// these stay. So do secrets that are cut into pieces, such as the words of a
// stream, except where Pieces hides them all.
package redact
