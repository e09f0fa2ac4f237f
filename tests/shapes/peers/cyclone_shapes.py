"""Cyclone DDS with the options and lines of shape_main: see docs/shapes.md."""

import argparse
import random
import signal
import sys
import threading
from dataclasses import dataclass

from cyclonedds.core import DDSException, InstanceState, Listener, ReadCondition, SampleState, ViewState
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import appendable, key
from cyclonedds.idl.types import bounded_str, int32, sequence, uint8
from cyclonedds.internal import InvalidSample
from cyclonedds.pub import DataWriter, Publisher
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader, Subscriber
from cyclonedds.topic import Topic
from cyclonedds.util import duration

ENDED = threading.Event()
# More samples than any reader has.
MOST = 100000


@dataclass
@appendable
class ShapeType(IdlStruct, typename="ShapeType"):
    color: bounded_str[128]
    key("color")
    x: int32
    y: int32
    shapesize: int32
    additional_payload_size: sequence[uint8]


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class Tell(Listener):
    """Prints what happens to an endpoint, from the moment when its creation has been told."""

    def __init__(self, topic):
        super().__init__()
        self.of = f"topic: '{topic}'  type: 'ShapeType' :"
        self.lock = threading.Lock()
        self.kept = []

    def tell(self, line):
        with self.lock:
            if self.kept is None:
                say(line)
            else:
                self.kept.append(line)

    def created(self, line):
        with self.lock:
            for each in [line, *self.kept]:
                say(each)
            self.kept = None

    def on_publication_matched(self, writer, status):
        counts = f"{status.current_count} (change = {status.current_count_change})"
        self.tell(f"on_publication_matched() {self.of} matched readers {counts}")

    def on_subscription_matched(self, reader, status):
        counts = f"{status.current_count} (change = {status.current_count_change})"
        self.tell(f"on_subscription_matched() {self.of} matched writers {counts}")

    def on_offered_incompatible_qos(self, writer, status):
        self.tell(f"on_offered_incompatible_qos() {self.of} {status.last_policy_id}")

    def on_requested_incompatible_qos(self, reader, status):
        self.tell(f"on_requested_incompatible_qos() {self.of} {status.last_policy_id}")

    def on_offered_deadline_missed(self, writer, status):
        self.tell(f"on_offered_deadline_missed() {self.of} (total = {status.total_count})")

    def on_requested_deadline_missed(self, reader, status):
        self.tell(f"on_requested_deadline_missed() {self.of} (total = {status.total_count})")


def options():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for flag in ("-P", "-S", "-b", "-r", "-w", "-R", "--coherent", "--ordered", "--take-read"):
        parser.add_argument(flag, action="store_true")
    for option, value in (
        ("-d", 0), ("-k", None), ("-f", 0), ("-s", -1), ("-x", 1), ("-z", 20), ("--write-period", 33),
        ("--read-period", 100), ("--time-filter", 0), ("--lifespan", 0), ("--num-iterations", 0),
        ("--num-instances", 1), ("--num-topics", 1), ("--coherent-sample-count", 0),
        ("--additional-payload-size", 0), ("--size-modulo", 0),
    ):
        parser.add_argument(option, type=int, default=value)
    for option, value in (
        ("-t", "Square"), ("-c", None), ("-p", None), ("-D", "v"), ("--final-instance-state", None),
        ("--access-scope", "i"), ("--cft", None),
    ):
        parser.add_argument(option, default=value)
    return parser.parse_args()


def ms(number):
    return duration(milliseconds=number)


def endpoint_qos(o):
    policies = [
        Policy.Reliability.BestEffort if o.b else Policy.Reliability.Reliable(ms(100)),
        {"v": Policy.Durability.Volatile, "l": Policy.Durability.TransientLocal,
         "t": Policy.Durability.Transient, "p": Policy.Durability.Persistent}[o.D],
        Policy.DataRepresentation(use_cdrv0_representation=o.x == 1, use_xcdrv2_representation=o.x == 2),
        Policy.Ownership.Shared if o.s < 0 else Policy.Ownership.Exclusive,
    ]
    if o.k is not None:
        policies.append(Policy.History.KeepAll if o.k == 0 else Policy.History.KeepLast(o.k))
    if o.f:
        policies.append(Policy.Deadline(ms(o.f)))
    if o.P:
        # Keep everything for late readers where everything is kept; nothing is disposed unless asked for.
        policies.append(Policy.WriterDataLifecycle(autodispose=o.final_instance_state == "d"))
        if o.D != "v" and o.k == 0:
            policies.append(Policy.DurabilityService(ms(0), Policy.History.KeepAll, -1, -1, -1))
        if o.s >= 0:
            policies.append(Policy.OwnershipStrength(o.s))
        if o.lifespan:
            policies.append(Policy.Lifespan(ms(o.lifespan)))
    elif o.time_filter:
        policies.append(Policy.TimeBasedFilter(ms(o.time_filter)))
    return Qos(*policies)


