package egress

import (
	"net"
	"net/netip"
	"strings"
	"testing"
)

func TestRefusedAddresses(t *testing.T) {
	g := newAddressGuard(nil)
	for addr, why := range map[string]string{
		// Every special range at its first and last address.
		"0.0.0.0": "unspecified", "0.255.255.255": "unspecified",
		"10.0.0.0": "private", "10.255.255.255": "private",
		"100.64.0.0": "carrier", "100.127.255.255": "carrier",
		"127.0.0.1": "loopback", "127.255.255.255": "loopback",
		"169.254.0.0": "link-local", "169.254.255.255": "link-local",
		"172.16.0.0": "private", "172.31.255.255": "private",
		"192.0.0.1": "reserved", "192.0.0.170": "reserved", "192.0.0.255": "reserved",
		"192.0.2.1": "documentation", "198.51.100.255": "documentation", "203.0.113.0": "documentation",
		"192.88.99.1":   "6to4",
		"192.168.0.0":   "private",
		"192.168.255.1": "private",
		"198.18.0.0":    "benchmark", "198.19.255.255": "benchmark",
		"224.0.0.1": "multicast", "239.255.255.255": "multicast",
		"240.0.0.0": "reserved", "255.255.255.255": "reserved",
		// Metadata services, of which one is public.
		"169.254.169.254": "metadata", "169.254.170.2": "metadata", "100.100.100.200": "metadata",
		"168.63.129.16": "metadata", "192.0.0.192": "metadata",
		"fd00:ec2::254": "metadata", "fd20:ce::254": "metadata", "fe80::a9fe:a9fe": "metadata",
		// IPv6.
		"::": "unspecified", "::1": "loopback", "::2": "reserved",
		"fc00::1": "private", "fdff::1": "private", "fe80::1": "link-local", "febf::1": "link-local", "fec0::1": "private",
		"ff02::1": "multicast", "ff0e::1": "multicast",
		"100::1": "reserved", "2001:db8::1": "documentation", "3fff::1": "documentation", "2001:2::1": "benchmark",
		"2001:10::1": "reserved", "2001:20::1": "reserved", "2001:1ff:ffff::1": "reserved", "5f00::1": "reserved",
		"4000::1": "reserved", "1fff::1": "reserved", "e000::1": "reserved", "200::1": "reserved",
		"fe80::1%eth0": "zone", "2606:4700::1%eth0": "zone",
		// IPv4 inside IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo server and client, ISATAP.
		"::ffff:127.0.0.1": "loopback", "::ffff:10.0.0.1": "private", "::ffff:169.254.169.254": "metadata",
		"::127.0.0.1": "reserved", "::10.0.0.1": "reserved", "::169.254.169.254": "metadata", "::8.8.8.8": "reserved",
		"::ffff:0:127.0.0.1": "reserved", "::ffff:0:169.254.169.254": "metadata",
		"64:ff9b::127.0.0.1": "loopback", "64:ff9b::10.1.2.3": "private", "64:ff9b::169.254.169.254": "metadata",
		"64:ff9b::168.63.129.16": "metadata",
		"64:ff9b:1::8.8.8.8":     "translator", "64:ff9b:1::10.0.0.1": "translator", "64:ff9b:2::1": "reserved",
		"2002:7f00:1::": "loopback", "2002:a00:1::1": "private", "2002:c0a8:1::1": "private", "2002:a9fe:a9fe::1": "metadata",
		"2001:0:7f00:1::":              "loopback", // server 127.0.0.1
		"2001:0:808:808:0:0:80ff:fffe": "loopback", // client ^127.0.0.1
		"2001:0:808:808:0:0:5601:5601": "metadata", // client ^169.254.169.254
		"2606:4700::5efe:10.0.0.1":     "private",
		"2606:4700::200:5efe:10.0.0.1": "private",
	} {
		if got := g.refuse(netip.MustParseAddr(addr)); !strings.Contains(got, why) || got == "" {
			t.Errorf("%s: refused as %q, want %q", addr, got, why)
		}
	}
	if g.refuse(netip.Addr{}) == "" {
		t.Error("the zero address is not refused")
	}
}

