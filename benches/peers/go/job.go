// The same jobs in franz-go. Built and run by ../run: peer-go FORM JOB key=value...
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// How many partitions every topic has.
const partitions = 4

// job is what the peer is asked to do, from the command line.
type job struct {
	form, name                    string
	bootstrap, topic, group, dead string
	records                       int64
}

func readJob() (job, error) {
	if len(os.Args) < 3 {
		return job{}, fmt.Errorf("usage: peer-go FORM JOB key=value...; see benches/peers/run")
	}
	pairs := map[string]string{}
	for _, word := range os.Args[3:] {
		key, value, found := strings.Cut(word, "=")
		if !found {
			return job{}, fmt.Errorf("argument %q is not key=value", word)
		}
		pairs[key] = value
	}
	records, err := strconv.ParseInt(pairs["records"], 10, 64)
	if err != nil {
		return job{}, fmt.Errorf("argument records: %w", err)
	}
	return job{
		form: os.Args[1], name: os.Args[2],
		bootstrap: pairs["bootstrap"], topic: pairs["topic"], group: pairs["group"], dead: pairs["dead"],
		records: records,
	}, nil
}

func (j job) perPartition() int64 { return j.records / partitions }
