// Fast DDS as a peer: `fastdds_peer ROLE DOMAIN [xcdr2]`, roles shape-pub, shape-sub, video-pub, video-sub, staged.
// `xcdr2` is the representation of a publisher; Fast DDS 2 has only XCDR1.
// PEER_FILTER, EXPRESSION or EXPRESSION|PARAMETER|…, makes shape-sub a reader of a content-filtered topic (Fast DDS 2).
// PEER_DATA_ADDRESS is an address at which it announces to receive data, apart from discovery.
// PEER_KEEP_LAST is the depth of a KEEP_LAST history in place of KEEP_ALL.
// PEER_TCP_LISTEN is a port of TCP that it listens at, in place of UDP; PEER_TCP_PEER one of this host that it connects to.
// Speaks the line protocol of tests/interop/README.md on standard input and output.
#if __has_include(<fastdds/rtps/transport/UDPv4TransportDescriptor.hpp>)
#include "version3.hpp"
#else
#include "version2.hpp"
#endif

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/ContentFilteredTopic.hpp>
#include <fastdds/dds/topic/Topic.hpp>
#include <zlib.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <thread>

using namespace eprosima::fastdds::dds;
using Clock = std::chrono::steady_clock;

#include "staged.hpp"

// Uses TCP in place of UDP if the environment says so.
static bool use_tcp(DomainParticipantQos& qos) {
    const char* listen = std::getenv("PEER_TCP_LISTEN");
    const char* peer = std::getenv("PEER_TCP_PEER");
    if (listen == nullptr && peer == nullptr) return false;
    auto tcp = std::make_shared<eprosima::fastdds::rtps::TCPv4TransportDescriptor>();
    tcp->interfaceWhiteList.push_back("127.0.0.1");
    if (listen != nullptr) tcp->add_listener_port(static_cast<uint16_t>(std::atoi(listen)));
    qos.transport().user_transports.push_back(tcp);
    if (peer != nullptr) {
        Locator_t locator;
        locator.kind = LOCATOR_KIND_TCPv4;
        IPLocator::setIPv4(locator, "127.0.0.1");
        IPLocator::setPhysicalPort(locator, static_cast<uint16_t>(std::atoi(peer)));
        qos.wire_protocol().builtin.initialPeersList.push_back(locator);
    }
    return true;
}

static DomainParticipant* make_participant(int domain) {
    DomainParticipantQos qos;
    auto udp = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
    udp->interfaceWhiteList.push_back("127.0.0.1");
    qos.transport().use_builtin_transports = false;
    if (!use_tcp(qos)) qos.transport().user_transports.push_back(udp);
    // Where endpoints receive data, as `default_unicast_locator_list` says in a profile: discovery stays where it is.
    if (const char* address = std::getenv("PEER_DATA_ADDRESS")) {
        Locator_t locator;
        locator.port = 7999;
        IPLocator::setIPv4(locator, address);
        qos.wire_protocol().default_unicast_locator_list.push_back(locator);
    }
    return DomainParticipantFactory::get_instance()->create_participant(domain, qos);
}

template <class Qos>
static void common(Qos& qos) {
    qos.reliability().kind = RELIABLE_RELIABILITY_QOS;
    qos.reliability().max_blocking_time = Duration_t(10, 0);
    qos.durability().kind = TRANSIENT_LOCAL_DURABILITY_QOS;
    qos.history().kind = KEEP_ALL_HISTORY_QOS;
    if (const char* depth = std::getenv("PEER_KEEP_LAST")) {
        qos.history().kind = KEEP_LAST_HISTORY_QOS;
        qos.history().depth = std::atoi(depth);
    }
    qos.endpoint().history_memory_policy = PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
}

// Listeners print on threads of their own: a line leaves in one piece.
template <class... Words>
static void say(const Words&... words) {
    static std::mutex one_at_a_time;
    std::ostringstream line;
    (line << ... << words);
    const std::lock_guard<std::mutex> guard(one_at_a_time);
    std::cout << line.str() << std::endl;
}

// Octet i of frame n is (i * 31 + n) mod 251.
static std::vector<uint8_t> payload_of(uint64_t number, size_t length) {
    std::vector<uint8_t> octets(length);
    for (size_t i = 0; i < length; ++i) octets[i] = static_cast<uint8_t>((i * 31 + number) % 251);
    return octets;
}

template <class T>
static std::string command(DataWriter* writer, std::istringstream& words) {
    std::string verb;
    words >> verb;
    if (verb == "wait-matched") {
        int wanted = 0;
        words >> wanted;
        const auto deadline = Clock::now() + std::chrono::seconds(30);
        PublicationMatchedStatus status;
        do {
            writer->get_publication_matched_status(status);
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        } while (status.current_count < wanted && Clock::now() < deadline);
        return status.current_count < wanted ? "error not matched" : "ok";
    }
    if constexpr (std::is_same_v<T, ShapeType>) {
        ShapeType shape;
        words >> shape.color >> shape.x >> shape.y >> shape.shapesize;
        if (verb == "write") return write_sample(writer, shape) ? "ok" : "error write";
        if (verb == "dispose")
            return writer->dispose(&shape, HANDLE_NIL) == OK ? "ok" : "error dispose";
        if (verb == "unregister")
            return writer->unregister_instance(&shape, HANDLE_NIL) == OK ? "ok" : "error unregister";
    } else if (verb == "frames") {
        VideoFrame frame;
        uint64_t count = 0, length = 0, period = 0;
        words >> frame.camera_id >> count >> length >> period;
        auto next = Clock::now();
        for (uint64_t number = 0; number < count; ++number) {
            std::this_thread::sleep_until(next);
            next += std::chrono::microseconds(period);
            frame.frame_number = number;
            frame.payload = payload_of(number, length);
            if (!write_sample(writer, frame)) return "error write";
        }
        return "ok";
    }
    return "error unknown command " + verb;
}

