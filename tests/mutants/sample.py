#!/usr/bin/env python3
"""Draws mutants of each crate by lot and says which no test notices (docs/mutation-testing.md).

Usage: tests/mutants/sample.py [CRATE...]; SEED=1 says which are drawn, N=12 how many of each crate, LIMIT=90 how many of a
hundred viable ones must be caught. cargo-mutants names the mutants. Here they are applied to a copy of the sources, one after the
other, and the tests of the crate run, then those of others that go through it. What is missed stands in
target/mutants-sample/missed.txt.
"""

import collections
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "mutants-sample"
COPY = TARGET / "sources"
SEED = os.environ.get("SEED", "1")
COUNT = int(os.environ.get("N", "12"))
LIMIT = int(os.environ.get("LIMIT", "90"))
# A test that takes longer than this does not end: a mutant that lets time stand still is noticed.
TIMEOUT = 600

# The deliberate bugs of the simulation no longer fit lines that are changed here: that is no test of what they do.
SIMULATED = ["-p", "dunlin-engine", "-p", "dunlin-sim", "-p", "dunlin-simulation"]
SIMULATED += ["--", "--skip", "every_deliberate_bug_fits_the_sources"]
FURTHER = {
    "rtps": SIMULATED,
    "cache": SIMULATED,
    "discovery": SIMULATED,
    "engine": SIMULATED,
    "shm": ["-p", "dunlin-driver", "-p", "dunlin", "--test", "shared_memory", "--test", "loans"],
}
# What is built is run once: building fast matters more.
FAST = {"CARGO_TARGET_DIR": str(TARGET / "build"), "CARGO_INCREMENTAL": "1", "CARGO_PROFILE_DEV_DEBUG": "false"}
# What a mutant leaves unused is no error.
FAST["RUSTFLAGS"] = "--cap-lints=warn"


def what(mutant):
    """What a mutant does and in which file, whatever the line."""
    return re.sub(r":\d+:\d+:", ":", mutant["name"])


def copy_sources():
    shutil.rmtree(COPY, ignore_errors=True)
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            # With its time: what has not changed since the last run is not built again.
            shutil.copy2(ROOT / name, COPY / name)


def draw(crate):
    """By what a mutant does, not by its line, so that most of a sample stays the same when the sources change."""
    listed = ["cargo", "mutants", "--list", "--json", "--package", f"dunlin-{crate}"]
    mutants = json.loads(subprocess.run(listed, cwd=COPY, check=True, capture_output=True).stdout)
    seen = collections.Counter()

    def lot(mutant):
        seen[what(mutant)] += 1
        return hashlib.sha256(f"{SEED} {what(mutant)} {seen[what(mutant)]}".encode()).hexdigest()

    return sorted(mutants, key=lot)[:COUNT], len(mutants)


def changed(text, mutant):
    lines = text.splitlines(keepends=True)

    def place(end):
        return sum(map(len, lines[: end["line"] - 1])) + end["column"] - 1

    begin, end = place(mutant["span"]["start"]), place(mutant["span"]["end"])
    return text[:begin] + mutant["replacement"] + text[end:]


def cargo(arguments, log, timeout=None):
    """Whether it passed; a test that does not end has not."""
    command = ["cargo", "test", "--quiet", *arguments]
    run = subprocess.Popen(
        command, cwd=COPY, env=os.environ | FAST, stdout=log, stderr=log, start_new_session=True
    )
    try:
        return run.wait(timeout) == 0
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        return False


def judge(arguments, log):
    """What building and testing says: unviable, caught or passed."""
    if not cargo(["--no-run", *arguments], log):
        return "unviable"
    return "passed" if cargo(arguments, log, TIMEOUT) else "caught"


def try_all(mutants, arguments, log):
    """What these tests say of each. Who fails without a mutant cannot judge any."""
    print(f"\n=== no mutant: {' '.join(arguments)}", file=log, flush=True)
    if mutants and judge(arguments, log) != "passed":
        sys.exit(f"mutants-sample: cargo test {' '.join(arguments)} fails without a mutant: {TARGET}/log.txt")
    verdicts = []
    for mutant in mutants:
        path = COPY / mutant["file"]
        text = path.read_text()
        path.write_text(changed(text, mutant))
        print(f"\n=== {mutant['name']}", file=log, flush=True)
        verdicts.append(judge(arguments, log))
        path.write_text(text)
        print(f"=== {verdicts[-1]}", file=log, flush=True)
    return list(zip(mutants, verdicts))


def try_crate(crate, drawn, equivalent, log):
    """How many mutants became what, and the names of those that no test noticed."""
    found = collections.Counter()
    known = [mutant for mutant in drawn if f"\n{what(mutant)} | " in "\n" + equivalent]
    own = try_all([mutant for mutant in drawn if mutant not in known], ["-p", f"dunlin-{crate}"], log)
    others = try_all([mutant for mutant, verdict in own if verdict == "passed"], FURTHER[crate], log)
    count = collections.Counter(verdict for _, verdict in own)
    found["unviable"], found["caught by its own tests"] = count["unviable"], count["caught"]
    found["equivalent"] = len(known)
    missed = [mutant["name"] for mutant, verdict in others if verdict == "passed"]
    found["missed"] = len(missed)
    found["caught by others"] = len(others) - len(missed)
    return found, missed


def main(crates):
    copy_sources()
    equivalent = (ROOT / "tests/mutants/equivalent.txt").read_text()
    kinds = ["unviable", "caught by its own tests", "caught by others", "equivalent", "missed"]
    total, missed = collections.Counter(), []
    print("| crate | drawn of |", " | ".join(kinds), "|\n|---|" + "---:|" * (len(kinds) + 1), flush=True)
    with open(TARGET / "log.txt", "w") as log:
        for crate in crates:
            drawn, known = draw(crate)
            found, names = try_crate(crate, drawn, equivalent, log)
            figures = " | ".join(str(found[kind]) for kind in kinds)
            print(f"| {crate} | {len(drawn)} of {known} | {figures} |", flush=True)
            total += found
            missed += names
    (TARGET / "missed.txt").write_text("".join(f"{name}\n" for name in missed))
    for name in missed:
        print(f"missed: {name}")
    caught = total["caught by its own tests"] + total["caught by others"]
    viable = caught + total["missed"]
    print(f"caught: {caught} of {viable} viable mutants that are not equivalent (seed {SEED})")
    sys.exit(0 if caught * 100 >= viable * LIMIT else 1)


if __name__ == "__main__":
    if shutil.which("cargo-mutants") is None:
        sys.exit("mutants-sample: install it: cargo install cargo-mutants --locked")
    TARGET.mkdir(parents=True, exist_ok=True)
    main(sys.argv[1:] or list(FURTHER))
