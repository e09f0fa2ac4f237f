// The payload, in the best case of serialization: the octets are copied as they are.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

using Octets = std::vector<uint8_t>;
// Encapsulation and the length of the sequence.
constexpr uint32_t header = 8;

template <class Payload>
static bool put(const Octets &octets, Payload &payload) {
    const auto length = static_cast<uint32_t>(octets.size());
    if (payload.max_size < header + length) return false;
    const uint8_t encapsulation[4] = {0, 1, 0, 0};
    std::memcpy(payload.data, encapsulation, 4);
    std::memcpy(payload.data + 4, &length, 4);
    std::memcpy(payload.data + header, octets.data(), length);
    payload.encapsulation = 1;
    payload.length = header + length;
    return true;
}

template <class Payload>
static bool get(const Payload &payload, Octets &octets) {
    uint32_t length = 0;
    if (payload.length < header) return false;
    std::memcpy(&length, payload.data + 4, 4);
    if (payload.length < header + length) return false;
    octets.assign(payload.data + header, payload.data + header + length);
    return true;
}
