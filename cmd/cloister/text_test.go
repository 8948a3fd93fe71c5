package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/cloister-wasm/cloister/host"
	"github.com/cloister-wasm/cloister/host/gateway"
	"github.com/cloister-wasm/cloister/internal/plaintext/plaintexttest"
)

func TestTextsOfStrangers(t *testing.T) {
	out := terminal(&bytes.Buffer{}, 80, false)
	for name, show := range map[string]func(string) string{
		"tool": func(s string) string {
			return waitingText(out, &waitingCall{Approval: gateway.Approval{Tool: s}}, time.Time{})
		},
		"sender": func(s string) string {
			return waitingText(out, &waitingCall{Approval: gateway.Approval{Tool: "t", Sender: s}}, time.Time{})
		},
		"question": func(s string) string { return question(out, &host.ToolCall{Tool: s}) },
	} {
		t.Run(name, func(t *testing.T) { plaintexttest.Show(t, show) })
	}
	t.Run("arguments", func(t *testing.T) {
		plaintexttest.JSON(t, func(input json.RawMessage) string {
			return waitingText(out, &waitingCall{Approval: gateway.Approval{Tool: "t", Input: input}}, time.Time{})
		})
		plaintexttest.JSON(t, func(input json.RawMessage) string { return question(out, &host.ToolCall{Tool: "t", Input: input}) })
	})
}