class Printer : public DataReaderListener {
public:
    void on_data_available(DataReader* reader) override {
        if (reader->get_topicdescription()->get_type_name() == ShapeType::name) {
            drain<ShapeType>(reader);
        } else {
            drain<VideoFrame>(reader);
        }
    }

private:
    static void print(const ShapeType& s) {
        say("sample ", s.color, ' ', s.x, ' ', s.y, ' ', s.shapesize);
    }
    static void print(const VideoFrame& f) {
        const auto crc = crc32(0, f.payload.data(), static_cast<uInt>(f.payload.size()));
        say("frame ", f.camera_id, ' ', f.frame_number, ' ', f.payload.size(), ' ', crc);
    }

    template <class T>
    void drain(DataReader* reader) {
        T sample;
        SampleInfo info;
        while (reader->take_next_sample(&sample, &info) == OK) {
            if (info.valid_data) {
                names[info.instance_handle] = sample.key();
                print(sample);
            }
            const auto name = names.count(info.instance_handle) ? names[info.instance_handle] : "?";
            if (info.instance_state == NOT_ALIVE_DISPOSED_INSTANCE_STATE) say("disposed ", name);
            if (info.instance_state == NOT_ALIVE_NO_WRITERS_INSTANCE_STATE) say("no-writers ", name);
        }
    }

    std::map<InstanceHandle_t, std::string> names;
};

// The topic, or one with the filter that is asked for; nothing if that cannot be.
static TopicDescription* filtered(DomainParticipant* participant, Topic* topic) {
    const char* filter = std::getenv("PEER_FILTER");
    if (filter == nullptr) return topic;
    if (!describe_shape(255, false)) return nullptr;
    std::istringstream words(filter);
    std::string expression, parameter;
    std::getline(words, expression, '|');
    std::vector<std::string> parameters;
    while (std::getline(words, parameter, '|')) parameters.push_back(parameter);
    return participant->create_contentfilteredtopic("Some", topic, expression, parameters);
}

template <class T>
static int run(const std::string& direction, const std::string& topic_name, int domain, bool xcdr2) {
    DomainParticipant* participant = make_participant(domain);
    TypeSupport type(new TypeSupportOf<T>());
    type.register_type(participant);
    Topic* topic = participant->create_topic(topic_name, T::name, TOPIC_QOS_DEFAULT);
    Printer printer;
    DataWriter* writer = nullptr;
    if (direction == "pub") {
        DataWriterQos qos = DATAWRITER_QOS_DEFAULT;
        common(qos);
        qos.resource_limits().max_samples = 5000;
        qos.writer_data_lifecycle().autodispose_unregistered_instances = false;
        qos.publish_mode().kind = SYNCHRONOUS_PUBLISH_MODE;
        if (xcdr2) qos.representation().m_value = {XCDR2_DATA_REPRESENTATION};
        writer = participant->create_publisher(PUBLISHER_QOS_DEFAULT)->create_datawriter(topic, qos);
    } else {
        DataReaderQos qos = DATAREADER_QOS_DEFAULT;
        common(qos);
        accept_all_representations(qos);
        TopicDescription* description = filtered(participant, topic);
        if (description == nullptr) {
            std::cerr << "no filter" << std::endl;
            return 2;
        }
        participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT)->create_datareader(description, qos, &printer);
    }
    say("ready");
    std::string line;
    while (std::getline(std::cin, line) && line != "quit") {
        std::istringstream words(line);
        if (writer != nullptr) say(command<T>(writer, words));
    }
    participant->delete_contained_entities();
    DomainParticipantFactory::get_instance()->delete_participant(participant);
    return 0;
}

static int stage(int domain) {
    DomainParticipant* participant = make_participant(domain);
    Stage stage(participant);
    say("ready");
    std::string line;
    while (std::getline(std::cin, line) && line != "quit") {
        std::istringstream words(line);
        say(stage.command(words));
    }
    participant->delete_contained_entities();
    DomainParticipantFactory::get_instance()->delete_participant(participant);
    return 0;
}

int main(int argc, char** argv) {
    const bool xcdr2 = argc == 4 && std::string(argv[3]) == "xcdr2";
    if (argc != 3 && !(xcdr2 && speaks_xcdr2)) {
        std::cerr << "usage: fastdds_peer shape-pub|shape-sub|video-pub|video-sub|staged DOMAIN [xcdr2]" << std::endl;
        return 2;
    }
    const std::string role = argv[1];
    const std::string direction = role.substr(role.find('-') + 1);
    const int domain = std::stoi(argv[2]);
    if (role == "staged") return stage(domain);
    return role.rfind("shape", 0) == 0 ? run<ShapeType>(direction, "Square", domain, xcdr2)
                                       : run<VideoFrame>(direction, "Video", domain, xcdr2);
}
