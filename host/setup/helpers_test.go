package setup_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloister-wasm/cloister/host/setup"
	"github.com/cloister-wasm/cloister/plugins/bundle"
	"github.com/cloister-wasm/cloister/plugins/lock"
	"github.com/cloister-wasm/cloister/plugins/store"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// emptyModule is a module whose function cloister_call gives 0.
const emptyModule = "\x00asm\x01\x00\x00\x00" + "\x01\x05\x01\x60\x00\x01\x7f" + "\x03\x02\x01\x00" +
	"\x07\x11\x01\x0dcloister_call\x00\x00" + "\x0a\x06\x01\x04\x00\x41\x00\x0b"

func manifestOf(id, tool string) string {
	return fmt.Sprintf(`{"abi":"cloister.plugin/1","id":%q,"version":"1.0.0","description":"One of many.",`+
		`"tools":[{"name":%q,"description":"Does nothing.","parameters":{"type":"object"}}]}`, id, tool)
}

// install installs n plugins acme.pN, each with a tool tN, in the places of a project,
// with a policy that trusts their signer, and agrees to them, as the command line does.
func install(p *project, n int) {
	p.t.Helper()
	private, public, err := trust.GenerateKey("", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	key, err := trust.LoadKey(private, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	policy := &trust.Policy{Publishers: []trust.Publisher{{Name: "acme", Keys: []trust.Key{{PublicKey: string(public)}},
		Owns: trust.Ownership{IDs: []string{"acme."}, Tools: []string{"*"}}}}}
	if err := policy.Save(p.places.Trust); err != nil {
		p.t.Fatal(err)
	}
	where, err := p.places.StoreDir()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(where), 0o700); err != nil {
		p.t.Fatal(err)
	}
	s, err := store.Open(where, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	agreed := lock.New()
	for i := range n {
		artifact, err := bundle.Build(bundle.Files{Wasm: []byte(emptyModule), Manifest: []byte(manifestOf(fmt.Sprintf("acme.p%d", i), fmt.Sprintf("t%d", i)))})
		if err != nil {
			p.t.Fatal(err)
		}
		signature, err := trust.Sign(p.t.Context(), artifact, key)
		if err != nil {
			p.t.Fatal(err)
		}
		if err := artifact.AddSignature(signature); err != nil {
			p.t.Fatal(err)
		}
		v, err := policy.Verify(p.t.Context(), artifact)
		if err != nil {
			p.t.Fatal(err)
		}
		if _, err := s.Install(p.t.Context(), v, ""); err != nil {
			p.t.Fatal(err)
		}
		o := v.Origin("")
		agreed.Plugins[v.Manifest.ID] = lock.Plugin{Version: v.Manifest.Version, Digest: o.Digest, Publisher: o.Publisher, Signer: o.Signer}
		maps.Copy(agreed.Tools, setup.LockTools(v.Manifest))
	}
	path, err := p.places.InstalledLock()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := agreed.Save(path); err != nil {
		p.t.Fatal(err)
	}
}

// develop makes the folder of a development plugin.
func develop(p *project, folder, id, tool string) {
	p.t.Helper()
	p.write(filepath.Join(folder, "cloister.plugin.json"), manifestOf(id, tool))
	p.write(filepath.Join(folder, "plugin.wasm"), emptyModule)
}

// serverOf serves an MCP server over HTTP.
func serverOf(t *testing.T, tools ...string) (url string, s *sdk.Server) {
	t.Helper()
	s = sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	for _, name := range tools {
		addTool(s, name)
	}
	web := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil))
	t.Cleanup(web.CloseClientConnections)
	t.Cleanup(web.Close)
	return web.URL, s
}

func addTool(s *sdk.Server, name string) {
	sdk.AddTool(s, &sdk.Tool{Name: name, Description: "Does " + name + "."}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, struct{}, error) {
		return nil, struct{}{}, nil
	})
}
