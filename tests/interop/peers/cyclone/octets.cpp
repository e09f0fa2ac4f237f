// The octets of Cyclone DDS's C library: reads values and writes them again in every form, on standard input and output.
//
//     type NAME SIZE ALIGN FLAGS KEYS COUNT OPERATIONS    makes the serializer of a type, as Cyclone's IDL compiler describes it.
//                                      Answers `ok`, or `ok xcdr2` where Cyclone has no topics of the type in XCDR1
//     NAME OCTETS                      reads a payload with its header, answers four payloads without theirs: XCDR1 in little
//                                      and big endian, XCDR2 likewise; then the key in XCDR2, and what its hash is made of in
//                                      XCDR2. What there is not is `-`, what is empty `=`.
#include "../../../../tools/bench/peers/cyclone/api.hpp"
#include "serializer.hpp"

#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace cyclone;
using Octet = unsigned char;
using Payload = std::vector<Octet>;

constexpr uint32_t XCDR1 = 1, XCDR2 = 2;
constexpr int HASHED = 1;

Payload from_hex(const std::string &text) {
    Payload octets(text.size() / 2);
    for (size_t at = 0; at < octets.size(); ++at)
        octets[at] = static_cast<Octet>(std::stoi(text.substr(2 * at, 2), nullptr, 16));
    return octets;
}

std::string to_hex(const Octet *octets, size_t size) {
    static const char digits[] = "0123456789abcdef";
    std::string text;
    for (size_t at = 0; at < size; ++at) {
        text += digits[octets[at] >> 4];
        text += digits[octets[at] & 15];
    }
    return text.empty() ? "=" : text;
}

// Octets that the library writes.
class Out {
public:
    explicit Out(uint32_t version) { dds_ostream_init(&stream, &dds_cdrstream_default_allocator, 0, version); }
    ~Out() { dds_ostream_fini(&stream, &dds_cdrstream_default_allocator); }
    Out(const Out &) = delete;
    std::string hex() const { return to_hex(stream.buffer, stream.index); }

    Stream stream{};
};

class Serializer {
public:
    Serializer(const dds_topic_descriptor &descriptor, bool xcdr1) : xcdr1(xcdr1) {
        dds_cdrstream_desc_from_topic_desc(&desc, &descriptor);
    }

    std::string forms(Payload payload) const {
        if (payload.size() < 4) throw std::runtime_error("no header");
        uint32_t version = payload[1] < 6 ? XCDR1 : XCDR2, size = static_cast<uint32_t>(payload.size()) - 4 - (payload[3] & 3);
        if (version == XCDR1 && !xcdr1) throw std::runtime_error("no XCDR1");
        bool swapped = (payload[1] & 1) == 0;
        // The library counts alignment from where a payload begins, and wants that place aligned.
        Payload body(payload.begin() + 4, payload.end());
        body.reserve(body.size() + 8);
        uint32_t used = 0;
        if (!dds_stream_normalize(body.data(), size, swapped, version, &desc, false, &used))
            throw std::runtime_error("refused");
        if (used != size) throw std::runtime_error("octets are left");
        Stream in;
        dds_istream_init(&in, size, body.data(), version);
        void *sample = calloc(1, desc.size);
        dds_stream_read_sample(&in, sample, &dds_cdrstream_default_allocator, &desc);
        std::string all = written(sample);
        dds_stream_free_sample(sample, &dds_cdrstream_default_allocator, desc.ops.ops);
        free(sample);
        dds_istream_init(&in, size, body.data(), version);
        return all + keys(in);
    }

private:
    std::string written(const void *sample) const {
        std::string all;
        for (uint32_t version : {XCDR1, XCDR2}) {
            if (version == XCDR1 && !xcdr1) {
                all += "- - ";
                continue;
            }
            Out little(version), big(version);
            if (!dds_stream_write_sampleLE(&little.stream, &dds_cdrstream_default_allocator, sample, &desc) ||
                !dds_stream_write_sampleBE(&big.stream, &dds_cdrstream_default_allocator, sample, &desc))
                throw std::runtime_error("not written");
            all += little.hex() + ' ' + big.hex() + ' ';
        }
        return all;
    }

    std::string keys(Stream &in) const {
        if (desc.keys.count == 0) return "- -";
        Out key(XCDR2);
        if (!dds_stream_extract_key_from_data(&in, &key.stream, &dds_cdrstream_default_allocator, &desc))
            throw std::runtime_error("no key");
        Out hashed(XCDR2);
        Stream again;
        dds_istream_init(&again, key.stream.index, key.stream.buffer, XCDR2);
        dds_stream_extract_keyBE_from_key(&again, &hashed.stream, HASHED, &dds_cdrstream_default_allocator, &desc);
        return key.hex() + ' ' + hashed.hex();
    }

    bool xcdr1;
    SerializerDescriptor desc{};
};

class Types {
public:
    Types() : participant(check(dds_create_participant(0, nullptr, nullptr), "participant")) {}

    // A line of the files in protocol/xtypes/tests/cyclone.
    std::string add(std::istream &line) {
        auto type = std::make_unique<Type>();
        std::string keys, ops, part;
        dds_topic_descriptor descriptor{};
        line >> type->name >> descriptor.size >> descriptor.align >> descriptor.flags >> keys >> descriptor.ops_count >> ops;
        std::istringstream key_list(keys == "-" ? "" : keys), op_list(ops);
        while (std::getline(key_list, part, ',')) {
            size_t colon = part.find(':');
            type->keys.push_back({"", static_cast<uint32_t>(std::stoul(part)),
                                  static_cast<uint32_t>(std::stoul(part.substr(colon + 1)))});
        }
        while (std::getline(op_list, part, ',')) type->ops.push_back(static_cast<uint32_t>(std::stoul(part, nullptr, 16)));
        if (type->ops.size() != descriptor.ops_count) throw std::runtime_error("another number of operations");
        descriptor.name = type->name.c_str();
        descriptor.meta = "";
        descriptor.keys = static_cast<uint32_t>(type->keys.size());
        descriptor.key_descriptors = type->keys.data();
        descriptor.ops = type->ops.data();
        std::string topic = "t" + std::to_string(types.size());
        dds_qos *qos = dds_create_qos();
        const int16_t first[] = {0};
        dds_qset_data_representation(qos, 1, first);
        bool xcdr1 = dds_create_topic(participant, &descriptor, topic.c_str(), qos, nullptr) > 0;
        dds_delete_qos(qos);
        type->serializer = std::make_unique<Serializer>(descriptor, xcdr1);
        std::string name = type->name;
        types[name] = std::move(type);
        return xcdr1 ? "ok" : "ok xcdr2";
    }

    const Serializer &get(const std::string &name) const { return *types.at(name)->serializer; }

private:
    struct Key {
        const char *name;
        uint32_t offset, index;
    };
    struct Type {
        std::string name;
        std::vector<Key> keys;
        std::vector<uint32_t> ops;
        std::unique_ptr<Serializer> serializer;
    };

    dds_entity_t participant;
    std::map<std::string, std::unique_ptr<Type>> types;
};

}  // namespace

int main() {
    Types types;
    std::string line, first, second;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        words >> first;
        try {
            if (first == "type") {
                std::cout << types.add(words) << std::endl;
            } else {
                words >> second;
                std::cout << types.get(first).forms(from_hex(second)) << std::endl;
            }
        } catch (const std::exception &error) {
            std::cout << "error " << error.what() << std::endl;
        }
    }
}
