package transpile

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

// workerName is what a worker has for the name of its program, os.Args[0], and
// workerVariable is the environment variable that holds its nonce. Both must
// fit for a process to become a worker.
const (
	workerName     = "cloister-transpile-worker"
	workerVariable = "CLOISTER_TRANSPILE_WORKER"
)

// What a worker exits with.
const (
	exitDone     = 0  // the parent closed its end
	exitMemory   = 90 // the memory guard ended it
	exitProtocol = 91 // the parent is not a Worker, or no longer speaks as one
	exitLimits   = 92 // the limits could not be set
)

// init turns the process into a worker if it was started as one. The package
// doc says why that is safe.
func init() {
	n, ok := workerNonce(os.Args, os.Getenv(workerVariable))
	if !ok {
		return
	}
	os.Clearenv()
	// The main goroutine is bound to its thread during init, which makes every
	// hand-over slow; the work is done in another one.
	done := make(chan int)
	go func() { done <- runWorker(n, os.Stdin, os.Stdout, os.Stderr) }()
	os.Exit(<-done)
}

// workerNonce returns the nonce of a process that was started as a worker.
func workerNonce(args []string, variable string) (n nonce, ok bool) {
	if len(args) != 1 || args[0] != workerName || len(variable) != 2*nonceBytes {
		return n, false
	}
	_, err := hex.Decode(n[:], []byte(variable))
	return n, err == nil
}

// runWorker is a worker's whole life. It returns the exit code.
func runWorker(n nonce, in io.Reader, out, stderr io.Writer) int {
	h, err := receiveHello(n, in)
	if err != nil {
		// Nobody may be there to read it, and the exit code says it too.
		_, _ = fmt.Fprintln(stderr, "transpile: this process was started as a TypeScript worker, but not by a Worker:", err)
		return exitProtocol
	}
	// NB: before the limits, because the first timer of a Go program opens a
	// descriptor.
	guard := newMemoryGuard(h.memory, func() { os.Exit(exitMemory) })
	if err := limitWorker(h.memory); err != nil {
		_, _ = fmt.Fprintln(stderr, "transpile:", err) // as above
		return exitLimits
	}
	if _, err := out.Write(appendFrame(nil, encodeGreeting(n))); err != nil {
		return exitProtocol
	}
	return serve(in, out, h, func(source string) (*Output, error) {
		guard.start()
		defer guard.stop()
		return safely(transformSource, source)
	})
}

// receiveHello takes the parent's hello, which must be for this very process.
func receiveHello(n nonce, in io.Reader) (hello, error) {
	var buf bytes.Buffer
	payload, err := readFrame(in, &buf, helloBytes)
	if err != nil {
		return hello{}, err
	}
	h, err := decodeHello(payload)
	if err == nil && h.nonce != n {
		err = fmt.Errorf("%w: hello with another nonce", errMalformed)
	}
	return h, err
}

// limitWorker sets the limits of the runtime and of the system.
func limitWorker(memory int64) error {
	// The collector works harder from three quarters on; at the limit itself
	// the guard and, where there is one, the kernel end the process.
	debug.SetMemoryLimit(memory / 4 * 3)
	debug.SetMaxStack(int(min(memory/8, 1<<30)))
	// Sources are small and the worker is short of nothing: collect less often.
	debug.SetGCPercent(400)
	return limitProcess(memory)
}

// serve answers requests until the parent closes its end. It returns the exit
// code. The reading goes on while a source is transformed, so that a worker ends
// with its parent even in the midst of a source that never would.
func serve(in io.Reader, out io.Writer, h hello, transform func(string) (*Output, error)) int {
	sources := make(chan string)
	ended := make(chan int, 2)
	stop := make(chan struct{})
	go func() { ended <- readSources(in, h.maxSource, sources, stop) }()
	go func() {
		for {
			select {
			case source := <-sources:
				result, err := transform(source)
				reply := encodeReply(nil, result, err, h.maxOutput)
				if _, err := out.Write(appendFrame(nil, reply)); err != nil {
					ended <- exitProtocol
					return
				}
			case <-stop:
				return
			}
		}
	}()
	defer close(stop)
	return <-ended
}

func readSources(in io.Reader, most int, sources chan<- string, stop <-chan struct{}) int {
	var buf bytes.Buffer
	for {
		payload, err := readFrame(in, &buf, most)
		switch {
		case err == io.EOF:
			return exitDone
		case err != nil:
			return exitProtocol
		}
		source := string(payload)
		trim(&buf)
		select {
		case sources <- source:
		case <-stop:
			return exitDone
		}
	}
}

// safely turns a panic of the transform into ErrInternal. (What ends a worker,
// lack of memory or of stack, no recover catches.)
func safely(transform func(string) (*Output, error), source string) (out *Output, err error) {
	defer func() {
		if recover() != nil {
			out, err = nil, ErrInternal
		}
	}()
	return transform(source)
}
