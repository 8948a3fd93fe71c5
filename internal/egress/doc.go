// Package egress is the HTTP client that plugins get. A plugin is hostile and wants out: to hosts that nobody allowed it,
// to addresses inside the network, to the secrets that are sent on its behalf.
//
//	client := egress.New(nil)
//	resp, err := client.Do(ctx, []egress.Rule{{Host: "api.example.com", Paths: []string{"/v1/"}}}, &egress.Request{
//		URL:     "https://api.example.com/v1/items",
//		Secrets: map[string]egress.Secret{"Authorization": {Prefix: "Bearer ", Value: token, Hosts: []string{"api.example.com"}}},
//	})
//
// A [Client] serves many plugins; what one of them may do comes with each call, as rules. [ParseRule] checks the rules of
// a manifest and says how to mend them. Failures are [*Error], with a text and a [Error.Code] that are fit for the plugin.
//
// # The way of a request
//
// [Client.Do] reads the rules, then the request. Each hop, the first and every redirect alike, then takes the same steps
// in the same order, and the first step that fails ends it:
//
//  1. the address was read once, into host, port, path and query; everything below uses that reading
//  2. some rule fits host, port, scheme, method and path
//  3. the name is looked up once, and every address it has is checked
//  4. a connection is made to one of those addresses, by number; TLS is for the name
//  5. one request goes out and one answer comes in, within the bounds
//  6. a redirect makes the next hop
//
// # Security notes: what each check is for
//
// One spelling for each host. Libraries differ in how they read 0x7f.1, 127.1, 017700000001, example.com., wide or
// circled letters, "a@b", backslashes and zones. Each of them is refused, so that the host in the rule is the host
// that is resolved, is in SNI and in the Host header. International names are written in punycode. An IP literal needs a
// rule that names it, and its address is checked as if it had been looked up.
//
// One reading for each path. Servers and the proxies before them decode once or twice, merge dots, drop path parameters
// (..;x), narrow wide characters, take backslashes for slashes. A path that one of these readings changes into other
// segments is refused, and so are encoded slashes and dots, and invalid UTF-8, in which old decoders find dots. What is
// left is put into the normal form of RFC 3986 (6.2.2): %76 is v. Prefixes are compared with that form by whole segments,
// and that form is sent, so that a router that does not decode sees what was compared. The query is not part of any rule.
//
// Headers and bodies that change the request behind the rules. X-HTTP-Method-Override, X-Original-URL, X-Backend-Host and
// WebDAV's Destination make another method, path or host of a request; X-Forwarded-For, Client-IP and their kin make the
// client somebody else; GET and HEAD with a body, and all headers that control the connection, are tools of request
// smuggling. They are refused, whole families of names where there are families, also with "_" for "-". A server can
// give any other name such a meaning: a list is all there is against that.
//
// Where secrets go. A secret names the hosts that it may be sent to, and each hop is held against them. It is sent over https
// alone, or over http to this machine. Of an answer to a request with a secret nothing is cut off by request: Range and its kin
// are dropped, since a server that sends back what it got would give the secret in pieces that nobody recognises.
//
// Addresses after the look-up. A name that the plugin's author owns can lead anywhere. Every address of a name has to be
// public unicast by the IANA registries: one bad address spoils the name. Ranges that IANA has not given out are refused.
// 6to4, Teredo, NAT64 and ISATAP addresses are decided by the IPv4 address inside them too; IPv4-mapped ones are IPv4.
// Metadata services are refused even in ranges that the operator opened, and where their address is public, until the
// operator opens that one address. So are the addresses of this machine, whose firewall may not look at what it sends to
// itself.
//
// No second look-up. The connection goes to the address that was checked, and the dialer compares it once more with what
// the system is asked for. A name that changes its mind (DNS rebinding) is asked again at the next hop, and checked again.
// The system's resolver is asked for absolute names, so that a search domain cannot turn a public name into one inside.
//
// Nothing is shared. A connection serves one hop and is closed. Reuse would save a handshake, and would let one plugin
// leave half a request in the connection of a server's front end for the next plugin, secret included, to complete. There
// is no HTTP/2, no proxy from the environment, no cookie jar, no TLS session cache, no client certificate.
//
// Redirects. The rules, the scheme and the address are checked anew. https never becomes http. Secrets and the plugin's
// own credentials are dropped as soon as scheme, host or port change, and do not come back. A hop that changes the method
// needs a rule for the new one. Two Location headers are refused: clients differ in which they follow.
//
// Bounds. Bodies, headers (informational responses included), redirects and the time from the first look-up to the last
// byte are bounded. A declared length is used to refuse, never to allocate. Content encodings are not undone: a bomb stays
// small. The caller's context ends everything, and its values do not reach net/http, where a trace would lift the bound on
// informational responses.
//
// Texts. No error names an address that was looked up, or a secret; what net and tls say is translated. The error behind
// is kept for the host's log, where it names addresses: do not hand it to plugins. Secrets that a server sends back by
// accident are removed from the response ([Redact]).
//
// # What is left to others
//
// A plugin and a server on its side can carry out whatever the plugin knows, and the server can show it a secret in a
// disguise. The list of hosts in the manifest is what people consent to. A wildcard covers every host below the name,
// whoever runs it. NAT64 with a prefix of the network's own cannot be told from other public addresses: where a network
// has one that leads inside, it has to be closed there. A server may give a body a method in it (_method=DELETE in a
// form); a rule for POST allows what the server does with a POST.
package egress
