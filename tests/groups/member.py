"""A member of a consumer group through librdkafka, which prints what it is assigned and what it reads.

    python member.py BOOTSTRAP GROUP TOPIC consumer|sticky|range|roundrobin

Leaves the group when it gets SIGTERM.
"""

import signal
import sys

from confluent_kafka import Consumer

bootstrap, group, topic, kind = sys.argv[1:]
settings = {
    "bootstrap.servers": bootstrap,
    "group.id": group,
    "client.id": "foreign",
    "auto.offset.reset": "earliest",
    "auto.commit.interval.ms": 200,
}
if kind == "consumer":
    settings["group.protocol"] = "consumer"
else:
    assignor = "cooperative-sticky" if kind == "sticky" else kind
    settings |= {
        "partition.assignment.strategy": assignor,
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 500,
    }

running = True


def stop(*_):
    global running
    running = False


signal.signal(signal.SIGTERM, stop)
consumer = Consumer(settings)


def told(what):
    return lambda _, partitions: print(what, [each.partition for each in partitions])


consumer.subscribe([topic], on_assign=told("assigned"), on_revoke=told("revoked"), on_lost=told("lost"))
while running:
    message = consumer.poll(0.2)
    if message is None:
        continue
    if message.error():
        print("error", message.error())
    else:
        print(f"Partition:{message.partition()}\t{message.value().decode()}")
consumer.close()
print("left")
