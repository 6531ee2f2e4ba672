package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// How many fetched batches of a partition may wait for its goroutine.
const backlog = 8

// worker processes the records of one partition in order.
type worker struct {
	job      job
	client   *kgo.Client
	batches  chan []*kgo.Record
	position atomic.Int64 // the offset below which all is handled or acknowledged
	ledger   ledger
	tally    tally
	err      error
}

// orders is the loop that a service would have: a goroutine per partition, dead letters acknowledged before the
// offsets of their records are committed, commits once a second and at the end.
func orders(ctx context.Context, j job) error {
	// Idempotent and acks=all by default; dead letters keep their record's partition, uncompressed as in the other peers.
	client, err := newConsumer(ctx, j,
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	var workers [partitions]*worker
	for partition := range workers {
		workers[partition] = &worker{job: j, client: client, batches: make(chan []*kgo.Record, backlog)}
	}
	watch := startStopwatch()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	for _, w := range workers {
		running.Go(func() {
			if w.err = w.run(ctx); w.err != nil {
				cancel()
			}
		})
	}
	committing := make(chan error, 1)
	done := make(chan struct{})
	go func() { committing <- commitLoop(ctx, admin, j, workers[:], done) }()

	for seen := int64(0); seen < j.records; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("polling: %w", errors.Join(err, failed(workers[:])))
		}
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if len(p.Records) == 0 {
				return
			}
			seen += int64(len(p.Records))
			select {
			case workers[p.Partition].batches <- p.Records:
			case <-ctx.Done():
			}
		})
	}
	for _, w := range workers {
		close(w.batches)
	}
	running.Wait()
	close(done)
	if err := errors.Join(failed(workers[:]), <-committing); err != nil {
		return err
	}
	if err := commit(ctx, admin, j, workers[:]); err != nil {
		return err
	}
	var t tally
	for _, w := range workers {
		w.tally.sum, w.tally.disorder = w.ledger.sum, w.ledger.disorder
		t.add(w.tally)
	}
	watch.finish(t)
	return nil
}

func failed(workers []*worker) error {
	var all error
	for _, w := range workers {
		all = errors.Join(all, w.err)
	}
	return all
}

// run processes batches; the position moves past one when its dead letters are acknowledged. Those of a batch are on
// their way together.
func (w *worker) run(ctx context.Context) error {
	for batch := range w.batches {
		var dead sync.WaitGroup
		var refused atomic.Pointer[error]
		for _, record := range batch {
			attempts, err := w.process(record)
			if err == nil {
				continue
			}
			dead.Add(1)
			w.client.Produce(ctx, deadLetter(w.job, record, attempts, err), func(_ *kgo.Record, err error) {
				if err != nil {
					refused.Store(&err)
				}
				dead.Done()
			})
		}
		dead.Wait()
		if err := refused.Load(); err != nil {
			return fmt.Errorf("dead letter not acknowledged: %w", *err)
		}
		w.position.Store(batch[len(batch)-1].Offset + 1)
	}
	return nil
}

// process handles one record; an error is final.
func (w *worker) process(record *kgo.Record) (attempts int, err error) {
	w.tally.records++
	var o order
	if err := json.Unmarshal(record.Value, &o); err != nil {
		w.tally.decode++
		return 1, err
	}
	for attempt := 1; ; attempt++ {
		err := w.ledger.handle(&o, attempt)
		if !errors.Is(err, errBusy) {
			if err != nil {
				w.tally.refused++
			}
			return attempt, err
		}
		w.tally.retries++
		time.Sleep(10 * time.Millisecond)
	}
}

func deadLetter(j job, record *kgo.Record, attempts int, err error) *kgo.Record {
	headers := make([]kgo.RecordHeader, 0, len(record.Headers)+6)
	headers = append(headers, record.Headers...)
	text := func(key, value string) {
		headers = append(headers, kgo.RecordHeader{Key: key, Value: []byte(value)})
	}
	text("__dlq.errors.topic", record.Topic)
	text("__dlq.errors.partition", strconv.Itoa(int(record.Partition)))
	text("__dlq.errors.offset", strconv.FormatInt(record.Offset, 10))
	text("__dlq.errors.group", j.group)
	text("__dlq.errors.delivery.count", strconv.Itoa(attempts))
	text("__dlq.errors.message", err.Error())
	return &kgo.Record{
		Topic: j.dead, Partition: record.Partition,
		Key: record.Key, Value: record.Value, Headers: headers,
	}
}

func commitLoop(ctx context.Context, admin *kadm.Client, j job, workers []*worker, done <-chan struct{}) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			if err := commit(ctx, admin, j, workers); err != nil {
				return err
			}
		}
	}
}

func commit(ctx context.Context, admin *kadm.Client, j job, workers []*worker) error {
	var offsets kadm.Offsets
	for partition, w := range workers {
		offsets.AddOffset(j.topic, int32(partition), w.position.Load(), -1)
	}
	if err := admin.CommitAllOffsets(ctx, j.group, offsets); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	return nil
}
