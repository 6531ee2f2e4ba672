import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;

/**
 * Writes the batches beside this file as Kafka's own client writes them, and reads batches as it reads them.
 *
 * libs=$(scripts/kafka libs); javac -d /tmp -cp "$libs/*" Batches.java
 * java -cp "$libs/*:/tmp" Batches write FOLDER | read FILE...
 */
public class Batches {
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("write")) {
            Path folder = Path.of(arguments[1]);
            write(folder.resolve("gzip"), Compression.gzip().build());
            write(folder.resolve("snappy"), Compression.snappy().build());
            write(folder.resolve("lz4"), Compression.lz4().build());
            write(folder.resolve("zstd"), Compression.zstd().build());
            // The highest level, with the largest window.
            write(folder.resolve("zstd-22"), Compression.zstd().level(22).build());
        } else {
            for (int index = 1; index < arguments.length; index++) read(Path.of(arguments[index]));
        }
    }

    static void write(Path file, Compression compression) throws Exception {
        List<SimpleRecord> records = new ArrayList<>();
        for (int index = 0; index < 4; index++) {
            Header[] headers = {
                new RecordHeader("b", new byte[] {(byte) index}), new RecordHeader("a", null), new RecordHeader("b", new byte[0])
            };
            byte[] value = index == 3 ? null : "value ".repeat(index == 2 ? 7000 : 20).getBytes();
            records.add(new SimpleRecord(
                1790000000000L + index, ("key" + index).getBytes(), value, index % 2 == 0 ? new Header[0] : headers));
        }
        ByteBuffer buffer = MemoryRecords.withRecords(7L, compression, records.toArray(new SimpleRecord[0])).buffer();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        Files.write(file, bytes);
    }

    static void read(Path file) throws Exception {
        long records = 0, hash = 17;
        for (RecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(Files.readAllBytes(file))).batches()) {
            batch.ensureValid();
            for (Record record : batch) {
                records++;
                hash = hash * 31 + record.offset();
                hash = hash * 31 + record.timestamp();
                hash = bytes(hash, record.key());
                hash = bytes(hash, record.value());
                for (Header header : record.headers()) {
                    hash = bytes(hash, ByteBuffer.wrap(header.key().getBytes()));
                    hash = bytes(hash, header.value() == null ? null : ByteBuffer.wrap(header.value()));
                }
            }
        }
        System.out.println(file.getFileName() + ": " + records + " records, hash " + hash);
    }

    static long bytes(long hash, ByteBuffer bytes) {
        hash = hash * 31 + (bytes == null ? -1 : bytes.remaining());
        while (bytes != null && bytes.hasRemaining()) hash = hash * 31 + bytes.get();
        return hash;
    }
}
