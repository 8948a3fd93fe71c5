package egress

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// public is an address that the guard lets through. The tests' dialer maps it to a server on loopback.
var public = netip.MustParseAddr("93.184.215.14")

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// TestMain sets proxies for every test: a request that went through one would not look as the tests want it.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		if err := os.Setenv(name, "http://proxy.example:1"); err != nil {
			panic(err)
		}
	}
	os.Unsetenv("NO_PROXY")
	os.Exit(m.Run())
}

// names is a resolver: for each name the answers to the first look-up, the second and so on; the last one stays.
type names struct {
	mu      sync.Mutex
	answers map[string][][]netip.Addr
	asked   map[string]int
}

func newNames() *names { return &names{answers: map[string][][]netip.Addr{}, asked: map[string]int{}} }

// add sets the next answer for a name.
func (n *names) add(name string, addrs ...string) *names {
	n.answers[name] = append(n.answers[name], parseAddrs(addrs...))
	return n
}

func (n *names) LookupNetIP(_ context.Context, network, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.answers[host]
	if network != "ip" || len(list) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, Server: "10.9.8.7:53", IsNotFound: true}
	}
	i := min(n.asked[host], len(list)-1)
	n.asked[host]++
	return list[i], nil
}

func (n *names) count(name string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[name]
}

// dials records what a client connects to, and leads public addresses to a server on loopback.
type dials struct {
	mu   sync.Mutex
	list []netip.AddrPort
	to   map[netip.Addr]string // "127.0.0.1:port"
}

func (d *dials) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	d.mu.Lock()
	d.list = append(d.list, to)
	addr := d.to[to.Addr()]
	d.mu.Unlock()
	if addr == "" {
		return nil, errors.New("connect " + to.String() + ": no route")
	}
	var nd net.Dialer
	return nd.DialContext(ctx, "tcp", addr)
}

func (d *dials) all() []netip.AddrPort {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]netip.AddrPort(nil), d.list...)
}

// world is a set of servers behind public addresses.
type world struct {
	t      testing.TB
	names  *names
	dials  *dials
	roots  *x509.CertPool
	key    *ecdsa.PrivateKey
	client *Client
	next   byte
}

// newWorld makes a client whose names and addresses are the test's. The options' resolver, roots and dialer are set.
func newWorld(t testing.TB, o *Options) *world {
	t.Helper()
	if o == nil {
		o = &Options{}
	}
	w := &world{t: t, names: newNames(), dials: &dials{to: map[netip.Addr]string{}}, roots: x509.NewCertPool(), next: 14}
	var err error
	if w.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	o.Resolver, o.TLS = w.names, &tls.Config{RootCAs: w.roots}
	w.client = New(o)
	w.client.dial = w.dials.dial
	return w
}

// serve starts a server for a name, https for "https" and http else, and gives the public address it is behind.
func (w *world) serve(scheme, name string, h http.HandlerFunc) *server {
	w.t.Helper()
	s := &server{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		h(rw, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // some handshakes are meant to fail
	if scheme == "https" {
		s.TLS = &tls.Config{Certificates: []tls.Certificate{w.certificate(name)}, GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			s.sni.Store(hello.ServerName)
			return nil, nil
		}}
		s.StartTLS()
	} else {
		s.Start()
	}
	w.t.Cleanup(s.Close)
	w.place(name, s.Listener.Addr().String())
	return s
}

// place gives a name a public address of its own, which leads to a listener.
func (w *world) place(name, listener string) netip.Addr {
	addr := netip.AddrFrom4([4]byte{93, 184, 215, w.next})
	w.next++
	w.names.add(name, addr.String())
	w.dials.to[addr] = listener
	return addr
}

type server struct {
	*httptest.Server
	requests atomic.Int64
	sni      atomic.Value
}

// certificate makes a self-signed certificate that the client trusts.
func (w *world) certificate(name string) tls.Certificate {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	if addr, err := netip.ParseAddr(name); err == nil {
		template.IPAddresses = []net.IP{addr.AsSlice()}
	} else {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, w.key.Public(), w.key)
	if err != nil {
		w.t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		w.t.Fatal(err)
	}
	w.roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: w.key}
}

// raw starts a server that speaks bytes: it reads a request's head, then runs answer.
func (w *world) raw(name string, answer func(net.Conn)) {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	var wg sync.WaitGroup
	w.t.Cleanup(func() { l.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				buf := make([]byte, 4096)
				if _, err := conn.Read(buf); err == nil {
					answer(conn)
				}
			})
		}
	})
	w.place(name, l.Addr().String())
}

// rulesFor allows everything about some hosts.
func rulesFor(hosts ...string) []Rule {
	var rules []Rule
	for _, h := range hosts {
		rules = append(rules, Rule{Host: h, Methods: []string{"GET", "HEAD", "POST", "PUT", "DELETE"}, Insecure: true})
	}
	return rules
}

// wantKind checks the kind of an error, and that its type and code are right.
func wantKind(t testing.TB, err, kind error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, kind) {
		t.Fatalf("got error %v, want an *Error that is %q", err, kind)
	}
	if e.Code() == "" || e.Detail == "" {
		t.Fatalf("error %#v lacks a code or a detail", e)
	}
	return e
}

// kindOf is the kind of an error, nil where there is none.
func kindOf(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return err
}

// pipeTo is a dialer to a server that reads a request and gives one answer, without sockets.
func pipeTo(answer []byte) func(context.Context, netip.AddrPort) (net.Conn, error) {
	return func(context.Context, netip.AddrPort) (net.Conn, error) {
		client, srv := net.Pipe()
		go func() {
			defer srv.Close()
			if _, err := srv.Read(make([]byte, 4096)); err == nil {
				_, _ = srv.Write(answer) // the client may have left
			}
		}()
		return client, nil
	}
}

// tlsFor is a client's configuration for a name of the world.
func (w *world) tlsFor(name string) *tls.Config {
	return &tls.Config{RootCAs: w.roots, ServerName: name}
}
