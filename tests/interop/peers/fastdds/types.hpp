// The two topic types, serialized by hand: plain members in order, which is the same in XCDR1 and, but for the alignment
// of 8-octet members, in XCDR2.
#pragma once

#include <fastcdr/Cdr.h>
#include <fastcdr/FastBuffer.h>

#include <cstring>
#include <string>
#include <vector>

using eprosima::fastcdr::Cdr;
using eprosima::fastcdr::FastBuffer;

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

// What the key hash is the MD5 of: one unbounded string, big-endian (RTPS 2.5 §9.6.4.8).
static std::vector<unsigned char> key_octets(const std::string& key) {
    std::vector<unsigned char> octets(4 + key.size() + 1, 0);
    const uint32_t length = static_cast<uint32_t>(key.size() + 1);
    for (int i = 0; i < 4; ++i) octets[i] = static_cast<unsigned char>(length >> (24 - 8 * i));
    std::memcpy(octets.data() + 4, key.data(), key.size());
    return octets;
}
