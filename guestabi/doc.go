// Package guestabi is the typed contract between the host, the JavaScript guest
// and plugins: messages with their versions, error codes, the value codec, and
// the guest's prelude and declarations. ABI.md describes it in prose.
//
// It is a leaf: it imports the standard library only and builds for the host
// and for wasip1.
package guestabi
