package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// watch samples what the serving process uses, where the system tells (/proc).
type watch struct {
	pid   int
	begin time.Time
	end   chan struct{}
	done  sync.WaitGroup

	// Samples are MiB resident, threads and open files, one after the other.
	rss, threads, files []int
	at                  []time.Duration
}

// sampleTime is between two samples.
const sampleTime = 250 * time.Millisecond

func watchProcess(pid int) *watch {
	w := &watch{pid: pid, begin: time.Now(), end: make(chan struct{})}
	w.done.Go(func() {
		tick := time.NewTicker(sampleTime)
		defer tick.Stop()
		for w.sample() {
			select {
			case <-tick.C:
			case <-w.end:
				w.sample() // what is left when all is over
				return
			}
		}
	})
	return w
}

// sample takes one sample. It says whether there is such a thing.
func (w *watch) sample() bool {
	dir := "/proc/" + strconv.Itoa(w.pid)
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return false
	}
	files, err := os.ReadDir(dir + "/fd")
	if err != nil {
		return false
	}
	var kib, threads int
	for line := range strings.SplitSeq(string(status), "\n") {
		name, value, _ := strings.Cut(line, ":")
		number := 0
		// What is no number stays 0 and is seen in the report.
		_, _ = fmt.Sscan(value, &number)
		switch name {
		case "VmRSS":
			kib = number
		case "Threads":
			threads = number
		}
	}
	w.rss, w.threads, w.files = append(w.rss, kib>>10), append(w.threads, threads), append(w.files, len(files))
	w.at = append(w.at, time.Since(w.begin))
	return true
}

func (w *watch) stop() {
	close(w.end)
	w.done.Wait()
}

// quarter gives the samples of a quarter of the time under load.
func (w *watch) quarter(list []int, n int, duration time.Duration) []int {
	from, to := duration*time.Duration(n-1)/4, duration*time.Duration(n)/4
	var out []int
	for i, at := range w.at {
		if at >= from && at < to {
			out = append(out, list[i])
		}
	}
	return out
}

// median gives 0 for nothing.
func median(list []int) int {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

// check holds the process to its bounds.
func (w *watch) check(rep *report, o settings) {
	if len(w.rss) == 0 {
		rep.set("samples of the process (no /proc here)", 0)
		return
	}
	rss3, rss4 := median(w.quarter(w.rss, 3, o.duration)), median(w.quarter(w.rss, 4, o.duration))
	files3, files4 := median(w.quarter(w.files, 3, o.duration)), median(w.quarter(w.files, 4, o.duration))
	rep.set("MiB resident, most", slices.Max(w.rss))
	rep.set("MiB resident, median of the third quarter", rss3)
	rep.set("MiB resident, median of the fourth quarter", rss4)
	rep.set("MiB resident, when all sessions were gone", w.rss[len(w.rss)-1])
	rep.set("threads, most", slices.Max(w.threads))
	rep.set("open files, median of the fourth quarter", files4)
	rep.set("open files, when all sessions were gone", w.files[len(w.files)-1])
	if most := slices.Max(w.rss); most > o.maxRSS {
		rep.fault("the process had %d MiB resident, more than %d", most, o.maxRSS)
	}
	// The collector's rhythm makes some tens of MiB of difference.
	if rss4 > rss3+rss3/8+32 {
		rep.fault("memory grows: %d MiB in the third quarter, %d MiB in the fourth", rss3, rss4)
	}
	if files4 > files3+files3/4+32 {
		rep.fault("open files grow: %d in the third quarter, %d in the fourth", files3, files4)
	}
	if left := w.files[len(w.files)-1]; left > w.files[0]+16 {
		rep.fault("%d files are open when all sessions are gone, %d were at the start", left, w.files[0])
	}
}
