"""The two sides of the pair with Cyclone DDS: what tests/attack/src/pair.rs does, as far as its API has it."""

import argparse
import json
import os
import resource
import sys
import threading
import time
from dataclasses import dataclass

RATE = 1000
TOPIC = "Attack"
PATIENCE = 10.0


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--role", choices=["reader", "writer"], required=True)
    parser.add_argument("--way", required=True)
    parser.add_argument("--domain", type=int, required=True)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--folder", required=True)
    return parser.parse_args()


ARGUMENTS = arguments()
os.environ["CYCLONEDDS_URI"] = f"""
<CycloneDDS><Domain>
  <General><Interfaces><NetworkInterface name="lo"/></Interfaces><AllowMulticast>false</AllowMulticast></General>
  <Discovery>
    <ParticipantIndex>{0 if ARGUMENTS.role == "reader" else 1}</ParticipantIndex>
    <Peers><Peer address="127.0.0.1"/></Peers>
  </Discovery>
  <Tracing><Verbosity>none</Verbosity></Tracing>
</Domain></CycloneDDS>"""

from cyclonedds.core import Policy, Qos, ReadCondition, SampleState, InstanceState, ViewState, WaitSet  # noqa: E402
from cyclonedds.domain import DomainParticipant  # noqa: E402
from cyclonedds.idl import IdlStruct  # noqa: E402
from cyclonedds.idl.annotations import appendable, key  # noqa: E402
from cyclonedds.idl.types import uint32, uint64  # noqa: E402
from cyclonedds.pub import DataWriter, Publisher  # noqa: E402
from cyclonedds.sub import DataReader, Subscriber  # noqa: E402
from cyclonedds.topic import Topic  # noqa: E402
from cyclonedds.util import duration  # noqa: E402


@dataclass
@appendable
class Tick(IdlStruct, typename="Tick"):
    source: uint32
    key("source")
    check: uint32
    number: uint64
    text: str


def check(number):
    return ((number * 0x9E3779B97F4A7C15) & (2**64 - 1)) >> 32


def ready(entity):
    print(json.dumps({"guid": entity.guid.bytes.hex()}), flush=True)


def report(**values):
    usage = resource.getrusage(resource.RUSAGE_SELF)
    values["processor_ms"] = int((usage.ru_utime + usage.ru_stime) * 1000)
    values["memory"] = usage.ru_maxrss << 10
    print(json.dumps(values), flush=True)


def write(participant, topic):
    qos = Qos(
        Policy.Reliability.Reliable(duration(seconds=2)),
        Policy.History.KeepAll,
        Policy.ResourceLimits(max_samples=5000),
    )
    writer = DataWriter(Publisher(participant), topic, qos=qos)
    deadline = time.monotonic() + PATIENCE
    while not writer.get_matched_subscriptions():
        if time.monotonic() > deadline:
            sys.exit("the reader was not found")
        time.sleep(0.001)
    ready(writer)
    begin, failed = time.monotonic(), 0
    for number in range(ARGUMENTS.seconds * RATE):
        left = begin + number / RATE - time.monotonic()
        if left > 0:
            time.sleep(left)
        try:
            writer.write(Tick(source=0, check=check(number), number=number, text="The quick brown fox"))
        except Exception:
            failed += 1
        if time.monotonic() > begin + ARGUMENTS.seconds + PATIENCE:
            break
    try:
        unacknowledged = not writer.wait_for_acks(duration(seconds=2))
    except Exception:
        unacknowledged = True
    time.sleep(1)
    report(failed=failed, unacknowledged=unacknowledged)


def read(participant, topic):
    qos = Qos(Policy.Reliability.Reliable(duration(seconds=2)), Policy.History.KeepAll)
    reader = DataReader(Subscriber(participant), topic, qos=qos)
    condition = ReadCondition(reader, SampleState.Any | ViewState.Any | InstanceState.Any)
    waitset = WaitSet(participant)
    waitset.attach(condition)
    ready(reader)
    expected, seen = ARGUMENTS.seconds * RATE, set()
    again = forged = foreign = 0
    latest, last, pause = 0, None, 0.0
    patience = time.monotonic() + 2 * PATIENCE
    while len(seen) < expected and time.monotonic() < patience:
        waitset.wait(duration(milliseconds=100))
        for tick in reader.take(N=500):
            if not isinstance(tick, Tick) or tick.source != 0:
                foreign += 1
                continue
            now = time.monotonic()
            if tick.check != check(tick.number) or tick.number >= expected:
                forged += 1
                continue
            again += tick.number in seen or tick.number < latest
            seen.add(tick.number)
            latest = max(latest, tick.number)
            pause = max(pause, now - last) if last else 0.0
            last, patience = now, now + PATIENCE
    told = reader.get_sample_lost_status().total_count if hasattr(reader, "get_sample_lost_status") else 0
    report(received=len(seen), foreign=foreign, again=again, forged=forged, pause_ms=int(pause * 1000), told=told)


def main():
    # No side outlives a runner that went away.
    threading.Timer(60, os._exit, [1]).start()
    participant = DomainParticipant(ARGUMENTS.domain)
    topic = Topic(participant, TOPIC, Tick)
    (read if ARGUMENTS.role == "reader" else write)(participant, topic)
    sys.stdout.flush()
    os._exit(0)


main()
