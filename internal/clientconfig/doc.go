// Package clientconfig knows where MCP clients keep their servers and in which form, and changes one server in such a file.
//
// A client's file is its user's: it holds comments, an order and secrets of other servers. So a [Document] is never written
// anew from what was read. [Document.Set] and [Document.Remove] put one member into the text, or take one out, read the result
// again and compare: whatever else would have another value afterwards, the change is refused with [ErrLayout], and the caller
// says what to write by hand. Three formats are read: JSON with comments and trailing commas, TOML, and the part of YAML that
// configuration files are written in.
//
// [Clients] is the table of clients: where the file is on each system, where the list of servers is in it, and what an entry
// looks like. [Record] is what a change did, in terms of which it can be undone after later changes by others.
package clientconfig
