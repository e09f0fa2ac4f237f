// Serialization of types that the IDL compiler of Dunlin made: XCDR1 and XCDR2, both byte orders, keys
// (DDS-XTypes 1.3 clause 7.4). C++17, no dependencies.
//
//     std::vector<std::uint8_t> payload = dunlin::cdr::to_payload(value, dunlin::cdr::Representation::Xcdr2);
//     Shape shape = dunlin::cdr::from_payload<Shape>(payload.data(), payload.size());
//
// What is wrong with bytes or values is a dunlin::cdr::Error. Decoding is safe with bytes of strangers: every count
// is believed only as far as bytes are present, nesting and memory are limited.
#ifndef DUNLIN_CDR_HPP
#define DUNLIN_CDR_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace dunlin::cdr {

enum class Representation { Xcdr1, Xcdr2 };
enum class Endianness { Big, Little };
enum class Extensibility { Final, Appendable, Mutable };
/// A whole value; its key members; its key members as they are hashed.
enum class Scope { Sample, Key, KeyHash };
enum class TryConstruct { Discard, UseDefault, Trim };

/// What is wrong with bytes or a value.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A value that its type cannot hold, which `@try_construct` may repair.
class ConstructionError : public Error {
public:
    using Error::Error;
};

/// What a decoded value may cost.
struct Limits {
    /// Bytes of memory.
    std::size_t max_bytes = std::size_t{256} << 20;
    /// Nesting of structures and unions.
    unsigned max_depth = 64;
};

/// IEEE 754 quadruple precision (`long double` of IDL), as its bits.
struct Float128 {
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    friend bool operator==(const Float128& a, const Float128& b) { return a.high == b.high && a.low == b.low; }
    friend bool operator!=(const Float128& a, const Float128& b) { return !(a == b); }
};

/// A value behind a pointer (`@external`) that is copied with what contains it. Never empty, unless moved from.
template <class T>
class Box {
public:
    using value_type = T;
    Box() : value_(std::make_unique<T>()) {}
    Box(const T& value) : value_(std::make_unique<T>(value)) {}
    Box(T&& value) : value_(std::make_unique<T>(std::move(value))) {}
    Box(const Box& other) : value_(std::make_unique<T>(*other)) {}
    Box(Box&&) noexcept = default;
    Box& operator=(const Box& other) {
        value_ = std::make_unique<T>(*other);
        return *this;
    }
    Box& operator=(Box&&) noexcept = default;
    ~Box() = default;
    T& operator*() { return *value_; }
    const T& operator*() const { return *value_; }
    T* operator->() { return value_.get(); }
    const T* operator->() const { return value_.get(); }
    friend bool operator==(const Box& a, const Box& b) { return *a == *b; }
    friend bool operator!=(const Box& a, const Box& b) { return !(*a == *b); }

private:
    std::unique_ptr<T> value_;
};

template <class T>
struct IsBox : std::false_type {};
template <class T>
struct IsBox<Box<T>> : std::true_type {};

template <class T, class V>
void fill(T& target, const V& value) {
    if constexpr (std::is_same_v<T, V>) {
        target = value;
    } else if constexpr (IsBox<T>::value) {
        fill(*target, value);
    } else {
        for (auto& item : target) fill(item, value);
    }
}

/// An array of arrays, or of anything else, filled with one value.
template <class T, class V>
T filled(const V& value) {
    T made{};
    fill(made, value);
    return made;
}

/// What generated code says of a structure, union or enumeration.
template <class T>
struct Traits;

/// What generated code says of a member.
struct Member {
    std::uint32_t id;
    bool key = false;
    bool must_understand = false;
};

/// How collections treat an element.
enum class Kind { Primitive, EnumLike, Compound };

constexpr Kind pair_kind(Kind key, Kind value) {
    if (key == Kind::Primitive) return value;
    if (value == Kind::Primitive) return key;
    return key == Kind::EnumLike && value == Kind::EnumLike ? Kind::EnumLike : Kind::Compound;
}

/// The code of a size in XCDR2 member headers (clause 7.4.3.4.2).
constexpr unsigned code_of_size(std::size_t size) {
    return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : 4;
}

