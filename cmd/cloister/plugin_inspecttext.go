package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// inspectText lays an inspection out. All of the manifest is the plugin's.
func inspectText(s *stream, in *inspection) string {
	var b strings.Builder
	m := in.Manifest
	b.WriteString(s.paint(styleBold, escapeLine(m.ID+" "+m.Version)) + "\n")
	b.WriteString(signatureText(s, &in.Signature))
	for _, line := range wrapText(escapeText(m.Description), min(s.width(), 100)) {
		b.WriteString(line + "\n")
	}
	b.WriteByte('\n')
	for _, row := range [][2]string{
		{"from", in.Name + " (" + in.Place + ")"}, {"digest", in.Digest}, {"license", m.License}, {"homepage", m.Homepage},
		{"size", sizesText(in.Bytes)}, {"certified", certifiedText(m.Certification)},
	} {
		if row[1] != "" {
			fmt.Fprintf(&b, "%-9s %s\n", row[0], escapeLine(row[1]))
		}
	}
	inspectContents(&b, s, m, in.Permitted, in.Members)
	return b.String()
}

// inspectContents writes what a plugin may do and what it brings.
func inspectContents(b *strings.Builder, s *stream, m *plugins.Manifest, permitted []string, members []memberReport) {
	heading(b, s, "Permissions")
	for _, sentence := range permitted {
		bullet(b, s, "- ", sentence)
	}
	heading(b, s, "Tools")
	for i := range m.Tools {
		inspectTool(b, s, &m.Tools[i])
	}
	if len(m.Namespaces) > 0 {
		heading(b, s, "Globals of cells")
	}
	for i := range m.Namespaces {
		inspectNamespace(b, s, &m.Namespaces[i], members)
	}
}

func heading(b *strings.Builder, s *stream, title string) {
	fmt.Fprintf(b, "\n%s\n", s.paint(styleBold, title))
}

// bullet writes a text behind a mark, with further lines under its first.
func bullet(b *strings.Builder, s *stream, mark, text string) {
	for i, line := range wrapText(escapeText(text), min(s.width(), 100)-len(mark)-2) {
		if i > 0 {
			mark = strings.Repeat(" ", len(mark))
		}
		b.WriteString("  " + mark + line + "\n")
	}
}

// signatureText says who signed. What is not verified stands out.
func signatureText(s *stream, r *signatureReport) string {
	loud := func(text string) string { return s.paint(styleRed, escapeLine(text)) + "\n" }
	switch r.State {
	case stateVerified:
		return "signed by " + escapeLine(signerLine(trust.Signer(*r.Signer))) + "\n"
	case string(trust.StateUnsigned):
		return loud("UNSIGNED: nobody vouches for this plugin")
	case stateUnchecked:
		return loud(fmt.Sprintf("NOT VERIFIED: it has %s, and %s", count(r.Count, "signature"), r.Detail))
	}
	return loud(fmt.Sprintf("REFUSED at %s, %s: %s", r.Step, r.State, r.Detail))
}

func sizesText(bytes map[string]int) string {
	var parts []string
	for _, name := range []string{"wasm", "manifest", "readme", "license"} {
		if n := bytes[name]; n > 0 {
			parts = append(parts, name+" "+fileSize(n))
		}
	}
	return strings.Join(parts, ", ")
}

func certifiedText(c *plugins.Certification) string {
	if c == nil {
		return ""
	}
	return strings.TrimSpace("claims the report "+c.Report+" "+c.URL) + ", not checked"
}

// approvalWords say when a person is asked before a call.
var approvalWords = map[plugins.Approval]string{
	"": "approval is the host's choice", plugins.ApprovalNever: "wants no approval",
	plugins.ApprovalAsk: "asks for approval", plugins.ApprovalAlways: "always asks for approval",
}

func inspectTool(b *strings.Builder, s *stream, t *plugins.Tool) {
	name := s.paint(styleBold, escapeLine(t.Name))
	if t.Label != "" {
		name += "  " + escapeLine(t.Label)
	}
	b.WriteString("  " + name + "\n")
	bullet(b, s, "  ", t.Description)
	notes := []string{approvalWords[t.Approval]}
	for _, claim := range []struct {
		is   bool
		text string
	}{
		{t.Annotations.ReadOnly, "claims to be read-only"}, {t.Annotations.Destructive, "is destructive"},
		{t.Annotations.Idempotent, "claims to be idempotent"}, {t.Annotations.OpenWorld, "reaches outside"},
	} {
		if claim.is {
			notes = append(notes, claim.text)
		}
	}
	if t.TimeoutMs > 0 {
		notes = append(notes, "may take "+showMilliseconds(t.TimeoutMs))
	}
	bullet(b, s, "  ", "("+strings.Join(notes, ", ")+")")
	for _, schema := range []struct {
		name string
		text json.RawMessage
	}{{"takes", t.Parameters}, {"gives", t.Returns}} {
		if members, ok := readMembers(schema.text); ok && len(members) > 0 {
			bullet(b, s, "  ", schema.name+" "+memberNames(members))
		}
	}
}

// memberNames lists the members of an object's schema on one line.
func memberNames(members []member) string {
	var names []string
	for _, m := range members {
		if m.depth == 0 {
			names = append(names, m.shown())
		}
	}
	return strings.Join(names, ", ")
}

func inspectNamespace(b *strings.Builder, s *stream, n *plugins.Namespace, members []memberReport) {
	b.WriteString("  " + s.paint(styleBold, escapeLine(n.GlobalName)) + "  " + escapeLine(n.ID) + "\n")
	bullet(b, s, "  ", n.Description)
	if n.ScopeExport {
		bullet(b, s, "  ", "(its members are computed by the plugin, for each run)")
	}
	for _, m := range members {
		if m.Namespace == n.ID {
			bullet(b, s, "  ", m.call()+" calls "+m.Tool)
		}
	}
	if n.Prompt != "" {
		bullet(b, s, "  ", "tells the model:")
		bullet(b, s, "    ", n.Prompt)
	}
}
