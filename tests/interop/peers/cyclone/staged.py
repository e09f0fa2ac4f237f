"""Endpoints of Cyclone DDS as commands describe them: `writer TOPIC WORD…`, `reader TOPIC WORD…` with the words of
tests/interop/src/staged.rs; `matched TOPIC` tells how many endpoints match those of a topic."""

from cyclonedds.domain import DomainParticipant
from cyclonedds.pub import DataWriter, Publisher
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader, Subscriber
from cyclonedds.topic import Topic
from cyclonedds.util import duration
from topic_types import ShapeType


def seconds(text):
    return duration(seconds=int(text))


def liveliness(text):
    kind, lease = text.split(":")
    kinds = {
        "automatic": Policy.Liveliness.Automatic,
        "by_participant": Policy.Liveliness.ManualByParticipant,
        "by_topic": Policy.Liveliness.ManualByTopic,
    }
    return kinds[kind](seconds(lease))


def presentation(text):
    scope, *access = text.split("+")
    scopes = {"topic": Policy.PresentationAccessScope.Topic, "group": Policy.PresentationAccessScope.Group}
    return scopes[scope](coherent_access="coherent" in access, ordered_access="ordered" in access)


def representation(text):
    return Policy.DataRepresentation(
        use_cdrv0_representation=text == "xcdr1", use_xcdrv2_representation=text == "xcdr2"
    )


POLICIES = {
    "reliability": lambda text: {
        "reliable": Policy.Reliability.Reliable(duration(seconds=1)),
        "best_effort": Policy.Reliability.BestEffort,
    }[text],
    "durability": lambda text: {
        "volatile": Policy.Durability.Volatile,
        "transient_local": Policy.Durability.TransientLocal,
    }[text],
    "deadline": lambda text: Policy.Deadline(seconds(text)),
    "budget": lambda text: Policy.LatencyBudget(seconds(text)),
    "ownership": lambda text: {"exclusive": Policy.Ownership.Exclusive, "shared": Policy.Ownership.Shared}[text],
    "liveliness": liveliness,
    "order": lambda text: {"source": Policy.DestinationOrder.BySourceTimestamp}[text],
    "representation": representation,
}
OF_GROUP = {"partition": lambda text: Policy.Partition(text.split(",")), "presentation": presentation}


class Stage:
    def __init__(self, domain):
        self.participant = DomainParticipant(domain)
        self.endpoints = {}

    def make(self, side, topic, words):
        words = dict(word.split("=") for word in words)
        of = lambda makers: Qos(*[makers[name](text) for name, text in words.items() if name in makers])
        topic = Topic(self.participant, topic, ShapeType)
        group, endpoint = {"writer": (Publisher, DataWriter), "reader": (Subscriber, DataReader)}[side]
        return endpoint(group(self.participant, qos=of(OF_GROUP)), topic, qos=of(POLICIES))

    def command(self, words):
        verb, topic, *rest = words
        try:
            if verb != "matched":
                self.endpoints[topic] = (verb, self.make(verb, topic, rest))
                return "ok"
            side, endpoint = self.endpoints[topic]
            if side == "writer":
                status = endpoint.get_publication_matched_status()
            else:
                status = endpoint.get_subscription_matched_status()
            return f"matched {topic} {status.current_count}"
        except Exception as error:
            return f"error {error}"
