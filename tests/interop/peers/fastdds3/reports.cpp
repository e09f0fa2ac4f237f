// Fast DDS 3 with the types of report.idl, by fastddsgen: `reports report-pub|report-sub DOMAIN`, in the line protocol of
// tests/interop/README.md.
// First, because its namespace `detail` is not the only one.
#include "types.inc"

#include "fastdds3.hpp"

#include <chrono>
#include <iomanip>
#include <stdexcept>
#include <thread>

namespace {

using survey::Position, survey::Quality, survey::Reading, survey::Report;

Position position(double lat, double lon) {
    Position it;
    it.lat(lat);
    it.lon(lon);
    return it;
}

Report report(int number) {
    Report it;
    it.station(static_cast<uint32_t>(number));
    it.place(position(50.25, -number));
    for (int at = 0; at < number; ++at) it.track().push_back(position(number, at + 0.5));
    it.levels() = {static_cast<int16_t>(-number), 0, static_cast<int16_t>(number)};
    it.corners() = {static_cast<uint8_t>(number), static_cast<uint8_t>(number + 1), 255};
    it.quality(Quality::GOOD);
    it.readings().resize(4);
    it.readings()[0].counted(static_cast<int64_t>(number) << 40);
    it.readings()[1].told("station " + std::to_string(number));
    it.readings()[2].seen(it.track().at(0));
    it.readings()[3].measured(number / 4.0);
    it.readings()[3]._d(9);
    if (number % 2 == 1) it.note("note " + std::to_string(number) + " äöü");
    return it;
}

std::string text(const std::string &words) {
    std::ostringstream out;
    out << std::quoted(words);
    return out.str();
}

std::string json(double value) {
    std::ostringstream out;
    out << std::setprecision(17) << value;
    return out.str().find_first_of(".e") == std::string::npos ? out.str() + ".0" : out.str();
}

std::string json(int16_t it) { return std::to_string(it); }
std::string json(uint8_t it) { return std::to_string(it); }

std::string json(const Position &it) { return "{\"lat\": " + json(it.lat()) + ", \"lon\": " + json(it.lon()) + '}'; }

std::string json(const Reading &it) {
    const std::string value = it._d() == 0                   ? std::to_string(it.counted())
                              : it._d() == 1 || it._d() == 2 ? text(it.told())
                              : it._d() == 3                 ? json(it.seen())
                                                             : json(it.measured());
    return "{\"_d\": " + std::to_string(it._d()) + ", \"value\": " + value + '}';
}

template <class List> std::string list(const List &items) {
    std::string all;
    for (const auto &item : items) all += (all.empty() ? "" : ", ") + json(item);
    return '[' + all + ']';
}

std::string json(const Report &it) {
    std::ostringstream out;
    out << "{\"station\": " << it.station() << ", \"place\": " << json(it.place()) << ", \"track\": " << list(it.track())
        << ", \"levels\": " << list(it.levels()) << ", \"corners\": " << list(it.corners()) << ", \"quality\": \""
        << (it.quality() == Quality::GOOD ? "GOOD" : it.quality() == Quality::BAD ? "BAD" : "UNKNOWN")
        << "\", \"readings\": " << list(it.readings()) << ", \"note\": " << (it.note() ? text(*it.note()) : "null") << '}';
    return out.str();
}

class Printer : public DataReaderListener {
public:
    void on_data_available(DataReader *reader) override {
        Report sample;
        SampleInfo info;
        while (reader->take_next_sample(&sample, &info) == RETCODE_OK)
            if (info.valid_data) say("report ", json(sample));
    }
};

void command(DataWriter *writer, const std::string &verb, int number) {
    if (verb == "report") {
        const Report sample = report(number);
        if (writer->write(&sample) != RETCODE_OK) throw std::runtime_error("not written");
        return;
    }
    if (verb != "wait-matched") throw std::runtime_error("unknown command");
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    PublicationMatchedStatus status;
    while (writer->get_publication_matched_status(status) == RETCODE_OK && status.current_count < number) {
        if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("not matched");
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

}  // namespace

int main(int, char **words) {
    const std::string role = words[1];
    DomainParticipant *participant = make_participant(std::stoi(words[2]));
    TypeSupport type(new survey::ReportPubSubType());
    type.register_type(participant);
    Topic *topic = participant->create_topic("Reports", type.get_type_name(), TOPIC_QOS_DEFAULT);
    Printer printer;
    DataWriter *writer = nullptr;
    if (role == "report-pub") {
        DataWriterQos qos = DATAWRITER_QOS_DEFAULT;
        common(qos);
        qos.representation().m_value = {XCDR2_DATA_REPRESENTATION};
        writer = participant->create_publisher(PUBLISHER_QOS_DEFAULT)->create_datawriter(topic, qos);
    } else {
        DataReaderQos qos = DATAREADER_QOS_DEFAULT;
        common(qos);
        qos.representation().m_value = {XCDR_DATA_REPRESENTATION, XCDR2_DATA_REPRESENTATION};
        participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT)->create_datareader(topic, qos, &printer);
    }
    say("ready");
    std::string line, verb;
    while (std::getline(std::cin, line) && line != "quit") {
        std::istringstream parts(line);
        int number = 0;
        parts >> verb >> number;
        try {
            if (writer == nullptr) throw std::runtime_error("a reader has no commands");
            command(writer, verb, number);
            say("ok");
        } catch (const std::exception &error) {
            say("error ", error.what());
        }
    }
    participant->delete_contained_entities();
    DomainParticipantFactory::get_instance()->delete_participant(participant);
}
