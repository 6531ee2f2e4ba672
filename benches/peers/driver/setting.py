"""What a result was measured on."""

import os
import platform
import re
from pathlib import Path

from .peers import FOLDER, TARGET


def describe(rounds):
    """A paragraph of Markdown: machine and versions."""
    lock = (FOLDER / "rust/Cargo.lock").read_text()
    crate = lambda name: _find(rf'name = "{name}"\nversion = "([^"]+)"', lock)
    jars = [path.name for folder in ("kafka-libs", "spring-libs") for path in (TARGET / folder).glob("*.jar")]
    jar = lambda name: _find(rf"^{name}-([0-9.]+)\.jar$", "\n".join(jars))
    versions = [
        ("Kafka", jar(r"kafka_2\.13")),
        # The version of the bindings, and after the + the library's.
        ("rdkafka", f"{crate('rdkafka')} (rdkafka-sys {crate('rdkafka-sys')})"),
        ("rskafka", crate("rskafka")),
        ("krafka", crate("krafka")),
        ("franz-go", _find(r"franz-go v([0-9.]+)", (FOLDER / "go/go.mod").read_text())),
        ("Java client", jar("kafka-clients")),
        ("Spring Kafka", jar("spring-kafka")),
    ]
    known = ", ".join(f"{name} {version}" for name, version in versions if version)
    machine = f"{os.cpu_count()} cores ({_processor()}), {platform.system()} {platform.release()}"
    return f"{machine}. {known}. {rounds} rounds.\n"


def _processor():
    try:
        return _find(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text()) or platform.machine()
    except OSError:
        return platform.machine()


def _find(pattern, text):
    found = re.search(pattern, text, re.MULTILINE)
    return found.group(1) if found else None
