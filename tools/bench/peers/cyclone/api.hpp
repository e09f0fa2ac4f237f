// The part of Cyclone DDS's C API that is used here, as version 11 has it: its Python package brings the library without headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

extern "C" {
using dds_entity_t = int32_t;
using dds_return_t = int32_t;
struct dds_qos;
struct dds_listener;
struct Blob {
    const unsigned char *data;
    uint32_t size;
};
struct dds_topic_descriptor {
    uint32_t size, align, flags, keys;
    const char *name;
    const void *key_descriptors;
    uint32_t ops_count;
    const uint32_t *ops;
    const char *meta;
    Blob type_information, type_mapping;
    uint32_t representation;
};
struct dds_sample_info {
    uint32_t sample_state, view_state, instance_state;
    bool valid_data;
    int64_t source_timestamp;
    uint64_t instance, publication;
    uint32_t disposed_generation, no_writers_generation, sample_rank, generation_rank, absolute_generation_rank;
};
struct dds_matched_status {
    uint32_t total;
    int32_t total_change;
    uint32_t current;
    int32_t current_change;
    uint64_t last;
};
dds_entity_t dds_create_domain(uint32_t domain, const char *config);
dds_entity_t dds_create_participant(uint32_t domain, const dds_qos *, const dds_listener *);
dds_entity_t dds_create_topic(dds_entity_t, const dds_topic_descriptor *, const char *, const dds_qos *, const dds_listener *);
dds_entity_t dds_create_writer(dds_entity_t, dds_entity_t topic, const dds_qos *, const dds_listener *);
dds_entity_t dds_create_reader(dds_entity_t, dds_entity_t topic, const dds_qos *, const dds_listener *);
dds_return_t dds_delete(dds_entity_t);
dds_return_t dds_write(dds_entity_t, const void *);
dds_return_t dds_wait_for_acks(dds_entity_t, int64_t timeout);
dds_return_t dds_write_flush(dds_entity_t);
dds_return_t dds_take(dds_entity_t, void **, dds_sample_info *, size_t, uint32_t);
dds_return_t dds_return_loan(dds_entity_t, void **, int32_t);
dds_return_t dds_get_publication_matched_status(dds_entity_t, dds_matched_status *);
dds_return_t dds_get_subscription_matched_status(dds_entity_t, dds_matched_status *);
dds_qos *dds_create_qos(void);
void dds_delete_qos(dds_qos *);
void dds_qset_reliability(dds_qos *, int kind, int64_t max_blocking_time);
void dds_qset_history(dds_qos *, int kind, int32_t depth);
void dds_qset_writer_batching(dds_qos *, bool);
dds_listener *dds_create_listener(void *);
void dds_delete_listener(dds_listener *);
void dds_lset_data_available(dds_listener *, void (*)(dds_entity_t, void *));
const char *dds_strretcode(dds_return_t);
}

namespace cyclone {

struct Octets {
    uint32_t maximum, length;
    uint8_t *buffer;
    bool release;
};

// One member, a sequence of octets: address of a member, sequence, elements of one octet; end.
inline const uint32_t ops[] = {(0x01u << 24) | (0x07u << 16) | (0x01u << 8), 0, 0};
inline const dds_topic_descriptor octets = {
    sizeof(Octets), alignof(Octets), 0, 0, "Octets", nullptr, 2, ops, "", {nullptr, 0}, {nullptr, 0}, 0};

inline int32_t check(int32_t code, const char *what) {
    if (code < 0) throw std::runtime_error(std::string(what) + ": " + dds_strretcode(code));
    return code;
}

}  // namespace cyclone
