import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ConsumerAwareRecordRecoverer;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.DeadLetterPublishingRecoverer;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.support.TopicPartitionOffset;
import org.springframework.util.backoff.FixedBackOff;

/**
 * The dead-letter storm in Spring Kafka, with its own error handler and recoverer: a thread per partition, no retries,
 * and no new poll after each failure, which is the setting that costs least.
 */
public final class SpringPeer {
    private static final ObjectReader READER = new ObjectMapper().readerFor(Order.class);

    private final AtomicLong decode = new AtomicLong();
    private final AtomicLong refused = new AtomicLong();
    private final AtomicLong disorder = new AtomicLong();
    private final Order.Ledger[] ledgers =
            IntStream.range(0, Peer.PARTITIONS).mapToObj(i -> new Order.Ledger()).toArray(Order.Ledger[]::new);

    public static void main(String[] words) throws Exception {
        new SpringPeer().run(Peer.Job.read(words));
    }

    private void run(Peer.Job job) throws Exception {
        var producers = new DefaultKafkaProducerFactory<byte[], byte[]>(
                Map.of("bootstrap.servers", job.bootstrap()), ByteArraySerializer::new, ByteArraySerializer::new);
        var recoverer = new DeadLetterPublishingRecoverer(new KafkaTemplate<>(producers),
                (record, error) -> new TopicPartition(job.dead(), record.partition()));
        var left = new CountDownLatch((int) job.records());
        // The recoverer returns when the dead letter is acknowledged.
        ConsumerAwareRecordRecoverer counting = (record, consumer, error) -> {
            recoverer.accept(record, consumer, error);
            left.countDown();
        };
        var errors = new DefaultErrorHandler(counting, new FixedBackOff(0, 0));
        errors.setSeekAfterError(false);
        var container = container(job);
        container.setCommonErrorHandler(errors);
        Measure measure = new Measure();
        container.start();
        left.await();
        container.stop();
        measure.decode = decode.get();
        measure.refused = refused.get();
        measure.records = measure.decode + measure.refused;
        for (Order.Ledger ledger : ledgers) {
            measure.disorder += ledger.disorder;
        }
        measure.finish();
        producers.destroy();
    }

    private ConcurrentMessageListenerContainer<byte[], byte[]> container(Peer.Job job) {
        var consumers = new DefaultKafkaConsumerFactory<>(
                Map.of("bootstrap.servers", job.bootstrap(), "group.id", job.group()),
                new ByteArrayDeserializer(), new ByteArrayDeserializer());
        var partitions = IntStream.range(0, Peer.PARTITIONS)
                .mapToObj(partition -> new TopicPartitionOffset(job.topic(), partition, 0L))
                .toArray(TopicPartitionOffset[]::new);
        var properties = new ContainerProperties(partitions);
        properties.setMessageListener((MessageListener<byte[], byte[]>) this::handle);
        var container = new ConcurrentMessageListenerContainer<>(consumers, properties);
        container.setConcurrency(Peer.PARTITIONS);
        return container;
    }

    private void handle(ConsumerRecord<byte[], byte[]> record) {
        Order order;
        try {
            order = READER.readValue(record.value());
        } catch (java.io.IOException error) {
            decode.incrementAndGet();
            throw new IllegalArgumentException(error);
        }
        try {
            ledgers[record.partition()].handle(order, 1);
        } catch (Order.Refused error) {
            refused.incrementAndGet();
            throw new IllegalStateException(error);
        } catch (Order.Busy error) {
            throw new IllegalStateException(error);
        }
    }
}
