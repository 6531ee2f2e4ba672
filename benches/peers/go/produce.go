package main

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
)

// sample holds headers as a dead letter of Bezoar's carries them beside its offset; the same as in the Rust peers.
var sample = [][2]string{
	{"__dlq.errors.topic", "peers-storm"},
	{"__dlq.errors.partition", "2"},
	{"__dlq.errors.group", "peers-storm-bezoar-1"},
	{"__dlq.errors.delivery.count", "1"},
	{"__dlq.errors.message", "amount -12345 is negative"},
	{"bezoar.id", "f7c8e5b8af658283"},
	{"bezoar.category", "validation"},
	{"bezoar.error.type", "OrderError"},
	{"bezoar.error.backtrace", "amount -12345 is negative"},
	{"bezoar.source.timestamp", "2026-11-29T20:48:47.123Z"},
	{"bezoar.source.topic.id", "4bf92f35-77b3-4da6-a3ce-929d0e0e4736"},
	{"bezoar.first-failed-at", "2026-11-29T20:48:47.123Z"},
	{"bezoar.last-failed-at", "2026-11-29T20:48:47.123Z"},
	{"bezoar.consumer.id", "peers-storm-bezoar-1@host:12345"},
	{"bezoar.consumer.version", "1.0.0"},
	{"bezoar.fingerprint", "0123456789abcdef"},
}

// produce sends orders; with the headers of a dead letter on top where dead.
func produce(ctx context.Context, j job, dead bool) error {
	// Idempotent and acks=all by default. No compression, as in the other peers.
	client, err := kgo.NewClient(
		kgo.SeedBrokers(j.bootstrap),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	watch := startStopwatch()
	var acknowledged, failed atomic.Int64
	var t tally
	for index := range j.records {
		value := orderValue(index)
		t.bytes += int64(len(value))
		headers := make([]kgo.RecordHeader, 0, 2+len(sample)+1)
		headers = append(headers,
			kgo.RecordHeader{Key: "source", Value: []byte("shop")},
			kgo.RecordHeader{Key: "trace-id", Value: fmt.Appendf(nil, "%016x", index)})
		if dead {
			for _, header := range sample {
				headers = append(headers, kgo.RecordHeader{Key: header[0], Value: []byte(header[1])})
			}
			headers = append(headers, kgo.RecordHeader{Key: "__dlq.errors.offset", Value: strconv.AppendInt(nil, index, 10)})
		}
		record := &kgo.Record{
			Topic: j.topic, Partition: int32(index % partitions), Headers: headers,
			Key: fmt.Appendf(nil, "customer-%05d", index%10_000), Value: value,
		}
		// Blocks while too many records wait.
		client.Produce(ctx, record, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.Add(1)
			} else {
				acknowledged.Add(1)
			}
		})
	}
	if err := client.Flush(ctx); err != nil {
		return err
	}
	if failed.Load() > 0 {
		return fmt.Errorf("%d records were not acknowledged", failed.Load())
	}
	t.records = acknowledged.Load()
	watch.finish(t)
	return nil
}

// orderValue is the value of record number index, as the Rust peers write it.
func orderValue(index int64) []byte {
	price := index%1_000 + 50
	return fmt.Appendf(make([]byte, 0, 256),
		`{"id":%d,"customer":"customer-%05d","amount":%d,"currency":"EUR","carrier":"post","items":[{"sku":"tea-%02d","count":%d,"price":%d},{"sku":"cup-%02d","count":1,"price":%d}],"note":"at the door"}`,
		index, index%10_000, index%100_000+100, index%100, index%9+1, price, index%50, price)
}
