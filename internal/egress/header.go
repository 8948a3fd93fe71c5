package egress

import "strings"

// Why a header is refused.
const (
	hopByHop    = "it controls the connection, which is the host's"
	aboutClient = "it says who the client is, which is not the plugin's to say"
	override    = "it changes the request behind the permissions; put it into method and url"
)

// refusedHeaders control the connection, or change what a server, or a proxy before it, takes for the host, the method, the
// path or the client. Those that belong to a family of names are in refusedFamilies.
var refusedHeaders = map[string]string{
	"host":            "the host is that of the address",
	"content-length":  "the length is that of the body",
	"accept-encoding": "the host asks for plain content",

	"connection":        hopByHop,
	"keep-alive":        hopByHop,
	"transfer-encoding": hopByHop,
	"te":                hopByHop,
	"trailer":           hopByHop,
	"upgrade":           hopByHop,
	"http2-settings":    hopByHop,
	"expect":            hopByHop,

	"forwarded":       aboutClient,
	"x-forwarded":     aboutClient,
	"x-forward-for":   aboutClient,
	"via":             aboutClient,
	"remote-user":     aboutClient,
	"ssl-client-cert": aboutClient,
	"x-client-cert":   aboutClient,

	"x-http-method":         override,
	"x-http-path":           override,
	"x-http-host":           override,
	"x-http-destinationurl": override,
	"x-host":                override,
	"x-real-host":           override,
	"x-backend-host":        override,
	"x-backend-url":         override,
	"x-upstream-host":       override,
	"x-request-uri":         override,
	"request-uri":           override,
	"x-proxy-url":           override,
	"base-url":              override,
	"http-url":              override,
	// WebDAV, RFC 4918, 10.3: where COPY and MOVE write, which the path prefixes of a rule say nothing about.
	"destination": override,
}

// refusedFamilies are names that differ from server to server and have one meaning.
var refusedFamilies = []struct {
	prefix, suffix string
	why            string
}{
	{"proxy-", "", hopByHop},
	{"x-forwarded-", "", aboutClient},
	{"x-remote-", "", aboutClient},
	{"x-ssl-client-", "", aboutClient},
	{"x-goog-authenticated-", "", aboutClient},
	{"x-ms-client-principal", "", aboutClient},
	// X-Real-IP, Client-IP, X-Cluster-Client-IP, Fastly-Client-IP, CF-Connecting-IP, X-Originating-IP and so on.
	{"", "-ip", aboutClient},
	{"", "-ipv6", aboutClient},
	{"", "-clientip", aboutClient},
	{"", "-socketip", aboutClient},
	{"", "remote-addr", aboutClient},
	// X-Original-URL, -URI, -Host, -Method, -Path; Envoy's x-envoy-original-path and its other orders to the proxy.
	{"x-original-", "", override},
	{"x-rewrite-", "", override},
	{"x-override-", "", override},
	{"x-envoy-", "", override},
	// X-HTTP-Method-Override, X-Method-Override, X-Host-Override, X-HTTP-Path-Override.
	{"", "-override", override},
}

// checkHeaderName holds a name to RFC 9110's tokens and refuses those that are not the plugin's. CGI reads "_" as "-",
// so the comparison does too.
func checkHeaderName(name string) string {
	if name == "" || len(name) > maxHeaderName {
		return "a name has 1 to 128 bytes"
	}
	for i := range len(name) {
		if b := name[i]; !isAlpha(b) && !isDigit(b) && strings.IndexByte("!#$%&'*+-.^_`|~", b) < 0 {
			return "a name has letters, digits and hyphens only"
		}
	}
	plain := plainName(name)
	if why := refusedHeaders[plain]; why != "" {
		return "this header is refused: " + why
	}
	for _, f := range refusedFamilies {
		if strings.HasPrefix(plain, f.prefix) && strings.HasSuffix(plain, f.suffix) {
			return "this header is refused: " + f.why
		}
	}
	return ""
}

// plainName is how names are compared.
func plainName(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }
