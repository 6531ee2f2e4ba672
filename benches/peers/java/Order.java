import java.util.List;

/** The message of the typed jobs; every peer has the same fields. The amount is in cents. */
record Order(long id, String customer, long amount, String currency, String carrier, List<Item> items, String note) {
    record Item(String sku, int count, long price) {}

    /** The handler refuses the order for good. */
    static final class Refused extends Exception {
        Refused(String message) {
            super(message);
        }
    }

    /** The handler may succeed at a later attempt. */
    static final class Busy extends Exception {
        Busy() {
            super("the carrier is busy");
        }
    }

    /** What the handler does, in every peer the same: checks, sums up, and sees whether orders ascend. */
    static final class Ledger {
        long sum;
        long disorder;
        private long next;

        void handle(Order order, int attempt) throws Refused, Busy {
            if (order.id() < next) {
                disorder++;
            }
            next = order.id();
            if (order.amount() < 0) {
                throw new Refused("amount " + order.amount() + " is negative");
            }
            if (order.carrier().equals("busy") && attempt < 3) {
                throw new Busy();
            }
            sum += order.amount();
        }
    }
}