func TestReachableAddresses(t *testing.T) {
	g := newAddressGuard(nil)
	for _, addr := range []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
		"169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.167.255.255",
		"192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "168.63.129.17",
		"2606:4700:4700::1111", "2001:4860:4860::8888", "2a00:1450:4001::1", "2001:200::1", "3ffe::1",
		"::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1", "2001:0:808:808:0:0:f7f7:f7f7", "2606:4700::5efe:8.8.8.8",
	} {
		if why := g.refuse(netip.MustParseAddr(addr)); why != "" {
			t.Errorf("%s is refused: %s", addr, why)
		}
	}
}

func TestAllowPrivate(t *testing.T) {
	for _, tt := range []struct {
		allow string
		addr  string
		ok    bool
	}{
		{"127.0.0.0/8", "127.0.0.1", true},
		{"127.0.0.0/8", "::ffff:127.0.0.1", true},
		{"127.0.0.0/8", "64:ff9b::127.0.0.1", true},
		{"127.0.0.0/8", "::1", false},
		{"127.0.0.0/8", "::127.0.0.1", false},
		{"127.0.0.0/8", "10.0.0.1", false},
		{"127.1.2.3/8", "127.0.0.1", true},
		{"::ffff:10.0.0.0/104", "10.1.2.3", true},
		{"::ffff:10.0.0.0/104", "11.1.2.3", true}, // public
		{"::ffff:10.0.0.0/104", "192.168.0.1", false},
		{"10.0.0.0/8", "192.168.0.1", false},
		{"::1/128", "::1", true},
		{"fd00::/8", "fd12::1", true},
		{"fd00::/8", "fd12::1%eth0", false},
		// A metadata service needs an entry of its own, however it is reached.
		{"169.254.0.0/16", "169.254.1.1", true},
		{"169.254.0.0/16", "169.254.169.254", false},
		{"0.0.0.0/0", "169.254.169.254", false},
		{"0.0.0.0/0", "168.63.129.16", false},
		{"100.64.0.0/10", "100.100.100.200", false},
		{"fd00::/8", "fd00:ec2::254", false},
		{"64:ff9b::/96", "64:ff9b::169.254.169.254", false},
		{"::/0", "2002:a9fe:a9fe::1", false},
		{"169.254.169.254/32", "169.254.169.254", true},
		{"169.254.169.254/32", "169.254.169.253", false},
	} {
		g := newAddressGuard([]netip.Prefix{netip.MustParsePrefix(tt.allow)})
		if why := g.refuse(netip.MustParseAddr(tt.addr)); (why == "") != tt.ok {
			t.Errorf("allow %s, address %s: refused as %q, want ok %v", tt.allow, tt.addr, why, tt.ok)
		}
	}
	if g := newAddressGuard([]netip.Prefix{{}}); g.refuse(netip.MustParseAddr("10.0.0.1")) == "" {
		t.Error("an invalid prefix opens something")
	}
}

func TestThisMachinesAddresses(t *testing.T) {
	g := newAddressGuard(nil)
	g.own = func() []netip.Addr { return []netip.Addr{public} }
	if why := g.refuse(public); why != "this machine" {
		t.Errorf("a public address of this machine: refused as %q", why)
	}
	if why := g.refuse(netip.MustParseAddr("64:ff9b::" + public.String())); why != "this machine" {
		t.Errorf("through a translator: refused as %q", why)
	}
	list, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	if got := interfaceAddrs(); len(got) != len(list) {
		t.Errorf("read %d of %d addresses of this machine", len(got), len(list))
	}
}

