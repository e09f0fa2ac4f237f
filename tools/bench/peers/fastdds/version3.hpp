// What differs between the versions of Fast DDS, for 3.x.
#pragma once

#include "octets.hpp"

#include <fastdds/dds/core/ReturnCode.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.hpp>
#include <fastdds/rtps/transport/shared_mem/SharedMemTransportDescriptor.hpp>

using eprosima::fastdds::dds::Duration_t;
using eprosima::fastdds::rtps::InstanceHandle_t;
using eprosima::fastdds::rtps::PREALLOCATED_MEMORY_MODE;
using eprosima::fastdds::rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
using eprosima::fastdds::rtps::SerializedPayload_t;

static const auto OK = eprosima::fastdds::dds::RETCODE_OK;

template <class Qos>
static void set_heartbeat_period(Qos &qos, const Duration_t &period) {
    qos.reliable_writer_qos().times.heartbeat_period = period;
}

template <class Writer>
static bool write_sample(Writer *writer, Octets &octets) {
    return writer->write(&octets) == OK;
}

class OctetsType : public eprosima::fastdds::dds::TopicDataType {
    using Representation = eprosima::fastdds::dds::DataRepresentationId_t;

public:
    OctetsType(size_t payload, bool is_bounded) : bounded(is_bounded) {
        set_name("Octets");
        max_serialized_type_size = static_cast<uint32_t>(payload + header);
        is_compute_key_provided = false;
    }

    bool serialize(const void *const data, SerializedPayload_t &payload, Representation) override {
        return put(*static_cast<const Octets *>(data), payload);
    }
    bool deserialize(SerializedPayload_t &payload, void *data) override {
        return get(payload, *static_cast<Octets *>(data));
    }
    uint32_t calculate_serialized_size(const void *const data, Representation) override {
        return static_cast<uint32_t>(header + static_cast<const Octets *>(data)->size());
    }
    void *create_data() override { return new Octets(); }
    void delete_data(void *data) override { delete static_cast<Octets *>(data); }
    bool compute_key(SerializedPayload_t &, InstanceHandle_t &, bool) override { return false; }
    bool compute_key(const void *const, InstanceHandle_t &, bool) override { return false; }
    // What is not bounded is never shared.
    bool is_bounded() const override { return bounded; }

private:
    const bool bounded;
};
