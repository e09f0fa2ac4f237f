// The two topic types, serialized by hand as XCDR1 (all that Fast DDS 2 writes).
#pragma once

#include <fastcdr/Cdr.h>
#include <fastcdr/FastBuffer.h>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastrtps/utils/md5.h>

#include <cstring>
#include <string>
#include <vector>

using eprosima::fastcdr::Cdr;
using eprosima::fastcdr::FastBuffer;
using eprosima::fastrtps::rtps::InstanceHandle_t;
using eprosima::fastrtps::rtps::SerializedPayload_t;

struct ShapeType {
    static constexpr const char* name = "ShapeType";
    static constexpr size_t max_size = 1024;
    std::string color;
    int32_t x = 0, y = 0, shapesize = 0;
    size_t payload_size() const { return 0; }
    const std::string& key() const { return color; }
    void write(Cdr& out) const { out << color << x << y << shapesize; }
    void read(Cdr& in) { in >> color >> x >> y >> shapesize; }
    void read_key(Cdr& in) { in >> color; }
};

struct VideoFrame {
    static constexpr const char* name = "VideoFrame";
    static constexpr size_t max_size = 4 << 20;
    std::string camera_id;
    uint64_t frame_number = 0;
    int64_t capture_timestamp = 0;
    uint32_t encoding = 6, width = 0, height = 0;
    bool key_frame = true;
    std::vector<uint8_t> payload;
    size_t payload_size() const { return payload.size(); }
    const std::string& key() const { return camera_id; }
    void write(Cdr& out) const {
        out << camera_id << frame_number << capture_timestamp << encoding << width << height << key_frame << payload;
    }
    void read(Cdr& in) {
        in >> camera_id >> frame_number >> capture_timestamp >> encoding >> width >> height >> key_frame >> payload;
    }
    void read_key(Cdr& in) { in >> camera_id; }
};

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

    // The key is one unbounded string: MD5 of its big-endian serialization (RTPS 2.5 §9.6.4.8).
    bool getKey(void* data, InstanceHandle_t* handle, bool) override {
        const std::string& key = static_cast<T*>(data)->key();
        std::vector<unsigned char> octets(4 + key.size() + 1, 0);
        const uint32_t length = static_cast<uint32_t>(key.size() + 1);
        for (int i = 0; i < 4; ++i) octets[i] = static_cast<unsigned char>(length >> (24 - 8 * i));
        std::memcpy(octets.data() + 4, key.data(), key.size());
        MD5 md5;
        md5.init();
        md5.update(octets.data(), static_cast<unsigned>(octets.size()));
        md5.finalize();
        for (int i = 0; i < 16; ++i) handle->value[i] = md5.digest[i];
        return true;
    }
};
