package egress

import (
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
)

// addressGuard decides which addresses plugins may reach: public unicast ones that are not this machine's own, and what
// the operator allowed.
type addressGuard struct {
	allow []netip.Prefix
	own   func() []netip.Addr // this machine's addresses
}

func newAddressGuard(allow []netip.Prefix) *addressGuard {
	g := &addressGuard{own: interfaceAddrs}
	for _, p := range allow {
		if !p.IsValid() {
			continue // allows nothing
		}
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		g.allow = append(g.allow, p.Masked())
	}
	return g
}

// refuse says why an address is refused, "" if it is not. The words name a kind of address, never the address.
func (g *addressGuard) refuse(a netip.Addr) string {
	if !a.IsValid() {
		return "not an address"
	}
	if a.Zone() != "" {
		return "an address with a zone"
	}
	a = a.Unmap()
	inner := embedded(a)
	for _, x := range append(inner, a) {
		if slices.Contains(metadata, x) && !g.allows(x, true) {
			return "a metadata service"
		}
	}
	if g.allows(a, false) {
		return ""
	}
	if why := special(a); why != "" {
		return why
	}
	for _, x := range inner {
		if why := g.refuse(x); why != "" {
			return why
		}
	}
	// A service that is meant for this machine alone may listen on every interface, behind a firewall that does not
	// look at what the machine sends to itself.
	if slices.Contains(g.own(), a) {
		return "this machine"
	}
	return ""
}

// allows says whether the operator opened an address; with exactly, by a prefix of this one address.
func (g *addressGuard) allows(a netip.Addr, exactly bool) bool {
	return slices.ContainsFunc(g.allow, func(p netip.Prefix) bool {
		return p.Contains(a) && (!exactly || p.IsSingleIP())
	})
}

// interfaceAddrs lists the addresses of this machine; without an answer it lists none, since then there is nothing that
// the rest of the guard would not say.
func interfaceAddrs() []netip.Addr {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	addrs := make([]netip.Addr, 0, len(list))
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			addrs = append(addrs, p.Addr().Unmap().WithZone(""))
		}
	}
	return addrs
}

// metadata are the addresses at which clouds hand credentials to whoever asks from inside. Some lie in public ranges,
// and some in ranges that operators open for other reasons, so that each has to be opened by itself.
var metadata = parseAddrs(
	"169.254.169.254", // AWS, Google, Azure, Oracle, DigitalOcean, OpenStack and others
	"169.254.170.2",   // AWS ECS tasks
	"169.254.170.23",  // AWS EKS pods
	"169.254.0.23",    // Tencent
	"169.254.42.42",   // Scaleway
	"100.100.100.200", // Alibaba
	"168.63.129.16",   // Azure WireServer, a public address
	"192.0.0.192",     // Oracle, older
	"fd00:ec2::254",   // AWS
	"fd00:ec2::23",    // AWS EKS pods
	"fd20:ce::254",    // Google
	"fd00:42::42",     // Scaleway
	"fe80::a9fe:a9fe", // OpenStack
)

// block is a range of the IANA special-purpose registries that is not public unicast.
type block struct {
	prefix netip.Prefix
	why    string
}

var blocks4 = parseBlocks([][2]string{
	{"0.0.0.0/8", "the unspecified network"},
	{"10.0.0.0/8", "a private network"},
	{"100.64.0.0/10", "a carrier's private network"},
	{"127.0.0.0/8", "loopback"},
	{"169.254.0.0/16", "link-local"},
	{"172.16.0.0/12", "a private network"},
	{"192.0.0.0/24", "reserved"},
	{"192.0.2.0/24", "documentation"},
	{"192.31.196.0/24", "reserved"},
	{"192.52.193.0/24", "reserved"},
	{"192.88.99.0/24", "a 6to4 relay"},
	{"192.168.0.0/16", "a private network"},
	{"192.175.48.0/24", "reserved"},
	{"198.18.0.0/15", "benchmarking"},
	{"198.51.100.0/24", "documentation"},
	{"203.0.113.0/24", "documentation"},
	{"224.0.0.0/4", "multicast"},
	{"240.0.0.0/4", "reserved"},
})

var blocks6 = parseBlocks([][2]string{
	{"::/128", "the unspecified address"},
	{"::1/128", "loopback"},
	{"fc00::/7", "a private network"},
	{"fe80::/10", "link-local"},
	{"fec0::/10", "a private network"},
	{"ff00::/8", "multicast"},
	{"64:ff9b:1::/48", "a private network's translator"},
	{"2001:db8::/32", "documentation"},
	{"3fff::/20", "documentation"},
	{"2001:2::/48", "benchmarking"},
	{"2620:4f:8000::/48", "reserved"},
})

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	protocolRange = netip.MustParsePrefix("2001::/23")
	teredo        = netip.MustParsePrefix("2001::/32")
	sixToFour     = netip.MustParsePrefix("2002::/16")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
)

// special says why an address is not public unicast, "" if it is. What IANA has not given out for global unicast is
// refused, so that ranges of tomorrow are closed; tunnels and translators are decided by what they embed.
func special(a netip.Addr) string {
	blocks := blocks6
	if a.Is4() {
		blocks = blocks4
	}
	for _, b := range blocks {
		if b.prefix.Contains(a) {
			return b.why
		}
	}
	if a.Is4() || nat64.Contains(a) || teredo.Contains(a) {
		return ""
	}
	if !globalUnicast.Contains(a) || protocolRange.Contains(a) {
		return "reserved"
	}
	return ""
}

// embedded gives the IPv4 addresses that a packet to an IPv6 address may end at: those of 6to4 (RFC 3056), Teredo
// (RFC 4380), the NAT64 prefix (RFC 6052), ISATAP (RFC 5214), and the last four bytes below ::/8, where the
// IPv4-compatible and IPv4-translated forms are.
func embedded(a netip.Addr) []netip.Addr {
	if a.Is4() {
		return nil
	}
	b := a.As16()
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte(b[i : i+4])) }
	switch {
	case sixToFour.Contains(a):
		return []netip.Addr{at(2)}
	case teredo.Contains(a):
		client := netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})
		return []netip.Addr{at(4), client}
	case nat64.Contains(a), b[0] == 0:
		return []netip.Addr{at(12)}
	}
	// The interface identifier ::5efe:a.b.c.d, with the universal bit or without.
	if id := binary.BigEndian.Uint32(b[8:12]); id == 0x00005efe || id == 0x02005efe {
		return []netip.Addr{at(12)}
	}
	return nil
}

func parseAddrs(list ...string) []netip.Addr {
	out := make([]netip.Addr, len(list))
	for i, s := range list {
		out[i] = netip.MustParseAddr(s)
	}
	return out
}

func parseBlocks(list [][2]string) []block {
	out := make([]block, len(list))
	for i, b := range list {
		out[i] = block{netip.MustParsePrefix(b[0]), b[1]}
	}
	return out
}
