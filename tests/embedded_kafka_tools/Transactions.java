import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Commits, aborts and is fenced; then prints what a reader of committed records sees. */
public class Transactions {
    static KafkaProducer<String, String> producer(String bootstrap) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("transactional.id", "payments");
        settings.put("max.block.ms", "60000");
        settings.put("compression.type", "zstd");
        KafkaProducer<String, String> producer =
            new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        return producer;
    }

    static void send(KafkaProducer<String, String> producer, String value) {
        for (int partition = 0; partition < 2; partition++) {
            producer.send(new ProducerRecord<>("orders", partition, "key", value));
        }
    }

    public static void main(String[] arguments) throws Exception {
        KafkaProducer<String, String> first = producer(arguments[0]);
        first.beginTransaction();
        send(first, "committed");
        first.sendOffsetsToTransaction(
            Map.of(new TopicPartition("orders", 0), new OffsetAndMetadata(7)), new ConsumerGroupMetadata("fulfilment"));
        first.commitTransaction();
        first.beginTransaction();
        send(first, "aborted");
        first.flush();
        first.abortTransaction();
        first.beginTransaction();
        send(first, "abandoned");
        first.flush();
        KafkaProducer<String, String> second = producer(arguments[0]);
        try {
            first.commitTransaction();
            throw new AssertionError("the first producer was not fenced");
        } catch (ProducerFencedException | InvalidProducerEpochException expected) {
            System.out.println("fenced");
        }
        first.close(Duration.ZERO);
        second.beginTransaction();
        send(second, "by the second");
        second.commitTransaction();
        second.close();

        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false");
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            List<TopicPartition> all = List.of(new TopicPartition("orders", 0), new TopicPartition("orders", 1));
            consumer.assign(all);
            consumer.seekToBeginning(all);
            Map<TopicPartition, Long> ends = consumer.endOffsets(all);
            while (all.stream().anyMatch(one -> consumer.position(one) < ends.get(one))) {
                consumer.poll(Duration.ofSeconds(1)).forEach(
                    record -> System.out.println(record.partition() + " " + record.value()));
            }
        }
    }
}
