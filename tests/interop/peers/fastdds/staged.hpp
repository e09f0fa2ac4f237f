// Endpoints of Fast DDS as commands describe them: `writer TOPIC WORD…`, `reader TOPIC WORD…` with the words of
// tests/interop/src/staged.rs; `matched TOPIC` tells how many endpoints match those of a topic.
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <vector>

static std::vector<std::string> parts_of(const std::string& text, char separator) {
    std::istringstream in(text);
    std::vector<std::string> parts;
    for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
    return parts;
}

static Duration_t seconds_of(const std::string& text) { return Duration_t(std::stoi(text), 0); }

template <class Qos>
static void set_liveliness(Qos& qos, const std::string& text) {
    const auto parts = parts_of(text, ':');
    auto& liveliness = qos.liveliness();
    if (parts[0] == "by_participant") liveliness.kind = MANUAL_BY_PARTICIPANT_LIVELINESS_QOS;
    if (parts[0] == "by_topic") liveliness.kind = MANUAL_BY_TOPIC_LIVELINESS_QOS;
    liveliness.lease_duration = seconds_of(parts[1]);
    liveliness.announcement_period = Duration_t(std::stoi(parts[1]) / 3, 0);
}

// False for what it does not know.
template <class Qos>
static bool set_policy(Qos& qos, const std::string& name, const std::string& text) {
    if (name == "reliability") {
        qos.reliability().kind = text == "reliable" ? RELIABLE_RELIABILITY_QOS : BEST_EFFORT_RELIABILITY_QOS;
    } else if (name == "durability") {
        qos.durability().kind =
            text == "volatile" ? VOLATILE_DURABILITY_QOS : TRANSIENT_LOCAL_DURABILITY_QOS;
    } else if (name == "deadline") {
        qos.deadline().period = seconds_of(text);
    } else if (name == "budget") {
        qos.latency_budget().duration = seconds_of(text);
    } else if (name == "ownership") {
        qos.ownership().kind = text == "exclusive" ? EXCLUSIVE_OWNERSHIP_QOS : SHARED_OWNERSHIP_QOS;
    } else if (name == "order") {
        qos.destination_order().kind = BY_SOURCE_TIMESTAMP_DESTINATIONORDER_QOS;
    } else if (name == "liveliness") {
        set_liveliness(qos, text);
    } else {
        return name == "representation" && text == "xcdr1";
    }
    return true;
}

template <class Group>
static bool set_policy_of_group(Group& qos, const std::string& name, const std::string& text) {
    if (name == "partition") {
        for (const auto& partition : parts_of(text, ',')) qos.partition().push_back(partition.c_str());
        return true;
    }
    if (name != "presentation") return false;
    for (const auto& part : parts_of(text, '+')) {
        auto& presentation = qos.presentation();
        if (part == "topic") presentation.access_scope = TOPIC_PRESENTATION_QOS;
        if (part == "group") presentation.access_scope = GROUP_PRESENTATION_QOS;
        if (part == "coherent") presentation.coherent_access = true;
        if (part == "ordered") presentation.ordered_access = true;
    }
    return true;
}

class Stage {
public:
    explicit Stage(DomainParticipant* participant) : participant_(participant), type_(new TypeSupportOf<ShapeType>()) {
        type_.register_type(participant);
    }

    std::string command(std::istringstream& words) {
        std::string verb, name;
        words >> verb >> name;
        if (verb == "matched") return matched(name);
        Topic* topic = participant_->create_topic(name, ShapeType::name, TOPIC_QOS_DEFAULT);
        if (topic == nullptr) return "error topic";
        if (verb == "writer") return writer(topic, words);
        return verb == "reader" ? reader(topic, words) : "error unknown command " + verb;
    }

private:
    template <class Group, class Qos>
    static bool understand(std::istringstream& words, Group& group, Qos& qos) {
        for (std::string word; words >> word;) {
            const auto parts = parts_of(word, '=');
            const std::string text = parts.size() > 1 ? parts[1] : "";
            if (!set_policy_of_group(group, parts[0], text) && !set_policy(qos, parts[0], text)) return false;
        }
        return true;
    }

    std::string writer(Topic* topic, std::istringstream& words) {
        PublisherQos group = PUBLISHER_QOS_DEFAULT;
        DataWriterQos qos = DATAWRITER_QOS_DEFAULT;
        if (!understand(words, group, qos)) return "error unknown word";
        auto* made = participant_->create_publisher(group)->create_datawriter(topic, qos);
        writers_[topic->get_name()] = made;
        return made == nullptr ? "error no writer" : "ok";
    }

    std::string reader(Topic* topic, std::istringstream& words) {
        SubscriberQos group = SUBSCRIBER_QOS_DEFAULT;
        DataReaderQos qos = DATAREADER_QOS_DEFAULT;
        if (!understand(words, group, qos)) return "error unknown word";
        auto* made = participant_->create_subscriber(group)->create_datareader(topic, qos);
        readers_[topic->get_name()] = made;
        return made == nullptr ? "error no reader" : "ok";
    }

    std::string matched(const std::string& name) {
        int count = 0;
        if (writers_.count(name)) {
            PublicationMatchedStatus status;
            writers_[name]->get_publication_matched_status(status);
            count = status.current_count;
        } else if (readers_.count(name)) {
            SubscriptionMatchedStatus status;
            readers_[name]->get_subscription_matched_status(status);
            count = status.current_count;
        }
        return "matched " + name + " " + std::to_string(count);
    }

    DomainParticipant* participant_;
    TypeSupport type_;
    std::map<std::string, DataWriter*> writers_;
    std::map<std::string, DataReader*> readers_;
};
