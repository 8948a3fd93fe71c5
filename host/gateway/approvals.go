package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/internal/schema"
)

// ApprovalList is the answer of GET /approvals.
type ApprovalList struct {
	// Approvals are the open ones, oldest first.
	Approvals []Approval `json:"approvals"`
}

// Approval is a call that waits for approval. All texts in it may be hostile: clean
// them before a terminal shows them.
type Approval struct {
	// ID names the question, for POST /approvals/{id}.
	ID    string    `json:"id"`
	Since time.Time `json:"since"`
	// Tool is the catalog id; Approval is "ask", or "always" where answers for more
	// than one call are not taken.
	Tool     string        `json:"tool"`
	Approval host.Approval `json:"approval"`
	Unsigned bool          `json:"unsigned,omitempty"`
	// Caller is the plugin that makes the call, Namespace the function that a cell called.
	Caller    string          `json:"caller,omitempty"`
	Namespace string          `json:"namespace,omitempty"`
	Input     json.RawMessage `json:"input"`
	// RunID is the program's, empty for a direct call.
	RunID      string `json:"runId,omitempty"`
	CallID     string `json:"callId"`
	AgentID    string `json:"agentId,omitempty"`
	SessionID  string `json:"sessionId,omitempty"`
	SessionKey string `json:"sessionKey,omitempty"`
	Sender     string `json:"sender,omitempty"`
	Channel    string `json:"channel,omitempty"`
}

func approvalOf(p *host.PendingApproval) Approval {
	c := p.Call
	return Approval{
		ID: p.ID, Since: p.Since, Tool: c.Tool, Approval: c.Approval, Unsigned: c.Unsigned, Caller: c.Caller, Namespace: c.Namespace, Input: c.Input,
		RunID: c.CellID, CallID: c.ID, AgentID: c.Scope.AgentID, SessionID: c.Scope.SessionID, SessionKey: c.Scope.SessionKey, Sender: c.Scope.Sender, Channel: c.Scope.Channel,
	}
}

// Bounds of the approvals endpoint.
const (
	maxPollSeconds   = 300
	maxDecisionBytes = 1 << 20
)

// approver authenticates a request to /approvals, or answers it.
func (h *httpServer) approver(w http.ResponseWriter, r *http.Request) (name string, ok bool) {
	token := bearer(r)
	if token == "" {
		unauthorized(w, false)
		return "", false
	}
	if name, ok = match(h.approvers, token); ok {
		admit(w)
		return name, true
	}
	if _, client := match(h.clients, token); client {
		http.Error(w, "this is a client's token; approvals have tokens of their own", http.StatusForbidden)
		return "", false
	}
	unauthorized(w, true)
	return "", false
}

// listApprovals answers GET /approvals. With ?wait=seconds it waits while the list is
// the one that If-None-Match names, or empty if there is no such header.
func (h *httpServer) listApprovals(w http.ResponseWriter, r *http.Request) {
	if _, ok := h.approver(w, r); !ok {
		return
	}
	seconds, err := pollSeconds(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), seconds)
	defer cancel()
	seen := r.Header.Get("If-None-Match")
	for {
		changed := h.g.o.Approvals.Changed()
		open := h.g.o.Approvals.Pending()
		tag := listTag(open)
		if seen == "" && len(open) > 0 || seen != "" && seen != tag || ctx.Err() != nil {
			h.writeApprovals(w, open, tag, seen == tag)
			return
		}
		select {
		case <-changed:
		case <-h.g.done:
			busy(w, http.StatusServiceUnavailable, "the server is ending")
			return
		case <-ctx.Done():
		}
	}
}

func pollSeconds(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("wait")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n > maxPollSeconds {
		return 0, fmt.Errorf("wait is a number of seconds from 0 to %d", maxPollSeconds)
	}
	return time.Duration(n) * time.Second, nil
}

// listTag names a list by what is in it.
func listTag(open []host.PendingApproval) string {
	sum := sha256.New()
	for _, p := range open {
		sum.Write([]byte(p.ID + "\n"))
	}
	return `"` + base64.RawURLEncoding.EncodeToString(sum.Sum(nil)[:12]) + `"`
}

func (h *httpServer) writeApprovals(w http.ResponseWriter, open []host.PendingApproval, tag string, same bool) {
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "no-store")
	if same {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	list := ApprovalList{Approvals: []Approval{}}
	for i := range open {
		list.Approvals = append(list.Approvals, approvalOf(&open[i]))
	}
	text, err := json.Marshal(list)
	if err != nil {
		h.g.log.Error("writing the list of approvals", "error", err)
		http.Error(w, "the list could not be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// An approver that is gone asks again.
	_, _ = w.Write(append(text, '\n'))
}

// decideApproval answers POST /approvals/{id} with a host.Decision as JSON. Who
// decided is the token's name, whatever the body says.
func (h *httpServer) decideApproval(w http.ResponseWriter, r *http.Request) {
	name, ok := h.approver(w, r)
	if !ok {
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, "Content-Type must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	text, err := h.g.patience.readBody(w, r, maxDecisionBytes)
	if err != nil {
		http.Error(w, "the decision could not be read, or is too long", http.StatusBadRequest)
		return
	}
	d, err := readDecision(text)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d.By = "http:" + name
	switch err := h.g.o.Approvals.Decide(r.PathValue("id"), *d); {
	case errors.Is(err, host.ErrUnknownApproval):
		http.Error(w, "no such approval is open; it may have been answered", http.StatusNotFound)
	case err != nil:
		h.g.log.Error("answering an approval", "error", err)
		http.Error(w, "the decision could not be taken", http.StatusInternalServerError)
	default:
		h.g.log.Info("approval answered", "approval", r.PathValue("id"), "approved", d.Approved, "by", d.By)
		w.WriteHeader(http.StatusNoContent)
	}
}

// readDecision reads a decision strictly. It must say whether it approves.
func readDecision(text []byte) (*host.Decision, error) {
	var said struct {
		Approved *bool `json:"approved"`
	}
	if err := schema.DecodeInto(text, &said, &schema.DecodeOptions{AllowUnknown: true}); err != nil {
		return nil, fmt.Errorf("the decision is refused: %w", err)
	}
	if said.Approved == nil {
		return nil, errors.New(`the decision is refused: "approved" is missing`)
	}
	var d host.Decision
	if err := schema.DecodeInto(text, &d, nil); err != nil {
		return nil, fmt.Errorf("the decision is refused: %w", err)
	}
	switch d.Extent {
	case "", host.ApproveOnce, host.ApproveRun, host.ApproveSession:
	default:
		return nil, errors.New(`the decision is refused: extent is "once", "run" or "session"`)
	}
	if e := d.Envelope; e != nil && (e.Calls < 1 || e.Calls > host.MaxEnvelopeCalls) {
		return nil, fmt.Errorf("the decision is refused: envelope.calls is 1 to %d", host.MaxEnvelopeCalls)
	}
	return &d, nil
}
