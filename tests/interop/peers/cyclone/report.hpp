// Roles `report-pub` and `report-sub` with Cyclone DDS's C library: the samples are those of topic_types.py.
#pragma once

#include "report_type.hpp"
#include "serializer.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace cyclone {

inline std::vector<unsigned char> octets_of(const std::string &hex) {
    std::vector<unsigned char> octets(hex.size() / 2);
    for (size_t at = 0; at < octets.size(); ++at)
        octets[at] = static_cast<unsigned char>(std::stoi(hex.substr(2 * at, 2), nullptr, 16));
    return octets;
}

// A participant with the topic and the QoS that all peers have.
class Reports {
public:
    explicit Reports(uint32_t domain)
        : participant(check(dds_create_participant(domain, nullptr, nullptr), "participant")), qos(dds_create_qos()),
          information(octets_of(survey::INFORMATION)), mapping(octets_of(survey::MAPPING)) {
        static const struct {
            const char *name;
            uint32_t operation, index;
        } key = {"station", 57, 0};
        dds_topic_descriptor descriptor{};
        descriptor.size = sizeof(survey::Report);
        descriptor.align = alignof(survey::Report);
        descriptor.flags = XTYPES_METADATA;
        descriptor.keys = 1;
        descriptor.name = "survey::Report";
        descriptor.key_descriptors = &key;
        descriptor.ops_count = sizeof(survey::OPERATIONS) / sizeof(survey::OPERATIONS[0]);
        descriptor.ops = survey::OPERATIONS;
        descriptor.meta = "";
        descriptor.type_information = {information.data(), static_cast<uint32_t>(information.size())};
        descriptor.type_mapping = {mapping.data(), static_cast<uint32_t>(mapping.size())};
        dds_qset_reliability(qos, 1, 10'000'000'000);
        dds_qset_durability(qos, 1);
        dds_qset_history(qos, 1, -1);
        dds_qset_durability_service(qos, 0, 1, -1, -1, -1, -1);
        dds_qset_writer_data_lifecycle(qos, false);
        topic = check(dds_create_topic(participant, &descriptor, "Reports", qos, nullptr), "topic");
    }

protected:
    dds_entity_t participant, topic;
    dds_qos *qos;

private:
    std::vector<unsigned char> information, mapping;
};

class ReportPublisher : Reports {
public:
    explicit ReportPublisher(uint32_t domain) : Reports(domain), writer(check(dds_create_writer(participant, topic, qos, nullptr), "writer")) {}

    void command(const std::string &verb, uint32_t number) {
        if (verb == "report") return write(static_cast<int>(number));
        if (verb != "wait-matched") throw std::runtime_error("unknown command");
        auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        dds_matched_status status{};
        while (check(dds_get_publication_matched_status(writer, &status), "status") == 0 && status.current < number) {
            if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("not matched");
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }

private:
    void write(int number) {
        using namespace survey;
        std::vector<Position> track;
        for (int at = 0; at < number; ++at) track.push_back({static_cast<double>(number), at + 0.5});
        if (track.empty()) throw std::runtime_error("a report has at least number 1");
        std::vector<int16_t> levels = {static_cast<int16_t>(-number), 0, static_cast<int16_t>(number)};
        std::string told = "station " + std::to_string(number), note = "note " + std::to_string(number) + " äöü";
        std::vector<Reading> readings(4);
        readings[0]._u.counted = static_cast<int64_t>(number) << 40;
        readings[1]._d = 1;
        readings[1]._u.told = told.data();
        readings[2]._d = 3;
        readings[2]._u.seen = track[0];
        readings[3]._d = 9;
        readings[3]._u.measured = number / 4.0;
        Report report{};
        report.station = static_cast<uint32_t>(number);
        report.place = {50.25, static_cast<double>(-number)};
        report.track = lent(track);
        report.levels = lent(levels);
        uint8_t corners[] = {static_cast<uint8_t>(number), static_cast<uint8_t>(number + 1), 255};
        memcpy(report.corners, corners, sizeof corners);
        report.quality = GOOD;
        report.readings = lent(readings);
        report.note = number % 2 == 1 ? note.data() : nullptr;
        check(dds_write(writer, &report), "write");
    }

    template <class T> static survey::Sequence<T> lent(std::vector<T> &items) {
        uint32_t count = static_cast<uint32_t>(items.size());
        return {count, count, items.data(), false};
    }

    dds_entity_t writer;
};

class ReportSubscriber : Reports {
public:
    explicit ReportSubscriber(uint32_t domain) : Reports(domain), reader(check(dds_create_reader(participant, topic, qos, nullptr), "reader")) {
        taking = std::thread([this] {
            while (!ended) {
                take();
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
            }
        });
    }

    ~ReportSubscriber() {
        ended = true;
        taking.join();
    }

private:
    void take() {
        void *samples[16] = {};
        dds_sample_info infos[16];
        int32_t count = dds_take(reader, samples, infos, 16, 16);
        for (int32_t at = 0; at < count; ++at)
            if (infos[at].valid_data) std::cout << "report " + json(*static_cast<survey::Report *>(samples[at])) + '\n' << std::flush;
        if (count > 0) dds_return_loan(reader, samples, count);
    }

    static std::string text(const char *words) {
        std::ostringstream out;
        out << std::quoted(words);
        return out.str();
    }

    static std::string number(double value) {
        std::ostringstream out;
        out << std::setprecision(17) << value;
        return out.str().find_first_of(".e") == std::string::npos ? out.str() + ".0" : out.str();
    }

    static std::string json(const survey::Position &it) {
        return "{\"lat\": " + number(it.lat) + ", \"lon\": " + number(it.lon) + '}';
    }

    static std::string json(int16_t it) { return std::to_string(it); }

    static std::string json(const survey::Reading &it) {
        std::string value = it._d == 0 ? std::to_string(it._u.counted)
                            : it._d == 1 || it._d == 2 ? text(it._u.told)
                            : it._d == 3 ? json(it._u.seen)
                                         : number(it._u.measured);
        return "{\"_d\": " + std::to_string(it._d) + ", \"value\": " + value + '}';
    }

    template <class T> static std::string json(const survey::Sequence<T> &it) {
        std::string all;
        for (uint32_t at = 0; at < it.length; ++at) all += (at == 0 ? "" : ", ") + json(it.buffer[at]);
        return '[' + all + ']';
    }

    static std::string json(const survey::Report &it) {
        std::ostringstream out;
        out << "{\"station\": " << it.station << ", \"place\": " << json(it.place) << ", \"track\": " << json(it.track)
            << ", \"levels\": " << json(it.levels) << ", \"corners\": [" << int(it.corners[0]) << ", " << int(it.corners[1]) << ", "
            << int(it.corners[2]) << "], \"quality\": \""
            << (it.quality == survey::GOOD ? "GOOD" : it.quality == survey::BAD ? "BAD" : "UNKNOWN")
            << "\", \"readings\": " << json(it.readings) << ", \"note\": " << (it.note ? text(it.note) : "null") << '}';
        return out.str();
    }

    dds_entity_t reader;
    std::atomic<bool> ended{false};
    std::thread taking;
};

}  // namespace cyclone
