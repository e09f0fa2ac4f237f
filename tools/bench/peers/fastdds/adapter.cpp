// eProsima Fast DDS 2 or 3. Options: transport = udp, shm or default; heartbeat_ms; buffer_kb, of sockets; segment_mb, of shared
// memory; data_sharing = 1: readers of the same host read in the writer's history, which is allocated when it is made.
#include "adapter.hpp"
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
#include <fastdds/dds/topic/Topic.hpp>

#include <arpa/inet.h>
#include <ifaddrs.h>

#include <algorithm>
#include <cstring>

using namespace eprosima::fastdds::dds;

namespace {

std::string address_of(const std::string &interface) {
    ifaddrs *all = nullptr;
    std::string found;
    if (getifaddrs(&all) != 0) return found;
    for (ifaddrs *one = all; one; one = one->ifa_next) {
        if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET || interface != one->ifa_name) continue;
        char text[INET_ADDRSTRLEN] = {};
        inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in *>(one->ifa_addr)->sin_addr, text, sizeof text);
        found = text;
    }
    freeifaddrs(all);
    return found;
}

template <class T>
T *made(T *entity, const char *what) {
    if (!entity) throw std::runtime_error(std::string("cannot create the ") + what);
    return entity;
}

class Endpoints : public bench::Session, public DataReaderListener {
public:
    Endpoints(const bench::Open &open, bench::OnPayload handler) : on_payload(std::move(handler)) {
        participant = made(
            DomainParticipantFactory::get_instance()->create_participant(open.domain, participant_qos(open)),
            "participant");
        const bool shares = open.option("data_sharing", "0") == "1";
        TypeSupport(new OctetsType(std::max(open.payload, open.arriving), shares)).register_type(participant);
        answer = [this](const uint8_t *payload, size_t size) { write(payload, size); };
        Publisher *publisher = made(participant->create_publisher(PUBLISHER_QOS_DEFAULT), "publisher");
        Subscriber *subscriber = made(participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT), "subscriber");
        DataWriterQos writing = DATAWRITER_QOS_DEFAULT;
        common(open, writing);
        writing.publish_mode().kind = SYNCHRONOUS_PUBLISH_MODE;
        const int64_t heartbeat = std::stoll(open.option("heartbeat_ms", "0"));
        if (heartbeat > 0)
            set_heartbeat_period(writing, Duration_t(static_cast<int32_t>(heartbeat / 1000),
                                                     static_cast<uint32_t>(heartbeat % 1000) * 1000000u));
        DataReaderQos reading = DATAREADER_QOS_DEFAULT;
        common(open, reading);
        for (const auto &name : open.writes)
            writers.push_back(made(publisher->create_datawriter(topic(name), writing), "writer"));
        for (const auto &name : open.reads)
            readers.push_back(made(subscriber->create_datareader(topic(name), reading, this), "reader"));
    }

    ~Endpoints() override {
        participant->delete_contained_entities();
        DomainParticipantFactory::get_instance()->delete_participant(participant);
    }

    size_t matched() override {
        int fewest = INT32_MAX;
        for (auto *writer : writers) {
            PublicationMatchedStatus status;
            writer->get_publication_matched_status(status);
            fewest = std::min(fewest, status.current_count);
        }
        for (auto *reader : readers) {
            SubscriptionMatchedStatus status;
            reader->get_subscription_matched_status(status);
            fewest = std::min(fewest, status.current_count);
        }
        return fewest == INT32_MAX ? 0 : static_cast<size_t>(fewest);
    }

    void write(const uint8_t *payload, size_t size) override {
        thread_local Octets octets;
        octets.assign(payload, payload + size);
        if (!write_sample(writers.front(), octets)) throw std::runtime_error("write refused");
    }

    void on_data_available(DataReader *reader) override {
        thread_local Octets octets;
        SampleInfo info;
        while (reader->take_next_sample(&octets, &info) == OK)
            if (info.valid_data) on_payload(octets.data(), octets.size(), answer);
    }

private:
    static DomainParticipantQos participant_qos(const bench::Open &open) {
        DomainParticipantQos qos;
        const std::string transport = open.option("transport", "default");
        if (transport == "udp") {
            auto udp = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
            udp->interfaceWhiteList.push_back(address_of(open.interface));
            const auto buffer = static_cast<uint32_t>(std::stoul(open.option("buffer_kb", "0"))) * 1024u;
            if (buffer > 0) udp->sendBufferSize = udp->receiveBufferSize = buffer;
            qos.transport().use_builtin_transports = false;
            qos.transport().user_transports.push_back(udp);
        } else if (transport == "shm") {
            auto memory = std::make_shared<eprosima::fastdds::rtps::SharedMemTransportDescriptor>();
            const auto segment = static_cast<uint32_t>(std::stoul(open.option("segment_mb", "0"))) << 20;
            if (segment > 0) memory->segment_size(segment);
            qos.transport().use_builtin_transports = false;
            qos.transport().user_transports.push_back(memory);
        } else if (transport != "default") {
            throw std::runtime_error("transport: udp, shm or default");
        }
        return qos;
    }

    template <class Qos>
    static void common(const bench::Open &open, Qos &qos) {
        qos.reliability().kind = open.reliable ? RELIABLE_RELIABILITY_QOS : BEST_EFFORT_RELIABILITY_QOS;
        qos.reliability().max_blocking_time = Duration_t(10, 0);
        qos.durability().kind = VOLATILE_DURABILITY_QOS;
        qos.endpoint().history_memory_policy = PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
        if (open.keep_last > 0) {
            qos.history().kind = KEEP_LAST_HISTORY_QOS;
            qos.history().depth = open.keep_last;
        } else {
            // About 64 MB, as for the others.
            const auto room = 64000000 / std::max<size_t>({open.payload, open.arriving, 1});
            qos.history().kind = KEEP_ALL_HISTORY_QOS;
            qos.resource_limits().max_samples = static_cast<int32_t>(std::clamp<size_t>(room, 16, 1000));
            qos.resource_limits().max_samples_per_instance = qos.resource_limits().max_samples;
            qos.resource_limits().allocated_samples = 0;
        }
        if (open.option("data_sharing", "0") == "1") {
            qos.endpoint().history_memory_policy = PREALLOCATED_MEMORY_MODE;
            qos.resource_limits().allocated_samples = qos.resource_limits().max_samples;
            qos.data_sharing().automatic();
        } else {
            qos.data_sharing().off();
        }
    }

    Topic *topic(const std::string &name) {
        return made(participant->create_topic(name, "Octets", TOPIC_QOS_DEFAULT), "topic");
    }

    bench::OnPayload on_payload;
    bench::Write answer;
    DomainParticipant *participant = nullptr;
    std::vector<DataWriter *> writers;
    std::vector<DataReader *> readers;
};

}  // namespace

int main() {
    bench::Implementation fastdds;
    fastdds.name = "Fast DDS";
    fastdds.version = FASTDDS_VERSION;
    fastdds.can = "intra-process,two-hosts,reliable,best-effort,many-topics,many-readers";
    fastdds.built = "shared library of Debian's package, adapter g++ -O2";
    fastdds.options = {"transport", "heartbeat_ms", "buffer_kb", "segment_mb", "data_sharing"};
    fastdds.open = [](const bench::Open &open, bench::OnPayload on_payload) {
        return std::make_unique<Endpoints>(open, std::move(on_payload));
    };
    return bench::serve(std::move(fastdds));
}