// TestHostileResolutions: names that the rules allow, behind which something else is. No connection may be tried.
func TestHostileResolutions(t *testing.T) {
	for _, tt := range []struct {
		name  string
		addrs []string
		kind  error
	}{
		{"loopback", []string{"127.0.0.1"}, ErrAddress},
		{"private", []string{"10.0.0.1"}, ErrAddress},
		{"metadata", []string{"169.254.169.254"}, ErrAddress},
		{"mapped", []string{"::ffff:127.0.0.1"}, ErrAddress},
		{"public, then private", []string{public.String(), "10.0.0.1"}, ErrAddress},
		{"private, then public", []string{"10.0.0.1", public.String()}, ErrAddress},
		{"one of many", append(repeat(public.String(), 40), "::1"), ErrAddress},
		{"none", nil, ErrNetwork},
		{"too many", repeat(public.String(), maxAddrs+1), ErrNetwork},
	} {
		w := newWorld(t, nil)
		w.names.add("api.example.com", tt.addrs...)
		_, err := w.client.Do(t.Context(), rulesFor("api.example.com"), &Request{URL: "https://api.example.com/"})
		e := wantKind(t, err, tt.kind)
		for _, a := range tt.addrs {
			if strings.Contains(e.Error(), a) {
				t.Errorf("%s: the text names the address: %s", tt.name, e)
			}
		}
		if got := w.dials.all(); len(got) != 0 {
			t.Errorf("%s: connected to %v", tt.name, got)
		}
	}
}

func repeat(s string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = s
	}
	return out
}

// TestLiteralsAreChecked: a rule that names an address does not open it.
func TestLiteralsAreChecked(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "[fd00:ec2::254]", "[64:ff9b::7f00:1]", "[::127.0.0.1]"} {
		w := newWorld(t, nil)
		_, err := w.client.Do(t.Context(), rulesFor(host), &Request{URL: "http://" + host + "/"})
		wantKind(t, err, ErrAddress)
		if got := w.dials.all(); len(got) != 0 {
			t.Errorf("%s: connected to %v", host, got)
		}
	}
}

// TestRebinding: the name is public when it is looked up first and private when it is looked up again. There is no
// second look-up within a hop, and each hop checks its own.
func TestRebinding(t *testing.T) {
	w := newWorld(t, nil)
	s := w.serve("https", "api.example.com", okHandler)
	w.names.add("api.example.com", "127.0.0.1")

	resp, err := w.client.Do(t.Context(), rulesFor("api.example.com"), &Request{URL: "https://api.example.com/"})
	if err != nil || string(resp.Body) != "ok" {
		t.Fatalf("first request: %v", err)
	}
	if n := w.names.count("api.example.com"); n != 1 {
		t.Errorf("the name was looked up %d times", n)
	}
	if got := w.dials.all(); len(got) != 1 || got[0] != netip.AddrPortFrom(public, 443) {
		t.Errorf("connected to %v, want the address that was checked", got)
	}
	_, err = w.client.Do(t.Context(), rulesFor("api.example.com"), &Request{URL: "https://api.example.com/"})
	wantKind(t, err, ErrAddress)
	if n := s.requests.Load(); n != 1 {
		t.Errorf("the server saw %d requests", n)
	}
}

// TestRebindingInARedirect: the redirect leads back to the same name, which is private by then.
func TestRebindingInARedirect(t *testing.T) {
	w := newWorld(t, nil)
	s := w.serve("https", "api.example.com", redirectTo("/again", 302))
	w.names.add("api.example.com", "127.0.0.1")
	_, err := w.client.Do(t.Context(), rulesFor("api.example.com"), &Request{URL: "https://api.example.com/"})
	wantKind(t, err, ErrRedirect)
	wantKind(t, err, ErrAddress)
	if n := s.requests.Load(); n != 1 {
		t.Errorf("the server saw %d requests", n)
	}
}

// TestDialChecked runs the real dialer, against a literal on loopback.
func TestDialChecked(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	to := l.Addr().(*net.TCPAddr).AddrPort()
	conn, err := New(nil).dialChecked(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got := conn.RemoteAddr().(*net.TCPAddr).AddrPort(); got != to {
		t.Errorf("connected to %v, want %v", got, to)
	}
}
