// Package limits bounds what many programs use together: bytes ([Budget]), places ([Slots]), and the time that an end
// may take while work is under way ([Census]). All of it is safe for concurrent use.
package limits
