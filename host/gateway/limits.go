package gateway

// DefaultLimits are the limits that a zero Limits stands for.
func DefaultLimits() Limits { return Limits{}.withDefaults() }
