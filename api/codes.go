package api

// ToolErrorCode is a short word by which programs tell a tool's failures apart. Tools and
// servers may use words of their own; those below are the host's.
type ToolErrorCode string

// The codes of failures that the host itself gives to a call.
const (
	CodeInvalidInput       ToolErrorCode = "invalid_input"        // the input does not fit the tool's schema, or what a helper takes
	CodeToolInputTooLarge  ToolErrorCode = "tool_input_too_large" // the input is over the bound of one call
	CodeInvalidToolResult  ToolErrorCode = "invalid_tool_result"  // the result is not what the tool declares, or no strict JSON
	CodeToolOutputTooLarge ToolErrorCode = "tool_output_too_large"
	CodeToolFailed         ToolErrorCode = "tool_failed"  // the tool failed and chose no code
	CodeToolTimeout        ToolErrorCode = "tool_timeout" // it ran out of its own time
	CodeAborted            ToolErrorCode = "aborted"      // the run, the cell or the caller ended first
	CodeUnknownTool        ToolErrorCode = "unknown_tool" // no tool of the run's catalog has the id
	CodeRevoked            ToolErrorCode = "tool_revoked" // it was taken away from the cells that knew it

	CodeCallRefused         ToolErrorCode = "call_refused"  // by Hooks.BeforeToolCall
	CodePolicyDenied        ToolErrorCode = "policy_denied" // by Options.Policy
	CodePolicyFailed        ToolErrorCode = "policy_failed" // the policy could not decide
	CodeApprovalDenied      ToolErrorCode = "approval_denied"
	CodeApprovalFailed      ToolErrorCode = "approval_failed"      // the approver could not be asked
	CodeApprovalUnavailable ToolErrorCode = "approval_unavailable" // there is no approver

	CodeTooManyPending ToolErrorCode = "too_many_pending_tool_calls" // open calls are too many or hold too much
	CodeTooManyCalls   ToolErrorCode = "too_many_calls"              // one plugin's call made more than MaxCallsInCall
	CodeTooDeep        ToolErrorCode = "too_deep"                    // tools call tools deeper than MaxCallDepth
	CodeRecursiveCall  ToolErrorCode = "recursive_call"              // a plugin is inside of a call already
	CodeClientTool     ToolErrorCode = "client_tool"                 // nobody is there to execute a client's tool
	CodeInterrupted    ToolErrorCode = "interrupted"                 // the call is interrupted already
	CodeUnavailable    ToolErrorCode = "unavailable"                 // what was asked for needs a call, or somebody to answer
	CodeMCPToolError   ToolErrorCode = "mcp_tool_error"              // an MCP server's tool reported an error
	CodeInternalError  ToolErrorCode = "internal_error"              // the host failed inside
)
