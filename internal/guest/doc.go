// Package guest is a virtual machine with a program in it, one level above package quickjs: it starts a program by the
// prelude's entries, reads its value, and turns what it threw into words and a place in its source. A cache keeps the
// templates that machines are made of, one for each setup of the prelude.
//
// It knows no tools and no limits of a run: package guestloop drives the machine, and whoever owns the program says what
// its messages mean. All that a guest says of itself, an exception's text and stack included, is hostile: it only
// chooses words.
package guest
