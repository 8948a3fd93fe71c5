package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Bounds of a look-up.
const (
	maxAddrs = 64 // that are checked; more is an error
	maxDials = 4  // that are tried
)

// resolve gives the addresses of a target, all of them checked. One that is refused spoils the others: which of them a
// name gives first is the plugin author's choice if the name is.
func (c *Client) resolve(ctx context.Context, t *target) ([]netip.Addr, error) {
	addrs := []netip.Addr{t.host.addr}
	if name := t.host.name; name != "" {
		if c.absolute {
			name += "."
		}
		var err error
		if addrs, err = c.resolver.LookupNetIP(ctx, "ip", name); err != nil {
			return nil, err
		}
	}
	if len(addrs) == 0 || len(addrs) > maxAddrs {
		return nil, fail(ErrNetwork, "%s: the name has %d addresses; 1 to %d are usable", t.host, len(addrs), maxAddrs)
	}
	checked := make([]netip.Addr, len(addrs))
	for i, a := range addrs {
		if why := c.guard.refuse(a); why != "" {
			return nil, fail(ErrAddress, "%s leads to an address that plugins may not reach (%s); the operator can allow it", t.host, why)
		}
		checked[i] = a.Unmap()
	}
	return checked, nil
}

// connect gives a connection to one of the addresses, with TLS for https: the name goes into SNI and is what the
// certificate has to be for.
func (c *Client) connect(ctx context.Context, t *target, addrs []netip.Addr) (net.Conn, error) {
	conn, err := c.dialAny(ctx, addrs[:min(len(addrs), maxDials)], t.port)
	if err != nil || !t.https {
		return conn, err
	}
	secure := tls.Client(conn, &tls.Config{
		RootCAs:    c.roots,
		ServerName: strings.Trim(t.host.String(), "[]"),
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
	})
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return secure, nil
}

// dialAny tries the addresses in turn, each with its share of the time that is left.
func (c *Client) dialAny(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, error) {
	var first error
	for i, a := range addrs {
		share := ctx
		if deadline, ok := ctx.Deadline(); ok && i < len(addrs)-1 {
			left := time.Until(deadline) / time.Duration(len(addrs)-i)
			var cancel context.CancelFunc
			share, cancel = context.WithTimeout(ctx, left)
			defer cancel() // at most maxDials of them
		}
		conn, err := c.dial(share, netip.AddrPortFrom(a, port))
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// dialChecked connects to exactly this address. Control sees what the system is asked for: the last place to notice a
// mistake of ours.
func (c *Client) dialChecked(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		if got, err := netip.ParseAddrPort(address); err != nil || got != to {
			return errWrongAddress
		}
		return nil
	}}
	return d.DialContext(ctx, "tcp", to.String())
}

var errWrongAddress = errors.New("the address is not the one that was checked")

// send writes the request to the connection and reads the answer. A redirect gives its location and no body.
func (c *Client) send(ctx context.Context, h *hop, conn net.Conn) (*Response, string, error) {
	req, err := h.request(ctx)
	if err != nil {
		return nil, "", err
	}
	counted := &countingConn{Conn: conn}
	resp, err := singleUse(counted).RoundTrip(req)
	if err != nil {
		if counted.read.Load() >= MaxHeaderBytes && ctx.Err() == nil {
			return nil, "", fail(ErrTooLarge, "the response has more than %d bytes of headers", MaxHeaderBytes)
		}
		return nil, "", err
	}
	defer func() { _ = resp.Body.Close() }() // the connection is closed behind it
	if resp.StatusCode < 200 {               // 101, a switch of protocols that nobody asked for, or what is no status
		return nil, "", fail(ErrNetwork, "%s: the server answers with status %d, which ends no request", h.target.authority(), resp.StatusCode)
	}
	out := &Response{Status: resp.StatusCode, URL: h.target.String(), Headers: flatten(resp.Header)}
	if locations := resp.Header["Location"]; redirects(resp.StatusCode) && len(locations) > 0 {
		if len(locations) > 1 {
			return nil, "", fail(ErrRedirect, "the server names %d places to go", len(locations))
		}
		if locations[0] != "" {
			return out, locations[0], nil
		}
	}
	out.Body, err = c.readBody(h.method, resp)
	return out, "", err
}

// request is the hop for net/http.
func (h *hop) request(ctx context.Context) (*http.Request, error) {
	u, exact := h.target.url()
	if !exact {
		return nil, fail(ErrRequest, "url: the path cannot be sent as it is written; percent-encode it")
	}
	headers := h.headers.Clone()
	for name, values := range h.secrets {
		headers[name] = values
	}
	headers.Set("Accept-Encoding", "identity")
	if headers.Get("User-Agent") == "" {
		headers.Set("User-Agent", "cloister-plugin")
	}
	req := &http.Request{Method: h.method, URL: u, Host: h.target.authority(), Header: headers, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Close: true}
	if len(h.body) > 0 {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(h.body)), int64(len(h.body))
	}
	return req.WithContext(ctx), nil
}

// singleUse is a transport that speaks HTTP/1.1 over one connection, once. No proxy, no other connection, no cookie, no
// decompression.
func singleUse(conn net.Conn) *http.Transport {
	var used atomic.Bool
	dial := func(context.Context, string, string) (net.Conn, error) {
		if used.Swap(true) {
			return nil, errUsed
		}
		return conn, nil
	}
	t := &http.Transport{
		DialContext:            dial,
		DialTLSContext:         dial, // the handshake is done
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: MaxHeaderBytes,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	return t
}

var errUsed = errors.New("the connection was used")

// countingConn counts what was read, to tell too many headers from a broken answer.
type countingConn struct {
	net.Conn
	read atomic.Int64
}

// Read is net.Conn's.
func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// readBody reads a bounded body. The declared length only serves to refuse early.
func (c *Client) readBody(method string, resp *http.Response) ([]byte, error) {
	most := int64(c.maxResponse)
	if resp.ContentLength > most && method != http.MethodHead {
		return nil, fail(ErrTooLarge, "the response has %d bytes; at most %d are allowed: ask for less", resp.ContentLength, most)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if int64(len(body)) > most {
		return nil, fail(ErrTooLarge, "the response has more than %d bytes: ask for less", most)
	}
	return body, err
}

// flatten makes one value of each header. A server may send any bytes; plugins get UTF-8.
func flatten(h http.Header) map[string]string {
	out := make(map[string]string, len(h))
	for name, values := range h {
		out[strings.ToLower(name)] = strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")
	}
	return out
}

// describe puts a network error into words without addresses.
func describe(err error) string {
	var (
		dns       *net.DNSError
		authority x509.UnknownAuthorityError
		names     x509.HostnameError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
		record    tls.RecordHeaderError
		alert     tls.AlertError
		system    syscall.Errno
	)
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "the name does not exist"
	case errors.As(err, &dns):
		return "the name could not be looked up"
	case errors.As(err, &authority):
		return "the server's certificate is from an authority that is not known"
	case errors.As(err, &names):
		return "the server's certificate is for other names"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the server's certificate is not valid now"
	case errors.As(err, &verify):
		return "the server's certificate is not valid"
	case errors.As(err, &record):
		return "the server does not speak TLS on this port"
	case errors.As(err, &alert):
		return "the TLS handshake failed"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the server refuses connections on this port"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the server closed the connection before the end of the answer"
	case errors.As(err, &system):
		return fmt.Sprintf("the server cannot be reached (system error %d)", int(system))
	}
	return "the server's answer is not HTTP/1.1, or the connection broke"
}
