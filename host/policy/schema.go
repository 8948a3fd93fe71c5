package policy

import _ "embed"

//go:embed cloister.cedarschema
var cedarSchema string

// CedarSchema is the Cedar schema of what policies can look at, for editors and
// validators. Loading policies does not need it.
func CedarSchema() string { return cedarSchema }
