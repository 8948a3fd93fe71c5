package policy

// Bounds. They are checked before the work that they bound.
const (
	// MaxSourceBytes bounds one file of policies.
	MaxSourceBytes = 1 << 20
	// MaxPolicies bounds a Set.
	MaxPolicies = 10_000
	// MaxPolicyBytes bounds one policy, without the comments before it.
	MaxPolicyBytes = 64 << 10
	// MaxNesting bounds brackets inside brackets, and the words "if" of one policy.
	MaxNesting = 64
	// MaxChain bounds a chain of attributes, a.b.c. Cedar writes `has a.b.c` out in full, so a chain costs its square.
	MaxChain = 32

	// MaxAttributes bounds the words of a file, each counted by its place in its chain: what chains cost together.
	MaxAttributes = 1 << 20
	// MaxPatternBytes bounds the pattern of `like`, which is looked for at each place of a text.
	MaxPatternBytes = 1000

	// MaxInputBytes bounds the arguments that policies look at.
	MaxInputBytes = 4 << 20
	// MaxInputValues bounds the values in them.
	MaxInputValues = 20_000
	// MaxInputDepth bounds objects and arrays inside one another.
	MaxInputDepth = 64
	// MaxElements bounds the different elements of an array. Cedar's sets can be made to collide, which costs the square
	// of it.
	MaxElements = 1000

	// MaxTableBytes and MaxCases bound a table of cases.
	MaxTableBytes = 4 << 20
	MaxCases      = 10_000
)

const (
	maxIDBytes     = 100
	maxReasonBytes = 500
	maxNoteBytes   = 2000
	maxFaults      = 50
	maxShown       = 200 // bytes of somebody's text in a message
)
