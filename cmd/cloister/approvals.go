package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/gateway"
)

const approvalsLong = `Shows the calls that wait for approval in every running "cloister serve" of this user,
and answers them. Without a command it watches at a terminal, and lists elsewhere.

--url and --token-file name another one: the token is what its --approvals-token-file
says, and is sent to https and to this machine only.

A call is approved for itself alone, for all calls of its tool by the same program (run),
or in the same session. --calls N approves at most N calls of the tool with the same
input by the same program. A tool whose approval is "always" asks every time.

Exit codes:
  0    done
  1    nothing of that id waits, or nothing can be reached
  2    the command line is wrong
  6    Cloister itself failed
  130  interrupted with Ctrl-C (143: by SIGTERM)`

// approvalsFlags say which servers are asked.
type approvalsFlags struct {
	url, tokenFile string
	json           bool
}

func (f *approvalsFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.url, "url", "", "`URL` of approvals, such as http://127.0.0.1:7420/approvals (default: of all that run)")
	fs.StringVar(&f.tokenFile, "token-file", "", "`FILE` of the token for --url (default: the one in the data folder)")
	mustComplete(cmd.MarkFlagFilename("token-file"))
	jsonFlag(cmd, &f.json)
}

func (a *app) approvalsCommand() *cobra.Command {
	f := &approvalsFlags{}
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "Answer calls that wait for approval",
		Long:  approvalsLong,
		Example: `  cloister approvals
  cloister approvals list --json
  cloister approvals approve approval_k3… --for run`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.interactive() && !f.json {
				return a.watchApprovals(cmd.Context(), f)
			}
			return a.listApprovals(cmd.Context(), f)
		},
	}
	f.register(cmd)
	cmd.AddCommand(a.approvalsList(), a.approvalsWatch(), a.approvalsDecide(true), a.approvalsDecide(false))
	return cmd
}

func (a *app) approvalsList() *cobra.Command {
	f := &approvalsFlags{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the calls that wait for approval",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.listApprovals(cmd.Context(), f) },
	}
	f.register(cmd)
	return cmd
}

// waitingCall is a call that waits, with the server that it waits in.
type waitingCall struct {
	gateway.Approval
	// Server is the address of its approvals.
	Server string `json:"server"`
	from   *approvalsServer
}

// waiting asks all servers. Those that cannot be reached are named on standard error;
// if none can, that is the error.
func (a *app) waiting(ctx context.Context, f *approvalsFlags) ([]waitingCall, error) {
	servers, err := f.servers()
	if err != nil {
		return nil, err
	}
	list := []waitingCall{}
	var errs []error
	for _, s := range servers {
		calls, _, err := s.list(ctx, "", 0)
		if ctx.Err() != nil {
			return nil, errInterrupted
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, c := range calls {
			list = append(list, waitingCall{c, s.url, s})
		}
	}
	if len(servers) == 0 {
		return nil, errNothingServes
	}
	if len(errs) == len(servers) {
		return nil, &exitError{code: exitFailed, err: errors.Join(errs...)}
	}
	for _, err := range errs {
		a.complain("note: "+err.Error(), "")
	}
	slices.SortStableFunc(list, func(x, y waitingCall) int { return x.Since.Compare(y.Since) })
	return list, nil
}

var errNothingServes error = &exitError{
	code: exitFailed, err: errors.New("no cloister serve of this user takes approvals now"),
	hint: "--url and --token-file name one of elsewhere",
}

func (a *app) listApprovals(ctx context.Context, f *approvalsFlags) error {
	list, err := a.waiting(ctx, f)
	if err != nil {
		return err
	}
	if f.json {
		return a.printJSON(map[string]any{"approvals": list})
	}
	if len(list) == 0 {
		return a.write("nothing waits for approval\n")
	}
	var b strings.Builder
	for i := range list {
		b.WriteString(waitingText(a.stdout, &list[i], time.Now()))
	}
	return a.write(b.String())
}

func (a *app) approvalsDecide(approve bool) *cobra.Command {
	f, o := &approvalsFlags{}, decideFlags{approve: approve}
	word, short := "refuse", "Refuse a call that waits"
	if approve {
		word, short = "approve", "Approve a call that waits"
	}
	cmd := &cobra.Command{
		Use:   word + " ID",
		Short: short,
		Long:  short + ". ID may be cut short, as long as it means one call.",
		Args:  exactlyOne("approvals "+word, "ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.decide(cmd.Context(), f, o, args[0])
		},
		ValidArgsFunction: a.completeApprovals(f),
	}
	f.register(cmd)
	fs := cmd.Flags()
	if approve {
		fs.StringVar(&o.extent, "for", "once", "`WHAT` is approved: once, run or session")
		fs.IntVar(&o.calls, "calls", 0, "approve at most `N` calls of the tool with the same input, by the same program")
		mustComplete(cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions([]string{"once", "run", "session"}, cobra.ShellCompDirectiveNoFileComp)))
	} else {
		fs.StringVar(&o.reason, "reason", "", "a `TEXT` that the program is told")
	}
	return cmd
}

