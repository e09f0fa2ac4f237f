// Fast DDS 3 with a ShapeType by fastddsgen: `shapes shape-sub DOMAIN`, in the line protocol of tests/interop/README.md. The
// reader has the content filter in PEER_FILTER (`EXPRESSION|PARAMETER|…`).
// First, because its namespace `detail` is not the only one.
#include "types.inc"

#include "fastdds3.hpp"

#include <cstdlib>

namespace {

class Printer : public DataReaderListener {
public:
    void on_data_available(DataReader *reader) override {
        ShapeType sample;
        SampleInfo info;
        while (reader->take_next_sample(&sample, &info) == RETCODE_OK)
            if (info.valid_data)
                say("sample ", sample.color(), ' ', sample.x(), ' ', sample.y(), ' ', sample.shapesize());
    }
};

TopicDescription *filtered(DomainParticipant *participant, Topic *topic) {
    const char *filter = std::getenv("PEER_FILTER");
    std::istringstream words(filter == nullptr ? "" : filter);
    std::string expression, parameter;
    std::getline(words, expression, '|');
    std::vector<std::string> parameters;
    while (std::getline(words, parameter, '|')) parameters.push_back(parameter);
    return participant->create_contentfilteredtopic("Some", topic, expression, parameters);
}

}  // namespace

int main(int, char **words) {
    DomainParticipant *participant = make_participant(std::stoi(words[2]));
    TypeSupport type(new ShapeTypePubSubType());
    type.register_type(participant);
    Topic *topic = participant->create_topic("Square", type.get_type_name(), TOPIC_QOS_DEFAULT);
    DataReaderQos qos = DATAREADER_QOS_DEFAULT;
    common(qos);
    qos.representation().m_value = {XCDR_DATA_REPRESENTATION, XCDR2_DATA_REPRESENTATION};
    TopicDescription *description = filtered(participant, topic);
    if (description == nullptr) {
        say("no filter");
        return 2;
    }
    Printer printer;
    participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT)->create_datareader(description, qos, &printer);
    say("ready");
    std::string line;
    while (std::getline(std::cin, line) && line != "quit") say("error a reader has no commands");
    participant->delete_contained_entities();
    DomainParticipantFactory::get_instance()->delete_participant(participant);
}
