// What differs between the versions of Fast DDS, for 2.x.
#pragma once

#include "octets.hpp"

#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastdds/rtps/transport/shared_mem/SharedMemTransportDescriptor.h>

using eprosima::fastrtps::Duration_t;
using eprosima::fastrtps::rtps::InstanceHandle_t;
using eprosima::fastrtps::rtps::PREALLOCATED_MEMORY_MODE;
using eprosima::fastrtps::rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
using eprosima::fastrtps::rtps::SerializedPayload_t;

static const auto OK = eprosima::fastrtps::types::ReturnCode_t::RETCODE_OK;

template <class Qos>
static void set_heartbeat_period(Qos &qos, const Duration_t &period) {
    qos.reliable_writer_qos().times.heartbeatPeriod = period;
}

template <class Writer>
static bool write_sample(Writer *writer, Octets &octets) {
    return writer->write(&octets);
}

class OctetsType : public eprosima::fastdds::dds::TopicDataType {
public:
    OctetsType(size_t payload, bool is_bounded) : bounded(is_bounded) {
        setName("Octets");
        m_typeSize = static_cast<uint32_t>(payload + header);
        m_isGetKeyDefined = false;
        auto_fill_type_object(false);
        auto_fill_type_information(false);
    }

    bool serialize(void *data, SerializedPayload_t *payload) override {
        return put(*static_cast<const Octets *>(data), *payload);
    }
    bool deserialize(SerializedPayload_t *payload, void *data) override {
        return get(*payload, *static_cast<Octets *>(data));
    }
    std::function<uint32_t()> getSerializedSizeProvider(void *data) override {
        return [data] { return static_cast<uint32_t>(header + static_cast<Octets *>(data)->size()); };
    }
    void *createData() override { return new Octets(); }
    void deleteData(void *data) override { delete static_cast<Octets *>(data); }
    bool getKey(void *, InstanceHandle_t *, bool) override { return false; }
    // What is not bounded is never shared.
    bool is_bounded() const override { return bounded; }

private:
    const bool bounded;
};
