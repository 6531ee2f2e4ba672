package main

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// newConsumer makes a client that reads all partitions of the topic from their beginning.
func newConsumer(ctx context.Context, j job, options ...kgo.Opt) (*kgo.Client, error) {
	offsets := map[int32]kgo.Offset{}
	for partition := range int32(partitions) {
		offsets[partition] = kgo.NewOffset().AtStart()
	}
	options = append(options,
		kgo.SeedBrokers(j.bootstrap),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{j.topic: offsets}),
	)
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	return client, client.Ping(ctx) // connects
}

func consume(ctx context.Context, j job) error {
	client, err := newConsumer(ctx, j)
	if err != nil {
		return err
	}
	defer client.Close()
	watch := startStopwatch()
	var t tally
	for t.records < j.records {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("polling: %w", err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			t.records++
			t.bytes += int64(len(r.Value))
		})
	}
	watch.finish(t)
	return nil
}
