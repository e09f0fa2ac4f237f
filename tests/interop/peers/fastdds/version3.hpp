// What differs between the versions of Fast DDS, for 3.x: XCDR1 and XCDR2.
#pragma once

#include "types.hpp"

#include <type_traits>

#include <fastdds/dds/core/ReturnCode.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/rtps/transport/TCPv4TransportDescriptor.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.hpp>
#include <fastdds/utils/IPLocator.hpp>
#include <fastdds/utils/md5.hpp>

using eprosima::fastdds::MD5;
using eprosima::fastdds::dds::Duration_t;
using eprosima::fastdds::rtps::InstanceHandle_t;
using eprosima::fastdds::rtps::IPLocator;
using eprosima::fastdds::rtps::Locator_t;
using eprosima::fastdds::rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
using eprosima::fastdds::rtps::SerializedPayload_t;

static const auto OK = eprosima::fastdds::dds::RETCODE_OK;
static const bool speaks_xcdr2 = true;

// Content filters need a type object, which fastddsgen makes of ShapeType.idl where that is among the sources: of one that was
// registered as a dynamic type filters say "No TypeObject found for type ShapeType". It is not announced.
#if __has_include("ShapeTypeTypeObjectSupport.hpp")
#include <fastdds/dds/xtypes/type_representation/TypeObject.hpp>
void register_ShapeType_type_identifier(eprosima::fastdds::dds::xtypes::TypeIdentifierPair&);

static bool describe_shape(uint32_t, bool, const char* = nullptr) {
    eprosima::fastdds::dds::xtypes::TypeIdentifierPair identifiers;
    register_ShapeType_type_identifier(identifiers);
    return true;
}
#else
static bool describe_shape(uint32_t, bool, const char* = nullptr) { return false; }
#endif

template <class Qos>
static void accept_all_representations(Qos& qos) {
    qos.representation().m_value = {eprosima::fastdds::dds::XCDR_DATA_REPRESENTATION,
                                    eprosima::fastdds::dds::XCDR2_DATA_REPRESENTATION};
}

template <class Qos>
static void use_representation(Qos& qos, bool xcdr2) {
    qos.representation().m_value = {xcdr2 ? eprosima::fastdds::dds::XCDR2_DATA_REPRESENTATION
                                          : eprosima::fastdds::dds::XCDR_DATA_REPRESENTATION};
}

// The members of an appendable structure, behind their length in XCDR2.
template <class Members>
static void write_appendable(Cdr& out, Members members) {
    const auto flag = out.get_cdr_version() == eprosima::fastcdr::CdrVersion::XCDRv2
                          ? eprosima::fastcdr::EncodingAlgorithmFlag::DELIMIT_CDR2
                          : eprosima::fastcdr::EncodingAlgorithmFlag::PLAIN_CDR;
    Cdr::state state(out);
    out.begin_serialize_type(state, flag);
    members();
    out.end_serialize_type(state);
}

static void begin_appendable(Cdr& in) {
    uint32_t length = 0;
    if (in.get_encoding_flag() == eprosima::fastcdr::EncodingAlgorithmFlag::DELIMIT_CDR2) in >> length;
}

// Types are final unless they have a member `appendable`.
template <class T, class = void>
struct IsAppendable : std::false_type {};
template <class T>
struct IsAppendable<T, std::void_t<decltype(T::appendable)>> : std::true_type {};

template <class Writer, class T>
static bool write_sample(Writer* writer, T& sample) {
    return writer->write(&sample) == OK;
}

template <class T>
class TypeSupportOf : public eprosima::fastdds::dds::TopicDataType {
    using Representation = eprosima::fastdds::dds::DataRepresentationId_t;

public:
    TypeSupportOf() {
        set_name(T::name);
        max_serialized_type_size = T::max_size;
        is_compute_key_provided = true;
    }

    bool serialize(const void* const data, SerializedPayload_t& payload, Representation representation) override {
        const bool xcdr1 = representation == eprosima::fastdds::dds::XCDR_DATA_REPRESENTATION;
        FastBuffer buffer(reinterpret_cast<char*>(payload.data), payload.max_size);
        Cdr cdr(buffer, Cdr::LITTLE_ENDIANNESS,
                xcdr1 ? eprosima::fastcdr::CdrVersion::XCDRv1 : eprosima::fastcdr::CdrVersion::XCDRv2);
        cdr.set_encoding_flag(xcdr1                    ? eprosima::fastcdr::EncodingAlgorithmFlag::PLAIN_CDR
                              : IsAppendable<T>::value ? eprosima::fastcdr::EncodingAlgorithmFlag::DELIMIT_CDR2
                                                       : eprosima::fastcdr::EncodingAlgorithmFlag::PLAIN_CDR2);
        payload.encapsulation = CDR_LE;
        cdr.serialize_encapsulation();
        static_cast<const T*>(data)->write(cdr);
        payload.length = static_cast<uint32_t>(cdr.get_serialized_data_length());
        return true;
    }

    bool deserialize(SerializedPayload_t& payload, void* data) override {
        try {
            FastBuffer buffer(reinterpret_cast<char*>(payload.data), payload.length);
            Cdr cdr(buffer, Cdr::DEFAULT_ENDIAN);
            cdr.read_encapsulation();
            static_cast<T*>(data)->read(cdr);
            return true;
        } catch (const eprosima::fastcdr::exception::Exception&) {
            return false;
        }
    }

    uint32_t calculate_serialized_size(const void* const data, Representation) override {
        return static_cast<uint32_t>(512 + static_cast<const T*>(data)->payload_size());
    }

    void* create_data() override { return new T; }
    void delete_data(void* data) override { delete static_cast<T*>(data); }

    bool compute_key(SerializedPayload_t& payload, InstanceHandle_t& handle, bool) override {
        T sample;
        return deserialize(payload, &sample) && compute_key(&sample, handle, true);
    }

    bool compute_key(const void* const data, InstanceHandle_t& handle, bool) override {
        auto octets = key_octets(static_cast<const T*>(data)->key());
        MD5 md5;
        md5.init();
        md5.update(octets.data(), static_cast<unsigned>(octets.size()));
        md5.finalize();
        for (int i = 0; i < 16; ++i) handle.value[i] = md5.digest[i];
        return true;
    }
};
