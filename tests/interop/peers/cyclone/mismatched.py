"""Endpoints of Cyclone DDS that have one thing each that keeps an endpoint of the other side, with defaults else, from matching."""

from dataclasses import dataclass

from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.annotations import final, key
from cyclonedds.idl.types import int32
from cyclonedds.pub import DataWriter, Publisher
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader, Subscriber
from cyclonedds.topic import Topic
from cyclonedds.util import duration
from topic_types import ShapeType


@dataclass
@final
class Form(IdlStruct, typename="Form"):
    color: str
    key("color")
    x: int32
    y: int32
    shapesize: int32


@dataclass
@final
class Keyless(IdlStruct, typename="ShapeType"):
    color: str
    x: int32
    y: int32
    shapesize: int32


@dataclass
@final
class Worded(IdlStruct, typename="ShapeType"):
    color: str
    key("color")
    x: str
    y: int32
    shapesize: int32


LASTING = Policy.Durability.TransientLocal
HURRIED = Policy.Liveliness.Automatic(duration(seconds=5))
XCDR2 = Policy.DataRepresentation(use_xcdrv2_representation=True)

# Topic, type, QoS of the writer.
WRITERS = [
    ("LatencyBudget", ShapeType, [Policy.LatencyBudget(duration(seconds=2))]),
    ("Ownership", ShapeType, [Policy.Ownership.Exclusive]),
    ("LivelinessLease", ShapeType, [HURRIED]),
    ("TypeName", Form, []),
    ("TypeKey", Keyless, []),
    ("TypeMembers", Worded, []),
    ("Sqaure", ShapeType, []),
    ("Matching", ShapeType, []),
]
# The same of the reader.
READERS = [
    ("Reliability", ShapeType, [Policy.Reliability.Reliable(duration(seconds=1))]),
    ("Durability", ShapeType, [LASTING]),
    ("Deadline", ShapeType, [Policy.Deadline(duration(seconds=1))]),
    ("LivelinessKind", ShapeType, [Policy.Liveliness.ManualByTopic(duration(seconds=9))]),
    ("DestinationOrder", ShapeType, [Policy.DestinationOrder.BySourceTimestamp]),
    ("DataRepresentation", ShapeType, [XCDR2]),
]


def create(domain):
    """All of them; they live as long as what this returns."""
    participant = DomainParticipant(domain)
    coherent = Policy.PresentationAccessScope.Topic(coherent_access=True, ordered_access=False)
    subscriber = Subscriber(participant, qos=Qos(coherent))
    publisher = Publisher(participant, qos=Qos(Policy.Partition(["elsewhere"])))
    made = [
        DataReader(subscriber, Topic(participant, "Presentation", ShapeType)),
        DataWriter(publisher, Topic(participant, "Partition", ShapeType)),
    ]
    for name, datatype, qos in WRITERS:
        made.append(DataWriter(participant, Topic(participant, name, datatype), qos=Qos(*qos)))
    for name, datatype, qos in READERS:
        made.append(DataReader(participant, Topic(participant, name, datatype), qos=Qos(*qos)))
    return made
