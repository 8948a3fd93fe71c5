package guestloop

import "errors"

var (
	// ErrInFlight reports a second leg while one is attached.
	ErrInFlight = errors.New("a leg is attached already")
	// ErrExpired reports a leg for a program that was kept as long as it was to be.
	ErrExpired = errors.New("the program is kept no longer")
	// ErrOver reports a leg for a program that has ended and whose end was told.
	ErrOver = errors.New("the program has ended")
	// ErrDeadlock ends a program that awaits a promise while no request is open.
	ErrDeadlock = errors.New("deadlock: the program awaits a promise, but no request is open")
	// ErrRejected ends a program whose main promise was rejected. The reason is in the guest.
	ErrRejected = errors.New("the program's promise was rejected")
	// ErrOpenAtEnd ends a program that returned with requests open under FailOpen.
	ErrOpenAtEnd = errors.New("the program ended with requests open")
	// ErrForged ends a program whose guest sent what the prelude never would: a
	// request's number that is taken or out of range, a message cut short.
	ErrForged = errors.New("the guest sent a message of an unknown form")
	// ErrTooLong ends a program for which the host worked, in a turn, longer than its leg allows.
	ErrTooLong = errors.New("the turn took longer than it may")
	// ErrTooManyOpen ends a program with more than Limits.MaxOpen requests open.
	ErrTooManyOpen = errors.New("too many requests are open")
	// ErrNoRoom reports a request whose input, or an answer that, is over Limits.MaxHeld or the Budget.
	ErrNoRoom = errors.New("open requests hold too many bytes")
	// ErrPanicked ends a program in whose Program a panic occurred. It wraps no detail:
	// Options.Panicked was told.
	ErrPanicked = errors.New("the host failed inside")
	// ErrRestore reports state that is gone from its store, is not what was saved, or
	// cannot be restored.
	ErrRestore = errors.New("the program's state cannot be restored")
	// ErrStore reports state that could not be saved.
	ErrStore = errors.New("the program's state cannot be stored")
)

// errEnded is the cause of the end of a loop's context when its program has ended.
var errEnded = errors.New("the program has ended")
