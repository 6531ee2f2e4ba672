import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The loop that a service would have, on one thread: the dead letters of a poll are on their way together and are
 * acknowledged before its offsets are committed; commits once a second and at the end.
 */
final class Orders {
    private static final ObjectReader READER = new ObjectMapper().readerFor(Order.class);

    private final Peer.Job job;
    private final KafkaProducer<byte[], byte[]> producer;
    private final Measure measure = new Measure();
    private final Order.Ledger[] ledgers = new Order.Ledger[Peer.PARTITIONS];
    private final List<Future<?>> dead = new ArrayList<>();
    private final Map<TopicPartition, OffsetAndMetadata> settled = new HashMap<>();

    static void run(Peer.Job job) throws Exception {
        // Idempotent and acks=all by default.
        Map<String, Object> config = Map.of("bootstrap.servers", job.bootstrap(), "batch.size", 65536);
        try (KafkaConsumer<byte[], byte[]> consumer = Consume.consumer(job);
                var producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            new Orders(job, producer).loop(consumer);
        }
    }

    private Orders(Peer.Job job, KafkaProducer<byte[], byte[]> producer) {
        this.job = job;
        this.producer = producer;
        for (int partition = 0; partition < ledgers.length; partition++) {
            ledgers[partition] = new Order.Ledger();
        }
    }

    private void loop(KafkaConsumer<byte[], byte[]> consumer) throws Exception {
        long committed = System.nanoTime();
        while (measure.records < job.records()) {
            var records = consumer.poll(Consume.WAIT);
            for (ConsumerRecord<byte[], byte[]> record : records) {
                measure.records++;
                process(record);
            }
            if (!dead.isEmpty()) {
                producer.flush();
                for (Future<?> letter : dead) {
                    letter.get();
                }
                dead.clear();
            }
            records.nextOffsets().forEach(settled::put);
            if (System.nanoTime() - committed >= 1_000_000_000L) {
                consumer.commitAsync(Map.copyOf(settled), null);
                committed = System.nanoTime();
            }
        }
        consumer.commitSync(settled);
        for (Order.Ledger ledger : ledgers) {
            measure.sum += ledger.sum;
            measure.disorder += ledger.disorder;
        }
        measure.finish();
    }

    private void process(ConsumerRecord<byte[], byte[]> record) throws IOException, InterruptedException {
        Order order;
        try {
            order = READER.readValue(record.value());
        } catch (JacksonException error) {
            measure.decode++;
            bury(record, 1, error);
            return;
        }
        for (int attempt = 1;; attempt++) {
            try {
                ledgers[record.partition()].handle(order, attempt);
                return;
            } catch (Order.Busy error) {
                measure.retries++;
                Thread.sleep(10);
            } catch (Order.Refused error) {
                measure.refused++;
                bury(record, attempt, error);
                return;
            }
        }
    }

    private void bury(ConsumerRecord<byte[], byte[]> record, int attempts, Exception error) {
        Headers headers = new RecordHeaders(record.headers());
        text(headers, "__dlq.errors.topic", record.topic());
        text(headers, "__dlq.errors.partition", Integer.toString(record.partition()));
        text(headers, "__dlq.errors.offset", Long.toString(record.offset()));
        text(headers, "__dlq.errors.group", job.group());
        text(headers, "__dlq.errors.delivery.count", Integer.toString(attempts));
        text(headers, "__dlq.errors.message", String.valueOf(error.getMessage()));
        dead.add(producer.send(
                new ProducerRecord<>(job.dead(), record.partition(), record.key(), record.value(), headers)));
    }

    private static void text(Headers headers, String name, String value) {
        headers.add(name, value.getBytes(StandardCharsets.UTF_8));
    }
}
