package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// kind is a kind of cell, and the check of its result.
type kind struct {
	name   string
	weight int
	run    func(l *load, ctx context.Context, c *client, random *rand.Rand) error
}

// kinds are what clients choose from, by weight.
var kinds = []kind{
	{"core tool", 20, coreCell},
	{"upstream tool", 40, upstreamCell},
	{"8 upstream calls at once", 15, fanCell},
	{"yield, wait and go on", 15, yieldCell},
	{"approved", 5, func(l *load, ctx context.Context, c *client, _ *rand.Rand) error {
		return guardedCell(l, ctx, c, "approve")
	}},
	{"denied", 3, func(l *load, ctx context.Context, c *client, _ *rand.Rand) error {
		return guardedCell(l, ctx, c, "deny")
	}},
	{"approval left open", 2, openCell},
}

func pick(random *rand.Rand) *kind {
	sum := 0
	for _, k := range kinds {
		sum += k.weight
	}
	n := random.IntN(sum)
	for i := range kinds {
		if n -= kinds[i].weight; n < 0 {
			return &kinds[i]
		}
	}
	return &kinds[0]
}

// try is how cells call the upstream server: a failure is data for the check.
const try = `const go = async (f) => { try { return {got: (await f()).structuredContent} } catch (e) { return {code: e.code ?? e.name, message: e.message} } };
`

// answer is what a call of the upstream server gave in a cell.
type answer struct {
	Got           *echoOut
	Code, Message string
}

// value reads the value of a cell that has to be completed.
func value[T any](out *outcome, err error) (v T, _ error) {
	if err != nil {
		return v, fmt.Errorf("no result: %w", err)
	}
	if out.Status != "completed" {
		return v, fmt.Errorf("%s: %s %s: %s (answer of the last wait after %s)", out.Status, out.Code, out.Reason, clip(out.Error), out.asked.Round(time.Millisecond))
	}
	if err := json.Unmarshal(out.Value, &v); err != nil {
		return v, fmt.Errorf("value: %w: %s", err, clip(string(out.Value)))
	}
	return v, nil
}

// check compares one answer of the upstream server with the call, and notes what the
// ledger must say.
func (l *load) check(tool, nonce string, a *answer) error {
	switch {
	case a.Got != nil && a.Got.Nonce == nonce && a.Got.Tool == tool:
		l.rep.count("upstream calls answered")
		l.expect(tool, nonce, 1, 1, "the client has its result")
	case a.Got != nil:
		return fmt.Errorf("%s %s got the result of %s %s", tool, nonce, a.Got.Tool, a.Got.Nonce)
	case a.Code == "mcp_unavailable":
		l.rep.count("upstream calls refused: server down")
		l.expect(tool, nonce, 0, 0, "the client was told that it was not sent")
	case a.Code == "mcp_connection_lost":
		l.rep.count("upstream calls lost with the server")
		l.expect(tool, nonce, 0, 1, "the client was told that the connection was lost")
	default:
		l.expect(tool, nonce, 0, 1, "it failed")
		return fmt.Errorf("%s %s: %s: %s", tool, nonce, a.Code, clip(a.Message))
	}
	return nil
}

// coreCell hashes a text by a core tool.
func coreCell(l *load, ctx context.Context, c *client, _ *rand.Rand) error {
	nonce := l.nonce()
	hash, err := value[string](c.exec(ctx, fmt.Sprintf(`return (await tools.call("cloister:core:hash_text", {text: %q})).hex`, nonce)))
	if err != nil {
		return err
	}
	if want := sha256.Sum256([]byte(nonce)); hash != hex.EncodeToString(want[:]) {
		return fmt.Errorf("the hash of %s is not %s", nonce, clip(hash))
	}
	return nil
}

// upstreamCell calls the server that dies.
func upstreamCell(l *load, ctx context.Context, c *client, random *rand.Rand) error {
	nonce := l.nonce()
	code := try + fmt.Sprintf(`return await go(() => MCP.load.echo({nonce: %q, pauseMs: %d}))`, nonce, random.IntN(40))
	a, err := value[answer](c.exec(ctx, code))
	if err != nil {
		l.expect("echo", nonce, 0, 1, "there is no result")
		return err
	}
	return l.check("echo", nonce, &a)
}

// fanCell makes calls at once, which end in another order than they began.
func fanCell(l *load, ctx context.Context, c *client, random *rand.Rand) error {
	var calls, nonces []string
	for range 8 {
		nonces = append(nonces, l.nonce())
		calls = append(calls, fmt.Sprintf(`go(() => MCP.load.echo({nonce: %q, pauseMs: %d}))`, nonces[len(nonces)-1], random.IntN(60)))
	}
	list, err := value[[]answer](c.exec(ctx, try+"return await Promise.all(["+strings.Join(calls, ", ")+"])"))
	if err == nil && len(list) != len(nonces) {
		err = fmt.Errorf("%d answers to %d calls", len(list), len(nonces))
	}
	for i, nonce := range nonces {
		if err != nil {
			l.expect("echo", nonce, 0, 1, "there is no result")
			continue
		}
		err = l.check("echo", nonce, &list[i])
	}
	return err
}

// yieldCell suspends to a snapshot between two calls.
func yieldCell(l *load, ctx context.Context, c *client, random *rand.Rand) error {
	first, second := l.nonce(), l.nonce()
	code := try + fmt.Sprintf(`const a = await go(() => MCP.load.echo({nonce: %q}));
await yield_control("half");
const b = await go(() => MCP.load.echo({nonce: %q, pauseMs: %d}));
return [a, b]`, first, second, random.IntN(20))
	list, err := value[[]answer](c.exec(ctx, code))
	if err == nil && len(list) != 2 {
		err = fmt.Errorf("%d answers to 2 calls", len(list))
	}
	if err != nil {
		l.expect("echo", first, 0, 1, "there is no result")
		l.expect("echo", second, 0, 1, "there is no result")
		return err
	}
	if err := l.check("echo", first, &list[0]); err != nil {
		l.expect("echo", second, 0, 1, "the first call went wrong")
		return err
	}
	return l.check("echo", second, &list[1])
}

// guardedCell makes a call that the approver approves or denies.
func guardedCell(l *load, ctx context.Context, c *client, plan string) error {
	nonce := l.nonce()
	code := try + fmt.Sprintf(`return await go(() => MCP.load.guarded({nonce: %q, plan: %q}))`, nonce, plan)
	a, err := value[answer](c.exec(ctx, code))
	if err != nil {
		l.expect("guarded", nonce, 0, 1, "there is no result")
		return err
	}
	if plan == "approve" {
		return l.check("guarded", nonce, &a)
	}
	l.expect("guarded", nonce, 0, 0, "it was denied")
	if a.Got != nil || a.Code != "approval_denied" {
		return fmt.Errorf("guarded %s was denied and gave %+v", nonce, a)
	}
	return nil
}

// openCell makes a call that nobody approves, and leaves it. The session goes on.
func openCell(l *load, ctx context.Context, c *client, _ *rand.Rand) error {
	nonce := l.nonce()
	l.expect("guarded", nonce, 0, 0, "nobody approved it")
	out, err := c.call(ctx, "exec", map[string]any{"code": fmt.Sprintf(`return await MCP.load.guarded({nonce: %q, plan: "leave"})`, nonce)})
	if err != nil {
		return err
	}
	if out.Status != "waiting" || out.Reason != "approval" {
		return fmt.Errorf("guarded %s waits for approval, and the result is %s %s: %s", nonce, out.Status, out.Reason, clip(out.Error))
	}
	return nil
}
