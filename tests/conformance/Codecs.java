import java.nio.charset.StandardCharsets;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes 300 records to the topic PREFIX-CODEC, for each codec, in large batches. Arguments: the broker's address, the prefix,
 * whether headers may be null and share a name, and the codecs.
 */
public class Codecs {
    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    public static void main(String[] arguments) throws Exception {
        boolean allHeaders = Boolean.parseBoolean(arguments[2]);
        for (int which = 3; which < arguments.length; which++) {
            String codec = arguments[which];
            Properties settings = new Properties();
            settings.put("bootstrap.servers", arguments[0]);
            settings.put("compression.type", codec);
            settings.put("linger.ms", "200");
            settings.put("batch.size", "100000");
            try (KafkaProducer<byte[], byte[]> producer =
                    new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
                for (int number = 0; number < 300; number++) {
                    byte[] key = number % 3 == 0 ? null : number % 3 == 1 ? new byte[0] : bytes("key " + number);
                    byte[] value = number % 5 == 0 ? null : bytes("value " + number + " " + "läuft ".repeat(number));
                    ProducerRecord<byte[], byte[]> record =
                        new ProducerRecord<>(arguments[1] + "-" + codec, 0, 1_700_000_000_000L + number, key, value);
                    record.headers().add("number", bytes(String.valueOf(number)));
                    if (allHeaders) {
                        record.headers().add("a", null).add("number", new byte[0]);
                    }
                    producer.send(record);
                }
            }
        }
    }
}
