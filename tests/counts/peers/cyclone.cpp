// The two processes of the exchange with Eclipse Cyclone DDS: the same as `src/sides.rs` has with Dunlin.
#include "../../../tools/bench/peers/cyclone/api.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <ctime>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

// Where counting begins and ends: functions for callgrind, a system call for strace. They are not the same code, or the
// compiler would make one function of the two.
namespace marks {
__attribute__((noinline)) void begin() { (void)getppid(); }
__attribute__((noinline)) void end() {
    (void)getppid();
    asm volatile("nop");
}
}  // namespace marks

namespace {

using namespace cyclone;
constexpr uint64_t warm_up = 10;
constexpr std::chrono::seconds patience{120};

struct Workload {
    uint32_t domain;
    size_t payload;
    uint64_t samples;

    // Between two samples, so that each is sent, received and acknowledged by itself, under valgrind too.
    void pause() const {
        timespec time{0, (2000 + static_cast<long>(payload) / 8) * 1000};
        nanosleep(&time, nullptr);
    }
};

struct Endpoint {
    dds_entity_t participant, topic;
    dds_qos *qos = dds_create_qos();

    explicit Endpoint(uint32_t domain) {
        const char *config = "<General><Interfaces><NetworkInterface name=\"lo\" multicast=\"true\"/></Interfaces></General>";
        check(dds_create_domain(domain, config), "domain");
        participant = check(dds_create_participant(domain, nullptr, nullptr), "participant");
        topic = check(dds_create_topic(participant, &octets, "Counts", nullptr, nullptr), "topic");
        dds_qset_reliability(qos, 1, 60000000000);
        dds_qset_history(qos, 1, -1);
    }

    ~Endpoint() {
        dds_delete_qos(qos);
        dds_delete(participant);
    }
};

template <class Condition> void eventually(const char *what, Condition done) {
    auto deadline = std::chrono::steady_clock::now() + patience;
    while (!done()) {
        if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error(what);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

void write(const Workload &workload) {
    Endpoint at(workload.domain);
    dds_entity_t writer = check(dds_create_writer(at.participant, at.topic, at.qos, nullptr), "writer");
    eventually("the reader was not found", [&] {
        dds_matched_status status{};
        check(dds_get_publication_matched_status(writer, &status), "status");
        return status.current > 0;
    });
    // Four octets of length and four of the encapsulation count.
    std::vector<uint8_t> payload(workload.payload > 8 ? workload.payload - 8 : 0, 7);
    Octets sample{static_cast<uint32_t>(payload.size()), static_cast<uint32_t>(payload.size()), payload.data(), false};
    for (uint64_t number = 0; number < workload.samples + warm_up; ++number) {
        workload.pause();
        if (number == warm_up) marks::begin();
        check(dds_write(writer, &sample), "write");
    }
    // The last acknowledgement counts.
    workload.pause();
    marks::end();
    check(dds_wait_for_acks(writer, 60000000000), "acknowledgements");
}

struct Reading {
    uint64_t all;
    std::atomic<uint64_t> seen{0};
};

void take(dds_entity_t reader, void *argument) {
    constexpr uint32_t most = 64;
    auto *reading = static_cast<Reading *>(argument);
    void *samples[most] = {};
    dds_sample_info infos[most];
    int32_t count = dds_take(reader, samples, infos, most, most);
    uint64_t valid = 0;
    for (int32_t at = 0; at < count; ++at) valid += infos[at].valid_data;
    if (count > 0) dds_return_loan(reader, samples, count);
    uint64_t before = reading->seen.fetch_add(valid);
    auto reached = [&](uint64_t number) { return before < number && before + valid >= number; };
    if (reached(warm_up)) marks::begin();
    if (reached(reading->all)) marks::end();
}

void read(const Workload &workload) {
    Reading reading{workload.samples + warm_up};
    Endpoint at(workload.domain);
    dds_listener *listener = dds_create_listener(&reading);
    dds_lset_data_available(listener, take);
    check(dds_create_reader(at.participant, at.topic, at.qos, listener), "reader");
    dds_delete_listener(listener);
    eventually("not every sample arrived", [&] { return reading.seen >= reading.all; });
}

}  // namespace

int main(int count, char **arguments) try {
    std::map<std::string, uint64_t> options;
    for (int at = 2; at + 1 < count; at += 2) options[arguments[at]] = std::stoull(arguments[at + 1]);
    Workload workload{static_cast<uint32_t>(options.at("--domain")), options.at("--payload"), options.at("--samples")};
    std::string side = count > 1 ? arguments[1] : "";
    if (side == "write") write(workload);
    else if (side == "read") read(workload);
    else throw std::runtime_error("write or read?");
    return 0;
} catch (const std::exception &error) {
    std::cerr << "cyclone: " << error.what() << "\n";
    return 1;
}
