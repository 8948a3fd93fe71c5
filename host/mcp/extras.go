package mcp

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/cloister-wasm/cloister/host"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// ListResources implements host.MCPClient.
func (c *client) ListResources(ctx context.Context) (json.RawMessage, error) {
	resources, templates, err := c.resources(ctx)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string][]json.RawMessage{"resources": resources, "resourceTemplates": templates})
}

func (c *client) resources(ctx context.Context) (resources, templates []json.RawMessage, err error) {
	resources, err = c.list(ctx, "resources", func(ctx context.Context, s *session, cursor string) error {
		_, err := s.sdk.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	templates, err = c.list(ctx, "resourceTemplates", func(ctx context.Context, s *session, cursor string) error {
		_, err := s.sdk.ListResourceTemplates(ctx, &sdk.ListResourceTemplatesParams{Cursor: cursor})
		return err
	})
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) && rpc.Code == jsonrpc.CodeMethodNotFound {
		templates, err = nil, nil // a server may have resources and no templates
	}
	return nonNil(resources), nonNil(templates), err
}

// ListPrompts implements host.MCPClient.
func (c *client) ListPrompts(ctx context.Context) (json.RawMessage, error) {
	prompts, err := c.prompts(ctx)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string][]json.RawMessage{"prompts": prompts})
}

func (c *client) prompts(ctx context.Context) ([]json.RawMessage, error) {
	prompts, err := c.list(ctx, "prompts", func(ctx context.Context, s *session, cursor string) error {
		_, err := s.sdk.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
		return err
	})
	return nonNil(prompts), err
}

func nonNil(list []json.RawMessage) []json.RawMessage {
	if list == nil {
		return []json.RawMessage{}
	}
	return list
}

// list reads all pages of a list, each as a request of its own: listing has no effects.
func (c *client) list(ctx context.Context, member string, ask func(ctx context.Context, s *session, cursor string) error) ([]json.RawMessage, error) {
	items, err := pages(member, c.u.limits.MaxPages, maxListItems, func(cursor string) (json.RawMessage, error) {
		return c.call(ctx, &request{again: true, ask: func(ctx context.Context, s *session, _ any) error {
			return ask(ctx, s, cursor)
		}})
	})
	if errors.Is(err, ErrProtocol) {
		var already *callError
		if !errors.As(err, &already) {
			err = failed(CodeBadResult, err, "the MCP server %s gave a list that cannot be used", c.u.cfg.Name)
		}
	}
	return items, err
}

// ReadResource implements host.MCPClient.
func (c *client) ReadResource(ctx context.Context, uri string) ([]host.MCPContent, error) {
	raw, err := c.call(ctx, &request{again: true, ask: func(ctx context.Context, s *session, _ any) error {
		_, err := s.sdk.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
		return err
	}})
	if err != nil {
		return nil, err
	}
	return decodeResource(c.u.cfg.Name, raw)
}

// GetPrompt implements host.MCPClient.
func (c *client) GetPrompt(ctx context.Context, name string, arguments map[string]string) (*host.MCPPrompt, error) {
	raw, err := c.call(ctx, &request{again: true, ask: func(ctx context.Context, s *session, _ any) error {
		_, err := s.sdk.GetPrompt(ctx, &sdk.GetPromptParams{Name: name, Arguments: arguments})
		return err
	}})
	if err != nil {
		return nil, err
	}
	return decodePrompt(c.u.cfg.Name, raw)
}
