package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// approve answers open approvals by the endpoint, as their plan says, until ctx ends.
func (l *load) approve(ctx context.Context) {
	seen := map[string]bool{}
	tag := ""
	for ctx.Err() == nil {
		list, next, err := l.openApprovals(ctx, tag)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			l.rep.fault("listing approvals: %v", err)
			return
		}
		tag = next
		for _, a := range list {
			if seen[a.ID] {
				continue
			}
			seen[a.ID] = true
			if a.Input.Plan == "leave" {
				l.rep.count("approvals left open")
				continue
			}
			if err := l.decide(ctx, a.ID, a.Input.Plan == "approve"); err != nil && ctx.Err() == nil {
				l.rep.fault("answering an approval: %v", err)
			}
			l.rep.count("approvals answered")
		}
	}
}

type openApproval struct {
	ID    string
	Input echoIn
}

// openApprovals waits until the list is not the one of tag.
func (l *load) openApprovals(ctx context.Context, tag string) ([]openApproval, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.srv.approvals+"?wait=5", nil)
	if err != nil {
		return nil, "", err
	}
	if tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	res, err := l.ask(req)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNotModified {
		return nil, tag, nil
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, "", err
	}
	if res.StatusCode != http.StatusOK {
		return nil, "", fmt.Errorf("%s: %s", res.Status, clip(string(text)))
	}
	var list struct{ Approvals []openApproval }
	return list.Approvals, res.Header.Get("ETag"), json.Unmarshal(text, &list)
}

func (l *load) decide(ctx context.Context, id string, approved bool) error {
	text, err := json.Marshal(map[string]any{"approved": approved, "reason": "the plan says so"})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.srv.approvals+"/"+id, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := l.ask(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		return fmt.Errorf("%s", res.Status)
	}
	return nil
}

func (l *load) ask(req *http.Request) (*http.Response, error) {
	req.Header.Set("Authorization", "Bearer "+l.srv.approver)
	return http.DefaultClient.Do(req)
}
