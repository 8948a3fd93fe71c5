package spans

// Name is the name of what an event tells. Package host has the same names, with what
// each means and which members its event has.
type Name string

// The events that mean something to a Tree or a Stream. Any other is a moment.
const (
	ExecStart        Name = "exec.start"
	ExecEnd          Name = "exec.end"
	WaitStart        Name = "wait.start"
	WaitEnd          Name = "wait.end"
	CallStart        Name = "call.start"
	CallEnd          Name = "call.end"
	CallsMore        Name = "calls.more"
	CallDenied       Name = "call.denied"
	ApprovalAsked    Name = "approval.asked"
	ApprovalDecided  Name = "approval.decided"
	Search           Name = "search"
	Describe         Name = "describe"
	Suspend          Name = "suspend"
	Resume           Name = "resume"
	Expire           Name = "expire"
	Abort            Name = "abort"
	NamespaceRefused Name = "namespace.refused"
)
