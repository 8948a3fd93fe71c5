package egress

import (
	"net/netip"
	"strconv"
	"strings"
)

// Bounds of host names, of RFC 1035.
const (
	maxHostBytes  = 253
	maxLabelBytes = 63
)

// hostname is a host as it is compared and sent: a name in lower case, or an IP literal.
type hostname struct {
	name string     // "" for a literal
	addr netip.Addr // invalid for a name
}

// String is the host as it stands in a URL.
func (h hostname) String() string {
	switch {
	case h.name != "":
		return h.name
	case h.addr.Is6():
		return "[" + h.addr.String() + "]"
	}
	return h.addr.String()
}

// parseAuthority reads "host", "host:port" and "[v6]:port". Port 0 means that none was given. The second result says
// what is wrong, and is "" where nothing is.
//
// There is one spelling for each host: what resolvers, proxies and servers read differently (octal, hexadecimal and
// short IPv4, trailing dots, percent encodings, Unicode) is refused, so that the host that was checked is the host
// that is asked.
func parseAuthority(s string) (h hostname, port uint16, problem string) {
	switch {
	case s == "":
		return h, 0, "the host is missing; write a name such as api.example.com"
	case strings.Contains(s, "@"):
		return h, 0, "user names and passwords do not belong into an address; use a header"
	case len(s) > maxHostBytes+len(":65535"):
		return h, 0, "the host is longer than 253 bytes"
	}
	host, rest := s, ""
	if s[0] == '[' {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return h, 0, "the bracket of the IPv6 address is not closed"
		}
		host, rest = s[:end+1], s[end+1:]
	} else if i := strings.IndexByte(s, ':'); i >= 0 {
		host, rest = s[:i], s[i:]
	}
	if rest != "" {
		if port, problem = parsePort(rest); problem != "" {
			return h, 0, problem
		}
	}
	h, problem = parseHost(host)
	return h, port, problem
}

// parsePort reads ":443".
func parsePort(s string) (port uint16, problem string) {
	digits, ok := strings.CutPrefix(s, ":")
	n, err := strconv.ParseUint(digits, 10, 16)
	// ParseUint takes "+1" and "0443", which others may read in another way or not at all.
	if !ok || err != nil || n == 0 || strconv.FormatUint(n, 10) != digits {
		return 0, "the port has to be a number from 1 to 65535 without leading zeros; an IPv6 address stands in brackets"
	}
	return uint16(n), ""
}

// parseHost reads a name or an IP literal without a port.
func parseHost(s string) (hostname, string) {
	if strings.HasPrefix(s, "[") {
		return parseV6(s[1 : len(s)-1])
	}
	if problem := checkName(s); problem != "" {
		return hostname{}, problem
	}
	name := strings.ToLower(s) // ASCII by now
	if !endsInNumber(name) {
		return hostname{name: name}, ""
	}
	addr, err := netip.ParseAddr(name)
	if err != nil || addr.String() != name {
		return hostname{}, "the host reads as a number; write an IPv4 address as four decimal numbers, such as 192.0.2.1"
	}
	return hostname{addr: addr}, ""
}

func parseV6(s string) (hostname, string) {
	if strings.ContainsAny(s, "%") {
		return hostname{}, "an IPv6 address with a zone is refused"
	}
	addr, err := netip.ParseAddr(s)
	switch {
	case err != nil || !addr.Is6():
		return hostname{}, "what stands in brackets is not an IPv6 address"
	case addr.Is4In6():
		return hostname{}, "write the IPv4 address itself, not its IPv6 form"
	}
	return hostname{addr: addr}, ""
}

// checkName holds a name to letters, digits, "-" and "_" in labels. International names come in as punycode.
func checkName(s string) string {
	switch {
	case s == "":
		return "the host is missing; write a name such as api.example.com"
	case strings.HasSuffix(s, "."):
		return "the host ends with a dot; leave it out"
	case len(s) > maxHostBytes:
		return "the host is longer than 253 bytes"
	}
	for label := range strings.SplitSeq(s, ".") {
		switch {
		case label == "":
			return "the host has an empty label (two dots in a row, or one in front)"
		case len(label) > maxLabelBytes:
			return "a label of the host is longer than 63 bytes"
		case label[0] == '-' || label[len(label)-1] == '-':
			return "a label of the host starts or ends with a hyphen"
		}
		for i := range len(label) {
			if problem := checkNameByte(label[i]); problem != "" {
				return problem
			}
		}
	}
	return ""
}

func checkNameByte(b byte) string {
	switch {
	case isAlpha(b), isDigit(b), b == '-', b == '_':
		return ""
	case b >= 0x80:
		return "the host is not ASCII; write an international name in punycode (xn--…)"
	case b == '%':
		return "the host is percent-encoded; write it plainly"
	case b == '*':
		return "a * in the host is for rules, and only as the whole first label (*.example.com)"
	}
	return "the host has a character that host names do not have"
}

// endsInNumber says whether resolvers may take the name for an IPv4 address: the WHATWG rule, in which the last label
// decides, and in which hexadecimal counts.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

func isAlpha(b byte) bool { return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' }
func isDigit(b byte) bool { return '0' <= b && b <= '9' }
