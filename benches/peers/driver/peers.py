"""Which peers there are, how each is started, and which jobs it does."""

import dataclasses
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent
TARGET = FOLDER / "target"


@dataclasses.dataclass(frozen=True)
class Peer:
    """One client in one form."""

    name: str
    # What must have been built: "rust", "go", "java", "spring".
    language: str
    # The start of its command line, up to the form.
    command: tuple
    form: str
    jobs: tuple


@dataclasses.dataclass(frozen=True)
class Job:
    """What all peers of a table do."""

    name: str
    title: str
    # What its topic is filled with; None where it is filled by the peers.
    plan: str | None
    records: int
    # The peer that the others are compared with.
    base: str
    dead_letters: bool = False
    commits: bool = False


def rust(name, binary, form, jobs):
    return Peer(name, "rust", (str(TARGET / "rust/release" / binary),), form, tuple(jobs.split()))


def java_command(main, libs, *classes):
    # The heap is bounded, so that it does not grow with the machine.
    classpath = ":".join([*(str(TARGET / folder) for folder in classes), f"{TARGET / libs}/*"])
    return ("java", "-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", classpath, main)


PEERS = [
    rust("rdkafka StreamConsumer", "rdkafka", "stream", "consume"),
    rust("rdkafka BaseConsumer", "rdkafka", "base", "consume"),
    rust("rdkafka, one loop", "rdkafka", "stream", "typed storm mixed"),
    rust("rdkafka, task per partition", "rdkafka", "queues", "typed storm mixed"),
    rust("rdkafka ThreadedProducer", "rdkafka", "threaded", "produce produce-dead"),
    Peer("franz-go", "go", (str(TARGET / "go/peer-go"),), "default", ("consume", "typed", "storm", "mixed", "produce", "produce-dead")),
    Peer("Java client", "java", java_command("Peer", "kafka-libs", "java"), "default", ("consume", "typed", "storm")),
    Peer("Spring Kafka", "spring", java_command("SpringPeer", "spring-libs", "spring", "java"), "default", ("storm",)),
    rust("rskafka", "rskafka", "default", "consume"),
    rust("krafka", "krafka", "default", "consume typed"),
    rust("krafka, polls of 10,000", "krafka", "large", "consume typed"),
    rust("Bezoar's source, drained by hand", "bezoar", "source", "consume typed"),
    rust("Bezoar", "bezoar", "native", "consume typed storm mixed"),
    rust("Bezoar over rskafka", "bezoar", "rskafka", "consume typed storm mixed"),
    rust("Bezoar's producer", "bezoar", "source", "produce produce-dead"),
]

JOBS = [
    Job("consume", "Consume only", "good", 1_000_000, "rdkafka StreamConsumer"),
    Job("typed", "Typed JSON handler with commits", "good", 1_000_000, "rdkafka, one loop", commits=True),
    Job("storm", "Dead-letter storm", "storm", 100_000, "rdkafka, one loop", dead_letters=True, commits=True),
    Job("mixed", "Mixed", "mixed", 1_000_000, "rdkafka, task per partition", dead_letters=True, commits=True),
    Job("produce", "Produce alone", None, 1_000_000, "rdkafka ThreadedProducer"),
    Job("produce-dead", "Produce dead letters alone", None, 100_000, "rdkafka ThreadedProducer"),
]


def peers_of(job):
    return [peer for peer in PEERS if job.name in peer.jobs]
