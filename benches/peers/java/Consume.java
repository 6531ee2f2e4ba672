import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Counts records and bytes. */
final class Consume {
    static final Duration WAIT = Duration.ofSeconds(1);

    static void run(Peer.Job job) throws Exception {
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(job)) {
            Measure measure = new Measure();
            while (measure.records < job.records()) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(WAIT)) {
                    measure.records++;
                    measure.bytes += record.value().length;
                }
            }
            measure.finish();
        }
    }

    /** A consumer of all partitions of the topic, from their beginning. */
    static KafkaConsumer<byte[], byte[]> consumer(Peer.Job job) {
        Map<String, Object> config = Map.of(
                "bootstrap.servers", job.bootstrap(),
                "group.id", job.group(),
                "enable.auto.commit", "false",
                // By default a poll returns at most 500.
                "max.poll.records", "10000");
        var consumer = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        // Connects, too.
        List<TopicPartition> partitions = consumer.partitionsFor(job.topic()).stream()
                .map(info -> new TopicPartition(info.topic(), info.partition())).toList();
        consumer.assign(partitions);
        consumer.seekToBeginning(partitions);
        return consumer;
    }

    private Consume() {}
}
