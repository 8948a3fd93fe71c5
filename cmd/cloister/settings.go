package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	cedar "github.com/cloister-wasm/cloister/host/policy"
	"github.com/cloister-wasm/cloister/host/settings"
	"github.com/cloister-wasm/cloister/host/setup"
	"github.com/cloister-wasm/cloister/plugins"
	"github.com/cloister-wasm/cloister/plugins/trust"
)

// loadConfig reads the configuration file that --config names, or the one that applies
// without it, and the user's own list of MCP servers.
func loadConfig(file string) (*settings.Settings, error) {
	return loadSettings(&settings.Options{File: file})
}

func loadSettings(o *settings.Options) (*settings.Settings, error) {
	s, err := settings.Load(o)
	return s, settingsFault(o.File, err)
}

// settingsFault gives an error of package settings its exit code, and says how to mend
// it. file is what --config says.
func settingsFault(file string, err error) error {
	var list *settings.ServerListError
	var wrong *settings.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &list):
		return usageError(err, "cloister mcp add writes this file; mend it, or move it away")
	case errors.Is(err, settings.ErrNoDataFolder), errors.Is(err, settings.ErrNoConfigFolder):
		return placeFault(err)
	case errors.Is(err, settings.ErrRead):
		hint := "--config names the file"
		if file == "" && os.Getenv(settings.FileVariable) != "" {
			hint = "the variable CLOISTER_CONFIG names the file"
		}
		return usageError(err, hint)
	case errors.As(err, &wrong):
		return configFault(wrong)
	}
	return usageError(err, "")
}

// configFault lists what is wrong with a configuration file, and says by which flag
// somebody names one.
func configFault(wrong *settings.Error) error {
	hint := ""
	if errors.Is(wrong, settings.ErrFound) {
		hint = "name the file with --config or CLOISTER_CONFIG if you trust whoever wrote it"
		for i := range wrong.Faults {
			wrong.Faults[i].Message = strings.Replace(wrong.Faults[i].Message, settings.NamedFile, "a file that --config or CLOISTER_CONFIG names", 1)
		}
	}
	if n := len(wrong.Faults); n > 1 {
		return usageError(fmt.Errorf("the configuration has %d faults\n%w", n, wrong), hint)
	}
	return usageError(wrong, hint)
}

// placeFault says how to name a folder that the system does not.
func placeFault(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, settings.ErrNoConfigFolder):
		return usageError(err, "name one with --trust FILE or CLOISTER_TRUST")
	}
	return usageError(err, "set CLOISTER_DATA_DIR to a folder")
}

// policySet reads the policies that the configuration names; nil if it names none.
func policySet(s *settings.Settings) (*cedar.Set, error) {
	set, err := s.PolicySet()
	return set, policyFault(err)
}

func loadPolicyFiles(files []string) (*cedar.Set, error) {
	set, err := cedar.Load(files...)
	return set, policyFault(err)
}

// policyFault gives an error about policies its exit code.
func policyFault(err error) error {
	var pe *cedar.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, settings.ErrFound):
		return usageError(err, "name the configuration with --config or CLOISTER_CONFIG if you trust whoever wrote it")
	case errors.As(err, &pe) && len(pe.Faults) > 1:
		err = fmt.Errorf("the policies have %d faults\n%w", len(pe.Faults), err)
	}
	return usageError(err, "")
}

// serverFileOf gives the file that changes of MCP servers go into.
func serverFileOf(flag string) (settings.ServerFile, error) {
	f, err := settings.Places{}.ServerFile(flag)
	return f, placeFault(err)
}

// serverFileFault gives an error of a change its exit code.
func serverFileFault(err error) error {
	var we *settings.WriteError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &we) && we.Busy:
		return &exitError{code: exitFailed, err: err, hint: "another cloister is changing it; try again"}
	case errors.As(err, &we):
		return &exitError{code: exitInternal, err: err}
	}
	return usageError(err, "")
}

// The places of this user's files, with their faults as those of a command.

func dataDir() (string, error) {
	dir, err := settings.Places{}.DataDir()
	return dir, placeFault(err)
}

// storeDir is the folder of installed plugins.
func storeDir() (string, error) {
	dir, err := settings.Places{}.StoreDir()
	return dir, placeFault(err)
}

// dataLockPath is the lock file of what is installed.
func dataLockPath() (string, error) {
	path, err := settings.Places{}.InstalledLock()
	return path, placeFault(err)
}

// trustPath is the file of the trust policy: that of the flag, else of
// CLOISTER_TRUST, else trust.json in this user's configuration. named says that
// somebody asked for this very file.
func trustPath(flag string) (path string, named bool, err error) {
	path, named, err = settings.Places{Trust: flag}.TrustFile(nil)
	return path, named, placeFault(err)
}

// pluginCache is where plugins' compiled code is kept: beside the engine's.
func pluginCache() string { return settings.Places{}.PluginCache() }

// setupFault gives an error of package setup its exit code, and says how to mend it.
func setupFault(ctx context.Context, err error) error {
	var se *setup.Error
	if !errors.As(err, &se) {
		return hostError(err)
	}
	switch se.Step {
	case setup.StepSettings:
		return settingsFault("", err)
	case setup.StepPolicies:
		return policyFault(err)
	case setup.StepLock:
		return lockFault(err)
	case setup.StepInstalled:
		return installedFault(ctx, err)
	case setup.StepFolders:
		return foldersFault(err)
	case setup.StepHost, setup.StepGateway:
		return hostError(err)
	}
	return serverFault(err)
}

// installedFault is about the store of plugins and the trust policy.
func installedFault(ctx context.Context, err error) error {
	if errors.Is(err, settings.ErrNoDataFolder) || errors.Is(err, settings.ErrNoConfigFolder) {
		return placeFault(err)
	}
	var ee *exitError
	if err = operatorFault(ctx, err); errors.As(err, &ee) && errors.Is(err, trust.ErrNoPolicy) {
		ee.hint += "; --no-installed leaves installed plugins out"
	}
	return err
}

// foldersFault is about plugins of folders.
func foldersFault(err error) error {
	var unsigned *setup.UnsignedError
	var folders *setup.FoldersError
	var conflict *plugins.ConflictError
	switch {
	case errors.As(err, &unsigned):
		return usageError(err, "if you trust them, add --allow-unsigned-unsafe, or set plugins.allowUnsignedUnsafe: true in a file that --config names")
	case errors.As(err, &folders):
		var errs []error
		for _, one := range folders.Errs {
			errs = append(errs, withProblems(one))
		}
		return usageError(errors.Join(errs...), "")
	case errors.As(err, &conflict) && !conflict.Owner.Unsigned():
		return usageError(err, "--no-installed leaves the installed plugins out, cloister plugin disable "+conflict.Owner.ID()+" that one")
	}
	return usageError(err, "")
}

// lockFault is about the lock file.
func lockFault(err error) error {
	var missing *setup.LockMissingError
	switch {
	case errors.As(err, &missing):
		return usageError(err, "cloister lock accept --file "+missing.Path+" makes it")
	case errors.Is(err, settings.ErrNoDataFolder):
		return placeFault(err)
	}
	return usageError(err, "")
}

// serverFault is about MCP servers and their names.
func serverFault(err error) error {
	var se *settings.ServerError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, settings.ErrNoDataFolder):
		return placeFault(err)
	case errors.As(err, &se) && se.Disabled:
		return usageError(err, "cloister mcp enable "+se.Name)
	case errors.As(err, &se):
		return usageError(err, "cloister mcp list shows them, cloister mcp add adds one")
	}
	return usageError(err, "")
}
