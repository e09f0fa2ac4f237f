// What differs between the versions of Fast DDS, for 2.x: XCDR1 only.
#pragma once

#include "types.hpp"

#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/rtps/transport/TCPv4TransportDescriptor.h>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastrtps/types/TypeObject.h>
#include <fastrtps/types/TypeObjectFactory.h>
#include <fastrtps/utils/IPLocator.h>
#include <fastrtps/utils/md5.h>

using eprosima::fastrtps::Duration_t;
using eprosima::fastrtps::rtps::InstanceHandle_t;
using eprosima::fastrtps::rtps::IPLocator;
using eprosima::fastrtps::rtps::Locator_t;
using eprosima::fastrtps::rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
using eprosima::fastrtps::rtps::SerializedPayload_t;

static const auto OK = eprosima::fastrtps::types::ReturnCode_t::RETCODE_OK;
static const bool speaks_xcdr2 = false;

template <class Qos>
static void accept_all_representations(Qos&) {}

template <class Qos>
static void use_representation(Qos&, bool) {}

// Where the members of an appendable structure begin and end: nothing to write in XCDR1.
template <class Members>
static void write_appendable(Cdr&, Members members) {
    members();
}

static void begin_appendable(Cdr&) {}

template <class Writer, class T>
static bool write_sample(Writer* writer, T& sample) {
    return writer->write(&sample);
}

// Registers what content filters need to know of ShapeType: its members up to shapesize, and a sequence of octets behind
// them if there is one. It is not announced.
static bool describe_shape(uint32_t color_bound, bool appendable, const char* octets = nullptr) {
    using namespace eprosima::fastrtps::types;
    auto* factory = TypeObjectFactory::get_instance();
    auto* object = new TypeObject();
    object->_d(EK_COMPLETE);
    object->complete()._d(TK_STRUCTURE);
    auto& structure = object->complete().struct_type();
    structure.struct_flags().IS_FINAL(!appendable);
    structure.struct_flags().IS_APPENDABLE(appendable);
    structure.header().detail().type_name("ShapeType");
    uint32_t id = 0;
    const auto member = [&](const char* name, const TypeIdentifier* type) {
        CompleteStructMember made;
        made.common().member_id(id++);
        made.common().member_flags().IS_KEY(id == 1);
        made.common().member_type_id(*type);
        made.detail().name(name);
        structure.member_seq().emplace_back(made);
    };
    member("color", factory->get_string_identifier(color_bound, false));
    for (const char* name : {"x", "y", "shapesize"}) member(name, factory->get_type_identifier("int32_t", false));
    if (octets != nullptr) member(octets, factory->get_sequence_identifier("uint8_t", 0, true));
    TypeIdentifier identifier;
    identifier._d(EK_COMPLETE);
    factory->add_type_object("ShapeType", &identifier, object);
    return factory->get_type_object("ShapeType", true) != nullptr;
}

template <class T>
class TypeSupportOf : public eprosima::fastdds::dds::TopicDataType {
public:
    TypeSupportOf() {
        setName(T::name);
        m_typeSize = T::max_size;
        m_isGetKeyDefined = true;
        auto_fill_type_object(false);
        auto_fill_type_information(false);
    }

    bool serialize(void* data, SerializedPayload_t* payload) override {
        FastBuffer buffer(reinterpret_cast<char*>(payload->data), payload->max_size);
        Cdr cdr(buffer, Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR);
        payload->encapsulation = CDR_LE;
        cdr.serialize_encapsulation();
        static_cast<T*>(data)->write(cdr);
        payload->length = static_cast<uint32_t>(cdr.getSerializedDataLength());
        return true;
    }

    bool deserialize(SerializedPayload_t* payload, void* data) override {
        try {
            FastBuffer buffer(reinterpret_cast<char*>(payload->data), payload->length);
            Cdr cdr(buffer, Cdr::DEFAULT_ENDIAN, Cdr::DDS_CDR);
            cdr.read_encapsulation();
            static_cast<T*>(data)->read(cdr);
            return true;
        } catch (const eprosima::fastcdr::exception::Exception&) {
            return false;
        }
    }

    std::function<uint32_t()> getSerializedSizeProvider(void* data) override {
        return [data] { return static_cast<uint32_t>(512 + static_cast<T*>(data)->payload_size()); };
    }

    void* createData() override { return new T; }
    void deleteData(void* data) override { delete static_cast<T*>(data); }

    bool getKey(void* data, InstanceHandle_t* handle, bool) override {
        auto octets = key_octets(static_cast<T*>(data)->key());
        MD5 md5;
        md5.init();
        md5.update(octets.data(), static_cast<unsigned>(octets.size()));
        md5.finalize();
        for (int i = 0; i < 16; ++i) handle->value[i] = md5.digest[i];
        return true;
    }
};
