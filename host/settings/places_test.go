package settings

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestDataDir(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("the folders of other systems are fixed by their own rules")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, test := range []struct{ given, own, xdg, want string }{
		{"/given", "/own/data", "/xdg", "/given"},
		{"", "/own/data", "/xdg", "/own/data"},
		{"", "", "/xdg", "/xdg/cloister"},
		{"", "", "", filepath.Join(home, ".local", "share", "cloister")},
		{"", "", "relative", filepath.Join(home, ".local", "share", "cloister")},
	} {
		t.Setenv("CLOISTER_DATA_DIR", test.own)
		t.Setenv("XDG_DATA_HOME", test.xdg)
		p := Places{Data: test.given}
		if got, err := p.DataDir(); err != nil || got != test.want {
			t.Errorf("%+v: %q, %v", test, got, err)
		}
		if got, err := p.StoreDir(); err != nil || got != filepath.Join(test.want, "plugins") {
			t.Errorf("%+v: store %q, %v", test, got, err)
		}
	}
	t.Setenv("CLOISTER_DATA_DIR", "")
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("HOME", "")
	if _, err := (Places{}).DataDir(); !errors.Is(err, ErrNoDataFolder) {
		t.Errorf("without a home: %v", err)
	}
}

func TestCache(t *testing.T) {
	for _, test := range []struct{ given, env, plugins, engine string }{
		{"/c", "/e", "/c/plugins", "/c"},
		{"off", "/e", "", "off"},
		{"", "/e", "/e/plugins", "/e"},
		{"", "off", "", "off"},
	} {
		t.Setenv("CLOISTER_CACHE_DIR", test.env)
		p := Places{Cache: test.given}
		if got := p.PluginCache(); got != test.plugins {
			t.Errorf("%+v: %q", test, got)
		}
		if got := p.EngineCache(); got != test.engine {
			t.Errorf("%+v: engine %q", test, got)
		}
	}
}

// A flag is before the environment, that before the configuration, that before what is
// found.
func TestTrustAndLockFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CLOISTER_DATA_DIR", filepath.Join(dir, "data"))
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("HOME", dir)
	said := &Settings{File: filepath.Join(dir, "c.json5"), Found: true, Plugins: Plugins{Trust: "/said/trust.json", Lock: "/said/x.lock"}}
	for _, test := range []struct {
		name, given, env string
		s                *Settings
		trust            string
		lock             LockFile
	}{
		{"flag", "/given", "/env", said, "/given", LockFile{"/given", true, false}},
		{"environment", "", "/env", said, "/env", LockFile{"/env", true, false}},
		{"configuration", "", "", said, "/said/trust.json", LockFile{"/said/x.lock", true, true}},
		{"nothing", "", "", &Settings{File: said.File}, "", LockFile{filepath.Join(dir, "data", "cloister.lock"), false, false}},
		{"no configuration", "", "", nil, "", LockFile{filepath.Join(dir, "data", "cloister.lock"), false, false}},
	} {
		t.Setenv("CLOISTER_TRUST", test.env)
		t.Setenv("CLOISTER_LOCK", test.env)
		p := Places{Trust: test.given, Lock: test.given}
		got, named, err := p.TrustFile(test.s)
		if want := test.trust != ""; err != nil || named != want || want && got != test.trust || !want && filepath.Base(got) != "trust.json" {
			t.Errorf("%s: trust %q, %v, %v", test.name, got, named, err)
		}
		if got, err := p.LockFile(test.s); err != nil || got != test.lock {
			t.Errorf("%s: lock %+v, %v; want %+v", test.name, got, err, test.lock)
		}
	}
	beside := filepath.Join(dir, "cloister.lock")
	if err := os.WriteFile(beside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, found := range []bool{false, true} {
		s := &Settings{File: said.File, Found: found}
		if got, err := (Places{}).LockFile(s); err != nil || got != (LockFile{beside, true, found}) {
			t.Errorf("beside a configuration, found %v: %+v, %v", found, got, err)
		}
	}
}
