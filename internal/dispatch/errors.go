package dispatch

import "errors"

// errGranted ends a question that another answer has settled.
var errGranted = errors.New("an earlier answer covers the call")
