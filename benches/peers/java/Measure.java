import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;

/** Wall and CPU time from the first poll on, and what was counted meanwhile. */
final class Measure {
    long records;
    long bytes;
    long sum;
    long decode;
    long refused;
    long retries;
    long disorder;

    private final long start = System.nanoTime();
    private final double cpu = cpuSeconds();

    /** Prints the line that the driver reads: times in seconds, the peak of resident memory in KiB. */
    void finish() throws IOException {
        double wall = (System.nanoTime() - start) / 1e9;
        double whole = cpuSeconds();
        System.out.printf(
                "RESULT wall=%.6f cpu=%.6f cpu_whole=%.6f rss=%s records=%d bytes=%d sum=%d decode=%d refused=%d retries=%d disorder=%d%n",
                wall, whole - cpu, whole, peakKib(), records, bytes, sum, decode, refused, retries, disorder);
    }

    /** User and system time of the whole process, the compiler's and collector's threads included. */
    private static double cpuSeconds() {
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return system.getProcessCpuTime() / 1e9;
    }

    private static String peakKib() throws IOException {
        Path status = Path.of("/proc/self/status");
        if (!Files.exists(status)) {
            return "0";
        }
        return Files.readAllLines(status).stream().filter(line -> line.startsWith("VmHWM:"))
                .map(line -> line.replaceAll("\\D", "")).findFirst().orElse("0");
    }
}
