// Cyclone DDS's C library as a peer: `native ROLE DOMAIN`, in the line protocol of tests/interop/README.md. Roles `report-pub`
// and `report-sub` are those of peer.py; role `versions` has every version of a type at once:
//
//     types COUNT    waits until COUNT writers and readers of the topic `Versions` are known whose USER_DATA is a number, gets
//                    the type of each from whoever has it, and makes a writer and a reader of each
//     matched        prints `reader N WRITER…` and `writer N READER…` of each, where an endpoint is `dunlin:N` or `cyclone:N`
#include "../../../../tools/bench/peers/cyclone/api.hpp"
#include "report.hpp"
#include "serializer.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace cyclone;

constexpr const char *TOPIC = "Versions";
constexpr std::chrono::seconds PATIENCE(25);

// What USER_DATA says: `dunlin:N` or `cyclone:N`.
std::string name_of(const Endpoint &endpoint) {
    void *data = nullptr;
    size_t size = 0;
    std::string name;
    if (dds_qget_userdata(endpoint.qos, &data, &size) && size > 0) name.assign(static_cast<char *>(data), size);
    dds_free(data);
    return name;
}

struct Version {
    dds_entity_t writer, reader;
};

class Participant {
public:
    explicit Participant(uint32_t domain)
        : participant(check(dds_create_participant(domain, nullptr, nullptr), "participant")),
          publications(check(dds_create_reader(participant, DCPS_PUBLICATION, nullptr, nullptr), "publications")),
          subscriptions(check(dds_create_reader(participant, DCPS_SUBSCRIPTION, nullptr, nullptr), "subscriptions")) {}

    void types(size_t count) {
        std::map<int, dds_topic_descriptor *> known, others;
        auto deadline = std::chrono::steady_clock::now() + PATIENCE;
        while (known.size() < count || others.size() < count) {
            look(publications, known, true);
            look(subscriptions, others, false);
            if (std::chrono::steady_clock::now() > deadline)
                throw std::runtime_error(std::to_string(known.size()) + " types of writers, " + std::to_string(others.size()) + " readers");
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        for (auto [number, descriptor] : known) versions[number] = endpoints(number, descriptor);
    }

    void matched() const {
        for (auto [number, version] : versions) {
            std::cout << "reader " << number;
            each(version.reader, dds_get_matched_publications, dds_get_matched_publication_data);
            std::cout << "\nwriter " << number;
            each(version.writer, dds_get_matched_subscriptions, dds_get_matched_subscription_data);
            std::cout << std::endl;
        }
    }

private:
    void look(dds_entity_t reader, std::map<int, dds_topic_descriptor *> &known, bool with_type) {
        void *samples[64] = {};
        dds_sample_info infos[64];
        int32_t count = check(dds_take(reader, samples, infos, 64, 64), "built-in topic");
        for (int32_t at = 0; at < count; ++at) {
            const auto &endpoint = *static_cast<Endpoint *>(samples[at]);
            std::string name = infos[at].valid_data && !strcmp(endpoint.topic, TOPIC) ? name_of(endpoint) : "";
            if (name.rfind("dunlin:", 0) != 0) continue;
            dds_topic_descriptor *&descriptor = known[std::stoi(name.substr(7))];
            if (!with_type) continue;
            const dds_typeinfo *information = nullptr;
            check(dds_builtintopic_get_endpoint_type_info(samples[at], &information), "type information");
            check(dds_create_topic_descriptor(GLOBAL, participant, information, 10'000'000'000, &descriptor), name.c_str());
        }
        if (count > 0) check(dds_return_loan(reader, samples, count), "loan");
    }

    Version endpoints(int number, const dds_topic_descriptor *descriptor) {
        std::string name = "cyclone:" + std::to_string(number);
        dds_qos *qos = dds_create_qos();
        const int16_t xcdr2[] = {2};
        dds_qset_data_representation(qos, 1, xcdr2);
        dds_qset_reliability(qos, 1, 1'000'000'000);
        dds_entity_t topic = check(dds_create_topic(participant, descriptor, TOPIC, qos, nullptr), "topic");
        dds_qset_userdata(qos, name.data(), name.size());
        Version made{check(dds_create_writer(participant, topic, qos, nullptr), "writer"),
                     check(dds_create_reader(participant, topic, qos, nullptr), "reader")};
        dds_delete_qos(qos);
        return made;
    }

    template <class Handles, class Data>
    static void each(dds_entity_t entity, Handles handles, Data data) {
        uint64_t matched[256];
        int32_t count = check(handles(entity, matched, 256), "matched");
        for (int32_t at = 0; at < count; ++at) {
            Endpoint *endpoint = data(entity, matched[at]);
            if (endpoint == nullptr) continue;
            std::cout << ' ' << name_of(*endpoint);
            dds_builtintopic_free_endpoint(endpoint);
        }
    }

    dds_entity_t participant, publications, subscriptions;
    std::map<int, Version> versions;
};

}  // namespace

int main(int, char **words) {
    std::string role = words[1], line, verb;
    auto domain = static_cast<uint32_t>(std::stoul(words[2]));
    std::unique_ptr<Participant> versions;
    std::unique_ptr<ReportPublisher> publisher;
    std::unique_ptr<ReportSubscriber> subscriber;
    if (role == "versions") versions = std::make_unique<Participant>(domain);
    if (role == "report-pub") publisher = std::make_unique<ReportPublisher>(domain);
    if (role == "report-sub") subscriber = std::make_unique<ReportSubscriber>(domain);
    std::cout << (versions || publisher || subscriber ? "ready" : "no such role") << std::endl;
    while (std::getline(std::cin, line) && line != "quit") {
        std::istringstream parts(line);
        uint32_t count = 0;
        parts >> verb >> count;
        try {
            if (publisher) publisher->command(verb, count);
            else if (versions && verb == "types") versions->types(count);
            else if (versions && verb == "matched") versions->matched();
            else throw std::runtime_error("unknown command");
            std::cout << "ok" << std::endl;
        } catch (const std::exception &error) {
            std::cout << "error " << error.what() << std::endl;
        }
    }
}
