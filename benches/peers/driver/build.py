"""Builds the peers, language by language. One whose tools are missing is left out, and said to be."""

import os
import shutil
import subprocess

from .peers import FOLDER, TARGET

ROOT = FOLDER.parent.parent


def build(languages, say):
    """Builds what is asked for and returns what is there."""
    built = set()
    for language, (tool, make) in BUILDERS.items():
        if language not in languages:
            continue
        if shutil.which(tool) is None:
            say(f"no {tool} on the PATH: peers in {language} are left out")
            continue
        say(f"building the peers in {language}")
        make()
        built.add(language)
    return built


def kafka(*arguments, **options):
    """Runs scripts/kafka and returns the last line that it printed."""
    result = subprocess.run([ROOT / "scripts/kafka", *arguments], stdout=subprocess.PIPE, text=True, check=True, **options)
    lines = result.stdout.split("\n")
    return next((line for line in reversed(lines) if line), "")


def _rust():
    environment = dict(os.environ, CARGO_TARGET_DIR=str(TARGET / "rust"))
    cargo = os.environ.get("CARGO", "cargo")
    subprocess.run([cargo, "build", "--release", "--locked", "--quiet"], cwd=FOLDER / "rust", env=environment, check=True)


def _go():
    subprocess.run(["go", "build", "-o", TARGET / "go/peer-go", "."], cwd=FOLDER / "go", check=True)


def _java():
    libs = kafka("libs")
    link = TARGET / "kafka-libs"
    link.unlink(missing_ok=True)
    link.symlink_to(libs)
    classes = TARGET / "java"
    classes.mkdir(parents=True, exist_ok=True)
    sources = sorted((FOLDER / "java").glob("*.java"))
    subprocess.run(["javac", "-nowarn", "-cp", f"{libs}/*", "-d", classes, *sources], check=True)


def _spring():
    # Shares the order and the figures with the Java peer.
    _java()
    libs = TARGET / "spring-libs"
    if not libs.is_dir():
        pom = FOLDER / "spring/pom.xml"
        # They appear under their name all at once: an interrupted fetch is begun anew.
        fresh = TARGET / "spring-libs.fresh"
        shutil.rmtree(fresh, ignore_errors=True)
        copy = ["dependency:copy-dependencies", f"-DoutputDirectory={fresh}"]
        subprocess.run(["mvn", "-q", "-B", "-Dstyle.color=never", "-f", pom, *copy], check=True)
        fresh.rename(libs)
    classes = TARGET / "spring"
    classes.mkdir(parents=True, exist_ok=True)
    source = FOLDER / "spring/SpringPeer.java"
    subprocess.run(["javac", "-nowarn", "-cp", f"{TARGET / 'java'}:{libs}/*", "-d", classes, source], check=True)


BUILDERS = {"rust": ("cargo", _rust), "go": ("go", _go), "java": ("javac", _java), "spring": ("mvn", _spring)}
