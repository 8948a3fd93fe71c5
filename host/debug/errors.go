package debug

import "errors"

// ErrSetting reports a variable of the environment with a value that means nothing.
// Its text names the variable and the choices.
var ErrSetting = errors.New("invalid debug setting")
