import java.util.HashMap;
import java.util.Map;

/** The same jobs in Kafka's own Java client. Built and run by ../run: {@code Peer FORM JOB key=value...}. */
public final class Peer {
    static final int PARTITIONS = 4;

    /** What the peer is asked to do, from the command line. */
    record Job(String form, String name, String bootstrap, String topic, long records, String group, String dead) {
        static Job read(String[] words) {
            if (words.length < 2) {
                throw new IllegalArgumentException("usage: Peer FORM JOB key=value...; see benches/peers/run");
            }
            Map<String, String> pairs = new HashMap<>();
            for (int i = 2; i < words.length; i++) {
                String[] pair = words[i].split("=", 2);
                pairs.put(pair[0], pair[1]);
            }
            return new Job(words[0], words[1], pairs.get("bootstrap"), pairs.get("topic"),
                    Long.parseLong(pairs.get("records")), pairs.get("group"), pairs.get("dead"));
        }
    }

    public static void main(String[] words) throws Exception {
        Job job = Job.read(words);
        switch (job.name()) {
            case "consume" -> Consume.run(job);
            case "typed", "storm", "mixed" -> Orders.run(job);
            default -> throw new IllegalArgumentException("this peer has no job " + job.name());
        }
    }

    private Peer() {}
}
