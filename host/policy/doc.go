// Package policy decides about tool calls with policies in Cedar
// (https://docs.cedarpolicy.com). A Set implements host.Policy: the dispatcher asks it
// about every call, from whatever surface, after the globs have let the tool pass.
//
//	set, err := policy.Load("policies/base.cedar", "policies/mail.cedar")
//	h, err := host.New(ctx, &host.Options{Policy: set, …})
//
// # What a policy sees
//
//	@id("mail-inside")
//	@approval("ask")
//	@reason("mail goes to example.com only")     // on a forbid
//	permit (
//	  principal,
//	  action == Cloister::Action::"call",
//	  resource == Cloister::Tool::"mcp:mail:send"
//	) when { context.input has to && context.input.to like "*@example.com" };
//
// The principal is Cloister::Agent::"<agent id>" with the texts agent, session,
// sessionKey, sender, channel and caller, and sandboxed. The resource is
// Cloister::Tool::"<source>:<owner>:<tool>", in Cloister::Owner::"<source>:<owner>", in
// Cloister::Source::"cloister", "mcp" or "client". It has the texts id, name, owner,
// source, signer, publisher and approval, unsigned, and the record annotations:
// readOnly, destructive, idempotent, openWorld, with the defaults of the MCP
// specification where the tool says nothing, which assume the worst; the set stated
// has the names of those that it says. All attributes are always there; what is not
// known is "". context.caller is the plugin that makes the call, "" for a cell.
// CedarSchema has all of it in Cedar's own form.
//
// # The arguments
//
// context.input is the call's arguments as a record. Strings, booleans and objects are
// what they are. Others:
//
//   - A number is a long if it is a whole one that fits, whichever way it is written
//     (1, 1.0, 1e0), else a decimal if it has at most four places, else an entity such
//     as Cloister::Number::"0.12345", which can be compared for equality alone.
//   - context.decimals is the same record with decimals for longs, for arguments that
//     may be 5 or 5.25: context.decimals.amount.lessThan(decimal("10.0")).
//   - null is as absent. In an array it is Cloister::Null::"".
//   - An array is a set: order and repetition are lost. One with more than MaxElements
//     different elements is an entity of the type Cloister::Large.
//
// Comparing values of types that do not fit is an error in Cedar, and an error denies.
// Arguments may be absent or of another type than expected: begin a condition with
// `context.input has name &&`, and a policy about one tool with that tool.
//
// Some arguments have no form that a decision could be made on: text that is not
// strict JSON; numbers that programs read differently, such as 9007199254740993, which
// JavaScript takes for 9007199254740992; more than MaxInputBytes, MaxInputValues or
// MaxInputDepth. Each policy that looks at the arguments, and that could match the call
// by everything else, then denies it. Policies that cannot match it, and those that do
// not look, are not in the way.
//
// # The decision
//
//   - A forbid that matches denies, whatever else holds.
//   - Else a policy that could not be evaluated denies, even if another permits.
//   - Else a permit that matches allows.
//   - Else the call is denied: NothingPermits. An empty Set permits nothing.
//
// The Rule of a decision is the @id of the policy, or file and line without one. @reason
// is what the guest is told of a denial. The approval is the strictest @approval of the
// permits that match, and replaces what the tool asks for; permits without @approval
// leave it alone. Set.Narrowing makes a set that can raise approvals and never lower
// them.
//
// A tool is hidden from catalogs (Visible) if no input could be allowed: an
// unconditional forbid matches, or no permit could. That is decided by evaluating the
// policies with the arguments unknown. Where this does not settle it the tool is
// visible, and Authorize decides.
//
// # Mistakes
//
// In Cedar a name that does not exist matches nothing, and a forbid that matches
// nothing lets everything pass. Parse and Load refuse what can only be a mistake: types,
// attributes and annotations that do not exist, ids that no tool, owner or source can
// have, an @id that is taken, @approval on a forbid, extension calls that always fail.
// An *Error lists all of it with line and column.
//
// # Trying policies
//
// Set.RunTable holds policies to a table of cases, as `cloister policy test` does:
//
//	{"cases": [
//	  {"name": "mail outside",
//	   "tool": {"id": "mcp:mail:send", "annotations": {"readOnly": false}},
//	   "scope": {"agent": "main", "sender": "ann"},
//	   "input": {"to": "eve@example.org"},
//	   "expect": "deny", "rule": "mail-inside"}
//	]}
//
// expect is "allow", "deny" or "hidden"; rule and approval are compared if they are
// there. Set.Explain gives one decision with all that led to it.
//
// # Bounds
//
// Policies and arguments may be hostile: a policy file may lie in a folder that the
// user happens to stand in. Nesting and length are bounded before Cedar's parser sees a
// text, bytes before arguments are decoded, elements and values before Cedar's sets are
// built, whose hashes can be made to collide. Cedar has no loops.
package policy