// decideFlags are the answer.
type decideFlags struct {
	approve        bool
	extent, reason string
	calls          int
}

func (o *decideFlags) decision() (*host.Decision, error) {
	d := &host.Decision{Approved: o.approve, Reason: o.reason}
	if !o.approve {
		return d, nil
	}
	switch d.Extent = host.Extent(o.extent); d.Extent {
	case host.ApproveOnce, host.ApproveRun, host.ApproveSession:
	default:
		return nil, errors.New("--for must be once, run or session")
	}
	if o.calls != 0 {
		if o.calls < 1 || o.calls > host.MaxEnvelopeCalls {
			return nil, fmt.Errorf("--calls must be 1 to %d", host.MaxEnvelopeCalls)
		}
		if d.Extent != host.ApproveOnce {
			return nil, errors.New("--calls and --for say two things")
		}
		d.Envelope = &host.Envelope{Calls: o.calls}
	}
	return d, nil
}

func (a *app) decide(ctx context.Context, f *approvalsFlags, o decideFlags, id string) error {
	d, err := o.decision()
	if err != nil {
		return usageError(err, "")
	}
	list, err := a.waiting(ctx, f)
	if err != nil {
		return err
	}
	var meant []*waitingCall
	for i := range list {
		if list[i].ID == id {
			meant = []*waitingCall{&list[i]}
			break
		}
		if strings.HasPrefix(list[i].ID, id) && len(id) > len("approval_") {
			meant = append(meant, &list[i])
		}
	}
	switch {
	case len(meant) == 0:
		return &exitError{code: exitFailed, err: fmt.Errorf("no call waits for approval under %q", cutText(id)), hint: "cloister approvals list shows those that wait"}
	case len(meant) > 1:
		return &exitError{code: exitFailed, err: fmt.Errorf("%d calls begin with %q", len(meant), cutText(id)), hint: "write more of the id"}
	}
	if err := meant[0].from.decide(ctx, meant[0].ID, d); err != nil {
		return interruptedElse(ctx, err)
	}
	if f.json {
		return a.printJSON(map[string]any{"id": meant[0].ID, "tool": meant[0].Tool, "decision": d})
	}
	word := "refused"
	if o.approve {
		word = "approved"
	}
	return a.write(word + " " + escapeLine(meant[0].Tool) + "\n")
}

// interruptedElse gives an error its exit code.
func interruptedElse(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	return &exitError{code: exitFailed, err: err}
}

// completeApprovals offers the ids of the calls that wait.
func (a *app) completeApprovals(f *approvalsFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		servers, err := f.servers()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), 2*time.Second)
		defer cancel()
		var out []cobra.Completion
		for _, s := range servers {
			calls, _, err := s.list(ctx, "", 0)
			if err != nil {
				continue // a completion is no place for errors
			}
			for _, c := range calls {
				out = append(out, cobra.CompletionWithDesc(escapeLine(c.ID), escapeLine(c.Tool)))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
