// What Cyclone DDS's C library exports of types, of its serializer and of discovered endpoints, as version 11.0.1 has it; its Python package brings the
// library without headers.
#pragma once

#include "../../../../tools/bench/peers/cyclone/api.hpp"

extern "C" {
struct Stream {
    unsigned char *buffer;
    uint32_t size, index, version;
};
struct Allocator {
    void *(*allocate)(size_t);
    void *(*again)(void *, size_t);
    void (*release)(void *);
};
struct SerializerDescriptor {
    uint32_t size, align, flags;
    struct {
        uint32_t count;
        void *by_id, *by_place;
    } keys;
    struct {
        uint32_t count;
        uint32_t *ops;
    } ops;
    size_t plain_size_xcdr1, plain_size_xcdr2;
    struct {
        void *table;
        const uint32_t *first;
    } member_ids;
};
extern const Allocator dds_cdrstream_default_allocator;
struct dds_typeinfo;
struct Endpoint {
    unsigned char key[16], participant[16];
    uint64_t participant_handle;
    char *topic, *type;
    dds_qos *qos;
};
dds_return_t dds_builtintopic_get_endpoint_type_info(void *endpoint, const dds_typeinfo **);
void dds_builtintopic_free_endpoint(Endpoint *);
dds_return_t dds_create_topic_descriptor(int scope, dds_entity_t participant, const dds_typeinfo *, int64_t timeout,
                                         dds_topic_descriptor **);
dds_return_t dds_get_matched_publications(dds_entity_t reader, uint64_t *handles, size_t count);
dds_return_t dds_get_matched_subscriptions(dds_entity_t writer, uint64_t *handles, size_t count);
Endpoint *dds_get_matched_publication_data(dds_entity_t reader, uint64_t handle);
Endpoint *dds_get_matched_subscription_data(dds_entity_t writer, uint64_t handle);
void dds_qset_userdata(dds_qos *, const void *, size_t);
bool dds_qget_userdata(const dds_qos *, void **, size_t *);
void dds_free(void *);
void dds_qset_durability(dds_qos *, int kind);
void dds_qset_durability_service(dds_qos *, int64_t cleanup_delay, int history, int32_t depth, int32_t samples, int32_t instances,
                                 int32_t samples_per_instance);
void dds_qset_writer_data_lifecycle(dds_qos *, bool autodispose);
void dds_cdrstream_desc_from_topic_desc(SerializerDescriptor *, const dds_topic_descriptor *);
bool dds_stream_normalize(void *, uint32_t size, bool swapped, uint32_t version, const SerializerDescriptor *, bool key, uint32_t *used);
void dds_istream_init(Stream *, uint32_t size, const void *, uint32_t version);
void dds_ostream_init(Stream *, const Allocator *, uint32_t size, uint32_t version);
void dds_ostream_fini(Stream *, const Allocator *);
void dds_stream_read_sample(Stream *, void *sample, const Allocator *, const SerializerDescriptor *);
bool dds_stream_write_sampleLE(Stream *, const Allocator *, const void *sample, const SerializerDescriptor *);
bool dds_stream_write_sampleBE(Stream *, const Allocator *, const void *sample, const SerializerDescriptor *);
void dds_stream_free_sample(void *sample, const Allocator *, const uint32_t *ops);
bool dds_stream_extract_key_from_data(Stream *, Stream *key, const Allocator *, const SerializerDescriptor *);
void dds_stream_extract_keyBE_from_key(Stream *, Stream *key, int kind, const Allocator *, const SerializerDescriptor *);
void dds_qset_data_representation(dds_qos *, uint32_t count, const int16_t *);
}

namespace cyclone {

// The whole domain, remote participants included.
constexpr int GLOBAL = 0;
// A descriptor has type information and type objects.
constexpr uint32_t XTYPES_METADATA = 1u << 6;
constexpr dds_entity_t DCPS_PUBLICATION = 0x7fff0003, DCPS_SUBSCRIPTION = 0x7fff0004;

}  // namespace cyclone
