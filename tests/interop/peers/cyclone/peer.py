"""Cyclone DDS as a peer: `peer.py ROLE DOMAIN`, roles shape-pub, shape-sub, video-pub, video-sub,
report-pub, report-sub, type-ask, mismatched, staged. PEER_KEEP_LAST is the depth of a KEEP_LAST history in place of KEEP_ALL.

Speaks the line protocol of tests/interop/README.md on standard input and output.
"""

import json
import os
import sys
import threading
import time
import zlib

import mismatched
import staged
import topic_types
from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication
from cyclonedds.core import InstanceState
from cyclonedds.domain import DomainParticipant
from cyclonedds.dynamic import get_types_for_typeid
from cyclonedds.internal import InvalidSample
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration
from topic_types import Report, ShapeType, VideoEncoding, VideoFrame


TOPICS = {"shape": ("Square", ShapeType), "video": ("Video", VideoFrame), "report": ("Reports", Report)}
DEPTH = int(os.environ.get("PEER_KEEP_LAST", "0"))
HISTORY = Policy.History.KeepLast(DEPTH) if DEPTH else Policy.History.KeepAll
QOS = Qos(
    Policy.Reliability.Reliable(duration(seconds=10)),
    Policy.Durability.TransientLocal,
    HISTORY,
    Policy.DurabilityService(0, HISTORY, -1, -1, -1),
    Policy.WriterDataLifecycle(autodispose=False),
)


def say(*words):
    # One call, so that lines of two threads never mix.
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def payload_of(number, length):
    """Octet i of frame n is (i * 31 + n) mod 251."""
    period = bytes((i * 31 + number) % 251 for i in range(251))
    return (period * (length // 251 + 1))[:length]


class Publisher:
    def __init__(self, domain, kind):
        name, datatype = TOPICS[kind]
        participant = DomainParticipant(domain)
        self.writer = DataWriter(participant, Topic(participant, name, datatype), qos=QOS)

    def matched(self):
        return self.writer.get_publication_matched_status().current_count

    def shape(self, color, x=0, y=0, size=0):
        return ShapeType(color, int(x), int(y), int(size))

    def command(self, words):
        verb, *args = words
        if verb == "write":
            self.writer.write(self.shape(*args))
        elif verb == "dispose":
            self.writer.dispose(self.shape(*args))
        elif verb == "unregister":
            self.writer.unregister_instance(self.shape(*args))
        elif verb == "frames":
            camera, count, length = args[0], int(args[1]), int(args[2])
            period = int(args[3]) / 1e6 if len(args) > 3 else 0
            begin = time.monotonic()
            for number in range(count):
                time.sleep(max(0, begin + number * period - time.monotonic()))
                payload = payload_of(number, length)
                self.writer.write(
                    VideoFrame(camera, number, time.time_ns(), VideoEncoding.OPAQUE, 0, 0, True, payload)
                )
        elif verb == "report":
            self.writer.write(topic_types.report(int(args[0])))
        elif verb == "wait-matched":
            deadline = time.monotonic() + 30
            while self.matched() < int(args[0]) and time.monotonic() < deadline:
                time.sleep(0.01)
            if self.matched() < int(args[0]):
                return "error not matched"
        elif verb == "wait-unmatched":
            deadline = time.monotonic() + 30
            while self.matched() > 0 and time.monotonic() < deadline:
                time.sleep(0.01)
            if self.matched() > 0:
                return "error still matched"
        else:
            return f"error unknown command {verb}"
        return "ok"


class Listener(threading.Thread):
    def __init__(self, domain, kind):
        super().__init__(daemon=True)
        name, datatype = TOPICS[kind]
        participant = DomainParticipant(domain)
        self.reader = DataReader(participant, Topic(participant, name, datatype), qos=QOS)
        self.colors = {}

    def run(self):
        while True:
            for sample in self.reader.take(N=64):
                self.report(sample)
            time.sleep(0.005)

    def report(self, sample):
        info = sample.sample_info
        if isinstance(sample, InvalidSample):
            color = self.colors.get(info.instance_handle) or self.key_of(sample)
        elif isinstance(sample, VideoFrame):
            octets = bytes(sample.payload)
            say("frame", sample.camera_id, sample.frame_number, len(octets), zlib.crc32(octets))
            color = self.colors[info.instance_handle] = sample.camera_id
        elif isinstance(sample, Report):
            say("report", json.dumps(topic_types.plain(sample)))
            color = self.colors[info.instance_handle] = sample.station
        else:
            color = self.colors[info.instance_handle] = sample.color
            say("sample", color, sample.x, sample.y, sample.shapesize)
        if info.instance_state == InstanceState.NotAliveDisposed:
            say("disposed", color)
        elif info.instance_state == InstanceState.NotAliveNoWriters:
            say("no-writers", color)

    @staticmethod
    def key_of(sample):
        return getattr(getattr(sample, "key_sample", None), "color", "?")


class Asker:
    """Asks whoever publishes a topic for its type."""

    def __init__(self, domain):
        self.participant = DomainParticipant(domain)
        self.reader = BuiltinDataReader(self.participant, BuiltinTopicDcpsPublication)

    def command(self, words):
        verb, topic = words
        if verb != "type":
            return f"error unknown command {verb}"
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            for sample in self.reader.read(N=64):
                if getattr(sample, "topic_name", None) == topic and sample.type_id is not None:
                    timeout = duration(seconds=10)
                    found, _ = get_types_for_typeid(self.participant, sample.type_id, timeout)
                    say("type", found.__idl_typename__, *found.__annotations__)
                    return "ok"
            time.sleep(0.05)
        return "error nobody announces a type"


def main():
    role, domain = sys.argv[1], int(sys.argv[2])
    if role in ("type-ask", "staged"):
        asker = Asker(domain) if role == "type-ask" else staged.Stage(domain)
        say("ready")
        for line in sys.stdin:
            words = line.split()
            if words[:1] == ["quit"]:
                break
            say(asker.command(words))
        return
    if role == "mismatched":
        endpoints = mismatched.create(domain)
        say("ready")
        for line in sys.stdin:
            if line.split()[:1] == ["quit"]:
                break
        del endpoints
        return
    kind, direction = role.split("-")
    if direction == "sub":
        Listener(domain, kind).start()
        say("ready")
        for line in sys.stdin:
            if line.split()[:1] == ["quit"]:
                break
        return
    publisher = Publisher(domain, kind)
    say("ready")
    for line in sys.stdin:
        words = line.split()
        if words[:1] == ["quit"]:
            break
        if words:
            say(publisher.command(words))


if __name__ == "__main__":
    main()
