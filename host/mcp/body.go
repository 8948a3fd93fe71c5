package mcp

import (
	"bytes"
	"io"
	"mime"
	"net/http"
)

// endingBody ends the context of its request with itself.
type endingBody struct {
	io.ReadCloser
	end func()
}

func (b *endingBody) Close() error {
	b.end()
	return b.ReadCloser.Close()
}

func closeBody(resp *http.Response) {
	_ = resp.Body.Close() // only read from
}

// drop takes the body away, which nobody is to read.
func drop(resp *http.Response) {
	closeBody(resp)
	resp.Body, resp.ContentLength = http.NoBody, 0
}

func setBody(resp *http.Response, data []byte) {
	closeBody(resp)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	resp.Header.Del("Content-Length")
}

func readBounded(r io.Reader, most int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err == nil && len(data) > most {
		err = protocolError("a body has more than %d bytes (limits.maxMessageBytes)", most)
	}
	return data, err
}

func mediaType(resp *http.Response) string {
	t, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}