def group_qos(o):
    policies = [Policy.Partition([o.p])] if o.p else []
    if o.coherent or o.ordered:
        scope = {"i": Policy.PresentationAccessScope.Instance, "t": Policy.PresentationAccessScope.Topic,
                 "g": Policy.PresentationAccessScope.Group}[o.access_scope]
        policies.append(scope(coherent_access=o.coherent, ordered_access=o.ordered))
    return Qos(*policies) if policies else None


def line_of(topic, shape):
    payload = f" {{{shape.additional_payload_size[-1]}}}" if shape.additional_payload_size else ""
    return f"{topic:<10} {shape.color:<10} {shape.x:03d} {shape.y:03d} [{shape.shapesize}]{payload}"


def topics_of(o, participant):
    names = [o.t + (str(n) if n else "") for n in range(o.num_topics)]
    made = []
    for name in names:
        made.append((name, Topic(participant, name, ShapeType)))
        say(f"Create topic: {name}")
    return made


def publish(o, participant):
    publisher = Publisher(participant, qos=group_qos(o))
    color = o.c or "BLUE"
    writers = []
    for name, topic in topics_of(o, participant):
        tell = Tell(name)
        writers.append((name, DataWriter(publisher, topic, qos=endpoint_qos(o), listener=tell)))
        tell.created(f"Create writer for topic: {name} color: {color}")
    colors = [color + (str(n) if n else "") for n in range(o.num_instances)]
    x, y, size = random.randrange(240), random.randrange(270), o.z
    dx, dy = random.randint(1, 5), random.randint(1, 5)
    payload = bytes([255]) * o.additional_payload_size
    in_sets = o.coherent_sample_count if o.coherent or o.ordered else 0
    iteration = 0
    while not ENDED.is_set() and (not o.num_iterations or iteration < o.num_iterations):
        dx = -dx if not 0 <= x + dx <= 240 else dx
        dy = -dy if not 0 <= y + dy <= 270 else dy
        x, y = x + dx, y + dy
        if o.z == 0:
            size = (size % o.size_modulo if o.size_modulo else size) + 1
        if in_sets and iteration % in_sets == 0:
            say("Started Coherent Set")
            publisher.begin_coherent()
        for name, writer in writers:
            for each in colors:
                shape = ShapeType(each, x, y, size, payload)
                writer.write(shape)
                if o.w:
                    say(line_of(name, shape))
        if in_sets and iteration % in_sets == in_sets - 1:
            publisher.end_coherent()
            say("Finished Coherent Set")
        iteration += 1
        ENDED.wait(o.write_period / 1000)
    for _, writer in writers:
        for each in colors:
            if o.final_instance_state == "d":
                writer.dispose(ShapeType(each, 0, 0, 0, []))
            elif o.final_instance_state == "u":
                writer.unregister_instance(ShapeType(each, 0, 0, 0, []))
        writer.wait_for_acks(ms(300 if ENDED.is_set() else 1000))


def show(o, name, sample, colors):
    info = sample.sample_info
    if not isinstance(sample, InvalidSample):
        colors[info.instance_handle] = sample.color
        say(line_of(name, sample))
    color = colors.get(info.instance_handle, "")
    if info.instance_state == InstanceState.NotAliveDisposed:
        say(f"{name:<10} {color:<10} NOT_ALIVE_DISPOSED_INSTANCE_STATE")
    elif info.instance_state == InstanceState.NotAliveNoWriters:
        say(f"{name:<10} {color:<10} NOT_ALIVE_NO_WRITERS_INSTANCE_STATE")


def subscribe(o, participant):
    if o.cft:
        say("Create topic: " + o.t)
        say("content filter expressions: not supported")
        return
    subscriber = Subscriber(participant, qos=group_qos(o))
    readers = []
    for name, topic in topics_of(o, participant):
        if o.c:
            # What Cyclone DDS has in place of content filters: its readers ask a function of the topic, and announce nothing.
            topic.set_topic_filter(lambda _, sample: sample.color == o.c)
        tell = Tell(name)
        reader = DataReader(subscriber, topic, qos=endpoint_qos(o), listener=tell)
        tell.created(f"Create reader for topic: {name}")
        # What read() leaves in the reader is not shown again.
        unread = ReadCondition(reader, SampleState.NotRead | ViewState.Any | InstanceState.Any)
        readers.append((name, reader, unread))
    colors, iteration = {}, 0
    while not ENDED.is_set() and (not o.num_iterations or iteration < o.num_iterations):
        # There is no begin_access.
        if o.coherent:
            say(f"Reading coherent sets, iteration {iteration}")
        if o.ordered:
            say(f"Reading with ordered access, iteration {iteration}")
        for name, reader, unread in readers:
            samples = reader.read(N=MOST, condition=unread) if o.R else reader.take(N=MOST)
            if not o.take_read:
                # There is no take_next_instance; handles are in its order.
                samples.sort(key=lambda sample: sample.sample_info.instance_handle)
            for sample in samples:
                show(o, name, sample, colors)
        iteration += 1
        ENDED.wait(o.read_period / 1000)


def main():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ENDED.set())
    o = options()
    participant = DomainParticipant(o.d)
    try:
        (publish if o.P else subscribe)(o, participant)
    except DDSException as error:
        say(f"{error.msg}: not supported")
    say("Done.")


if __name__ == "__main__":
    main()
