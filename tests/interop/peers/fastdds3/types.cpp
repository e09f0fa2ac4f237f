// Fast DDS 3 with types of fastddsgen: `types types DOMAIN`, in the line protocol of tests/interop/README.md. It has a writer of
// each type of an IDL file on a topic of the type's name.
//
//     object IDENTIFIER     the type object of a TypeIdentifier: prints `object OCTETS`
//     octets TYPE PAYLOAD   reads a payload with its header; prints `octets XCDR1 XCDR2 KEYHASH` of what it read, the first two
//                           with their headers. What there is not is `-`
//     write TYPE PAYLOAD    reads a payload and writes the value
// First, because its namespace `detail` is not the only one.
#include "types.inc"

#include "fastdds3.hpp"

#include <fastdds/dds/xtypes/type_representation/ITypeObjectRegistry.hpp>
#include <fastdds/dds/xtypes/type_representation/TypeObject.hpp>

#include <map>
#include <memory>
#include <stdexcept>

namespace {

using eprosima::fastcdr::Cdr;
using eprosima::fastcdr::CdrVersion;
using eprosima::fastcdr::FastBuffer;
using eprosima::fastdds::rtps::InstanceHandle_t;
using eprosima::fastdds::rtps::SerializedPayload_t;
using Octets = std::vector<unsigned char>;

Octets from_hex(const std::string &text) {
    Octets octets(text.size() / 2);
    for (size_t at = 0; at < octets.size(); ++at)
        octets[at] = static_cast<unsigned char>(std::stoi(text.substr(2 * at, 2), nullptr, 16));
    return octets;
}

std::string to_hex(const void *octets, size_t size) {
    static const char digits[] = "0123456789abcdef";
    std::string text;
    for (size_t at = 0; at < size; ++at) {
        const auto octet = static_cast<const unsigned char *>(octets)[at];
        text += digits[octet >> 4];
        text += digits[octet & 15];
    }
    return text;
}

// A type object as it is told and hashed: in XCDR2, little endian, without a header (DDS-XTypes 1.3 §7.3.4.5).
std::string object(const std::string &identifier) {
    Octets octets = from_hex(identifier);
    FastBuffer in(reinterpret_cast<char *>(octets.data()), octets.size());
    Cdr from(in, Cdr::LITTLE_ENDIANNESS, CdrVersion::XCDRv2);
    from.set_encoding_flag(eprosima::fastcdr::EncodingAlgorithmFlag::PLAIN_CDR2);
    xtypes::TypeIdentifier id;
    from >> id;
    xtypes::TypeObject found;
    if (DomainParticipantFactory::get_instance()->type_object_registry().get_type_object(id, found) != RETCODE_OK)
        throw std::runtime_error("no such type object");
    // What lies between members is not written, and hashed as zeros.
    size_t size = 0;
    eprosima::fastcdr::CdrSizeCalculator calculator(CdrVersion::XCDRv2);
    Octets written(calculator.calculate_serialized_size(found, size) + 4096);
    FastBuffer out(reinterpret_cast<char *>(written.data()), written.size());
    Cdr to(out, Cdr::LITTLE_ENDIANNESS, CdrVersion::XCDRv2);
    to.set_encoding_flag(eprosima::fastcdr::EncodingAlgorithmFlag::PLAIN_CDR2);
    to << found;
    return "object " + to_hex(out.getBuffer(), to.get_serialized_data_length());
}

class Type {
public:
    Type(DomainParticipant *participant, Publisher *publisher, TopicDataType *support) : support(support) {
        this->support.register_type(participant);
        Topic *topic = participant->create_topic(support->get_name(), support->get_name(), TOPIC_QOS_DEFAULT);
        if (topic == nullptr) throw std::runtime_error("no topic of " + support->get_name());
        DataWriterQos qos = DATAWRITER_QOS_DEFAULT;
        common(qos);
        qos.representation().m_value = {XCDR2_DATA_REPRESENTATION};
        writer = publisher->create_datawriter(topic, qos);
        if (writer == nullptr) throw std::runtime_error("no writer of " + support->get_name());
    }

    std::string octets(const std::string &payload) {
        const Value value = read(payload);
        std::string all = "octets";
        for (auto representation : {XCDR_DATA_REPRESENTATION, XCDR2_DATA_REPRESENTATION}) {
            // The size that the generated code foresees, and some more where that is too small.
            const uint32_t size = support->calculate_serialized_size(value.get(), representation) + 4096;
            SerializedPayload_t out(size);
            if (support->serialize(value.get(), out, representation)) {
                all += ' ' + to_hex(out.data, out.length);
            } else {
                all += " -";
            }
        }
        InstanceHandle_t key;
        if (!support->is_compute_key_provided || !support->compute_key(value.get(), key, false)) return all + " -";
        Octets hash;
        for (int at = 0; at < 16; ++at) hash.push_back(key.value[at]);
        return all + ' ' + to_hex(hash.data(), 16);
    }

    void write(const std::string &payload) {
        const Value value = read(payload);
        if (writer->write(value.get()) != RETCODE_OK) throw std::runtime_error("not written");
    }

private:
    using Value = std::shared_ptr<void>;

    Value read(const std::string &payload) {
        Octets octets = from_hex(payload);
        SerializedPayload_t in(static_cast<uint32_t>(octets.size()));
        std::copy(octets.begin(), octets.end(), in.data);
        in.length = static_cast<uint32_t>(octets.size());
        Value value(support->create_data(), [this](void *data) { support->delete_data(data); });
        if (!support->deserialize(in, value.get())) throw std::runtime_error("refused");
        return value;
    }

    TypeSupport support;
    DataWriter *writer;
};

}  // namespace

int main(int, char **words) {
    DomainParticipant *participant = make_participant(std::stoi(words[2]));
    Publisher *publisher = participant->create_publisher(PUBLISHER_QOS_DEFAULT);
    std::map<std::string, std::unique_ptr<Type>> types;
#define TYPE(name, support)                                                            \
    try {                                                                              \
        types[name] = std::make_unique<Type>(participant, publisher, new support);     \
    } catch (const std::exception &error) {                                            \
        say("refused ", name, ' ', error.what());                                      \
    }
    EVERY_TYPE
#undef TYPE
    const auto named = [&types](const std::string &name) -> Type & {
        const auto found = types.find(name);
        if (found == types.end()) throw std::runtime_error("no such type");
        return *found->second;
    };
    say("types ", types.size());
    say("ready");
    std::string line, verb, first, second;
    while (std::getline(std::cin, line) && line != "quit") {
        std::istringstream parts(line);
        parts >> verb >> first >> second;
        try {
            if (verb == "object") say(object(first));
            else if (verb == "octets") say(named(first).octets(second));
            else if (verb == "write") named(first).write(second);
            else throw std::runtime_error("unknown command");
            say("ok");
        } catch (const std::exception &error) {
            say("error ", error.what());
        }
    }
    participant->delete_contained_entities();
    DomainParticipantFactory::get_instance()->delete_participant(participant);
}
