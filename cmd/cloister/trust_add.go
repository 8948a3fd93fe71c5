package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cloister-wasm/cloister/internal/safefile"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

const trustAddLong = `Adds a publisher, or a signer or more to own to one that is there. A publisher has
a public key, or an identity that a sigstore CA issues certificates for (--issuer and
--subject, which match exactly, and --trusted-root).

What it owns: --id is the id of a plugin or a prefix that ends in "." or "-"; --tool
is the name of a tool, a prefix that ends in "_" or "-", or "*" for all names;
--global is the name of a global of cells. Two publishers never own the same.

The policy is made if it is not there.`

type trustAddFlags struct {
	trust, key, comment, issuer, subject, root string
	owns                                       trust.Ownership
}

func (a *app) trustAdd() *cobra.Command {
	f := &trustAddFlags{}
	cmd := &cobra.Command{
		Use:   "add PUBLISHER",
		Short: "Trust a publisher",
		Long:  trustAddLong,
		Example: `  cloister trust add acme --key acme.pub --id acme. --tool 'acme_' --global Issues
  cloister trust add acme --key next.pub        # a second key
  cloister trust add corp --trusted-root root.json --id corp. --tool 'corp_' \
      --issuer https://token.actions.githubusercontent.com \
      --subject https://github.com/corp/plugins/.github/workflows/release.yml@refs/heads/main`,
		Args: exactly(1, "trust add takes one PUBLISHER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return operatorFault(cmd.Context(), a.addTrust(f, args[0]))
		},
		ValidArgsFunction: completePublishers(&f.trust),
	}
	fs := cmd.Flags()
	trustFlag(cmd, &f.trust)
	fs.StringVar(&f.key, "key", "", "public key `FILE`")
	fs.StringVar(&f.comment, "comment", "", "a `TEXT` about the key, for people")
	fs.StringVar(&f.issuer, "issuer", "", "`URL` of the issuer of a keyless identity")
	fs.StringVar(&f.subject, "subject", "", "`SAN` of a keyless identity: an address, or the URI of a workflow with its ref")
	fs.StringVar(&f.root, "trusted-root", "", "sigstore trusted root `FILE`, which identities need")
	fs.StringArrayVar(&f.owns.IDs, "id", nil, "`PREFIX` of plugin ids that it owns; repeatable")
	fs.StringArrayVar(&f.owns.Tools, "tool", nil, "`PREFIX` of tool names that it owns; repeatable")
	fs.StringArrayVar(&f.owns.Globals, "global", nil, "`NAME` of a global that it owns; repeatable")
	mustComplete(cmd.MarkFlagFilename("key", "pub"))
	mustComplete(cmd.MarkFlagFilename("trusted-root", "json"))
	return cmd
}

func (a *app) addTrust(f *trustAddFlags, name string) (err error) {
	if (f.issuer == "") != (f.subject == "") {
		return usageError(errors.New("an identity needs both --issuer and --subject"), "")
	}
	unlock, err := lockPolicy(f.trust)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	p, path, err := readPolicy(f.trust)
	if errors.Is(err, trust.ErrNoPolicy) {
		p, err = &trust.Policy{}, nil
	}
	if err != nil {
		return err
	}
	if f.root != "" {
		if p.TrustedRoot, err = safefile.ReadTrusted(f.root, trust.MaxPolicyBytes); err != nil {
			return usageError(fmt.Errorf("--trusted-root: %w", err), "")
		}
	}
	pub := trust.Publisher{Name: name, Owns: f.owns}
	if f.key != "" {
		text, err := readPublicKey(f.key)
		if err != nil {
			return err
		}
		pub.Keys = []trust.Key{{PublicKey: text, Comment: f.comment}}
	}
	if f.issuer != "" {
		pub.Identities = []trust.Identity{{Issuer: f.issuer, Subject: f.subject}}
	}
	if err := addPublisher(p, pub); err != nil {
		return err
	}
	if err := savePolicy(p, path); err != nil {
		return err
	}
	return a.write(policyText(a.stdout, &trust.Policy{Publishers: p.Publishers[publisherIndex(p, name) : publisherIndex(p, name)+1]}, path))
}

// publisherIndex finds a publisher, or gives -1.
func publisherIndex(p *trust.Policy, name string) int {
	return slices.IndexFunc(p.Publishers, func(pub trust.Publisher) bool { return pub.Name == name })
}

// addPublisher adds a publisher, or what is new to the one of that name.
func addPublisher(p *trust.Policy, add trust.Publisher) error {
	at := publisherIndex(p, add.Name)
	if at < 0 {
		if len(add.Keys)+len(add.Identities) == 0 {
			return usageError(fmt.Errorf("%s is not in the policy yet, and needs a signer", add.Name), "--key FILE.pub, or --issuer and --subject")
		}
		if len(add.Owns.IDs) == 0 || len(add.Owns.Tools) == 0 {
			return usageError(fmt.Errorf("%s would own nothing that a plugin needs: an id and tools", add.Name),
				fmt.Sprintf("such as --id %s. --tool '%s_'; --tool '*' owns all names", add.Name, strings.ReplaceAll(add.Name, ".", "_")))
		}
		return p.AddPublisher(add)
	}
	pub := &p.Publishers[at]
	for _, list := range []struct{ to, from *[]string }{{&pub.Owns.IDs, &add.Owns.IDs}, {&pub.Owns.Tools, &add.Owns.Tools}, {&pub.Owns.Globals, &add.Owns.Globals}} {
		for _, name := range *list.from {
			if !slices.Contains(*list.to, name) {
				*list.to = append(*list.to, name)
			}
		}
	}
	for _, k := range add.Keys {
		if err := p.AddKey(add.Name, k); err != nil {
			return err
		}
	}
	for _, id := range add.Identities {
		if err := p.AddIdentity(add.Name, id); err != nil {
			return err
		}
	}
	return nil
}
