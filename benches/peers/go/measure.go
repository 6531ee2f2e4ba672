package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// tally is what the peer did, as the driver checks it.
type tally struct {
	records, bytes, sum, decode, refused, retries, disorder int64
}

func (t *tally) add(other tally) {
	t.records += other.records
	t.bytes += other.bytes
	t.sum += other.sum
	t.decode += other.decode
	t.refused += other.refused
	t.retries += other.retries
	t.disorder += other.disorder
}

// stopwatch takes wall and CPU time from the first poll on.
type stopwatch struct {
	start time.Time
	cpu   float64
}

func startStopwatch() stopwatch { return stopwatch{time.Now(), cpuSeconds()} }

// finish prints the line that the driver reads: times in seconds, the peak of resident memory in KiB.
func (s stopwatch) finish(t tally) {
	wall := time.Since(s.start).Seconds()
	whole := cpuSeconds()
	fmt.Printf("RESULT wall=%.6f cpu=%.6f cpu_whole=%.6f rss=%s records=%d bytes=%d sum=%d decode=%d refused=%d retries=%d disorder=%d\n",
		wall, whole-s.cpu, whole, peakKiB(), t.records, t.bytes, t.sum, t.decode, t.refused, t.retries, t.disorder)
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// peakKiB reads /proc rather than ru_maxrss, which a process inherits from the one that started it.
func peakKiB() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "0"
	}
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			return strings.Fields(rest)[0]
		}
	}
	return "0"
}
