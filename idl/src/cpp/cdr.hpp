// Serialization of types that the IDL compiler of Dunlin made: XCDR1 and XCDR2, both byte orders, keys
// (DDS-XTypes 1.3 clause 7.4). C++17, no dependencies.
//
//     std::vector<std::uint8_t> payload = dunlin::cdr::to_payload(value, dunlin::cdr::Representation::Xcdr2);
//     Shape shape = dunlin::cdr::from_payload<Shape>(payload.data(), payload.size());
//
// What is wrong with octets or values is a dunlin::cdr::Error. Decoding is safe with octets of strangers: every count
// is believed only as far as octets are present, nesting and memory are limited.
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

/// What is wrong with octets or a value.
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
    /// Octets of memory.
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
    Box(T value) : value_(std::make_unique<T>(std::move(value))) {}
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

/// An array of arrays, or of anything else, filled with one value.
template <class T, class V>
T filled(const V& value) {
    if constexpr (std::is_same_v<T, V>) {
        return value;
    } else if constexpr (IsBox<T>::value) {
        return T(filled<typename T::value_type>(value));
    } else {
        T array{};
        for (auto& item : array) item = filled<typename T::value_type>(value);
        return array;
    }
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

/// Appends a serialized value to octets.
class Encoder {
public:
    Encoder(std::vector<std::uint8_t>& out, Representation representation, Endianness endianness, Scope scope)
        : out_(out), origin_(out.size()), xcdr2_(representation == Representation::Xcdr2),
          big_(endianness == Endianness::Big), scope_(scope) {}

    bool xcdr2() const { return xcdr2_; }
    Scope scope() const { return scope_; }

    void align(std::size_t alignment) {
        const std::size_t most = xcdr2_ ? 4 : 8;
        if (alignment > most) alignment = most;
        while ((out_.size() - origin_) % alignment != 0) out_.push_back(0);
    }

    /// Writes an integer of any size.
    template <class U>
    void integer(U value) {
        static_assert(std::is_unsigned_v<U>);
        align(sizeof(U));
        for (std::size_t i = 0; i < sizeof(U); ++i) {
            const std::size_t at = big_ ? sizeof(U) - 1 - i : i;
            out_.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * at)));
        }
    }

    void octets(const void* data, std::size_t size) {
        const auto* octets = static_cast<const std::uint8_t*>(data);
        out_.insert(out_.end(), octets, octets + size);
    }

    void float128(const Float128& value) {
        align(8);
        const std::uint64_t parts[2] = {big_ ? value.high : value.low, big_ ? value.low : value.high};
        for (const std::uint64_t part : parts) {
            for (std::size_t i = 0; i < 8; ++i) {
                out_.push_back(static_cast<std::uint8_t>(part >> (8 * (big_ ? 7 - i : i))));
            }
        }
    }

    void length(std::size_t size) {
        if (size > UINT32_MAX) throw Error("a length has more than 32 bits");
        integer(static_cast<std::uint32_t>(size));
    }

    /// Writes the size of what `body` writes in front of it.
    template <class Body>
    void delimited(Body body) {
        integer(std::uint32_t{0});
        const std::size_t start = out_.size();
        body();
        const std::size_t size = out_.size() - start;
        if (size > UINT32_MAX) throw Error("a length has more than 32 bits");
        for (std::size_t i = 0; i < 4; ++i) {
            out_[start - 4 + i] = static_cast<std::uint8_t>(size >> (8 * (big_ ? 3 - i : i)));
        }
    }

    template <class Body>
    void delimited_if(bool needed, Body body) {
        if (needed && xcdr2_) {
            delimited(body);
        } else {
            body();
        }
    }

    template <class Body>
    void structure(Extensibility extensibility, Body body) {
        if (depth_ == 0) throw Error("the value is nested too deep");
        --depth_;
        if (extensibility == Extensibility::Final || scope_ == Scope::KeyHash) {
            body();
        } else if (xcdr2_) {
            delimited(body);
        } else {
            body();
            if (extensibility == Extensibility::Mutable) {
                align(4);
                integer(std::uint16_t{0x7f02});
                integer(std::uint16_t{0});
            }
        }
        ++depth_;
    }

    /// Writes a member of a mutable type.
    template <class Body>
    void member(const Member& member, unsigned code, Body body) {
        if (!xcdr2_) return long_header(member, true, body);
        const std::uint32_t flag = member.must_understand ? 0x80000000U : 0;
        integer(flag | (static_cast<std::uint32_t>(code) << 28) | member.id);
        if (code == 4) {
            delimited(body);
        } else {
            body();
        }
    }

    /// Writes an optional member that is not in a list of members.
    template <class Body>
    void optional(const Member& member, bool present, Body body) {
        if (!xcdr2_) return long_header(member, present, body);
        integer(static_cast<std::uint8_t>(present));
        if (present) body();
    }

private:
    template <class Body>
    void long_header(const Member& member, bool present, Body body) {
        align(4);
        integer(std::uint16_t{0x7f01});
        integer(std::uint16_t{8});
        integer(member.id | (member.must_understand ? 0x40000000U : 0U));
        if (!present) return integer(std::uint32_t{0});
        delimited([&] {
            const std::size_t outer = origin_;
            origin_ = out_.size();
            body();
            origin_ = outer;
        });
    }

    std::vector<std::uint8_t>& out_;
    std::size_t origin_;
    bool xcdr2_;
    bool big_;
    Scope scope_;
    unsigned depth_ = 64;
};

/// Reads values from octets that stay where they are.
class Decoder {
public:
    struct Mark {
        std::size_t position, end, origin;
        unsigned depth;
    };
    struct Header {
        std::uint32_t id;
        bool must_understand;
        bool is_private;
        std::size_t size;
    };

    Decoder(const std::uint8_t* data, std::size_t size, Representation representation, Endianness endianness,
            Scope scope, const Limits& limits)
        : data_(data), end_(size), xcdr2_(representation == Representation::Xcdr2),
          big_(endianness == Endianness::Big), scope_(scope), depth_(limits.max_depth), memory_(limits.max_bytes),
          empties_(size + 256) {}

    bool xcdr2() const { return xcdr2_; }
    Scope scope() const { return scope_; }
    bool ends_early() const { return position_ >= end_ && scope_ == Scope::Sample; }
    std::size_t remaining() const { return end_ - position_; }
    std::size_t position() const { return position_; }
    Mark mark() const { return {position_, end_, origin_, depth_}; }
    void reset(const Mark& mark) {
        position_ = mark.position;
        end_ = mark.end;
        origin_ = mark.origin;
        depth_ = mark.depth;
    }
    /// The outermost type has no delimiter although it is appendable: an XCDR2 header said so.
    void set_undelimited() { undelimited_ = true; }

    void align(std::size_t alignment) {
        const std::size_t most = xcdr2_ ? 4 : 8;
        if (alignment > most) alignment = most;
        const std::size_t over = (position_ - origin_) % alignment;
        const std::size_t padding = over == 0 ? 0 : alignment - over;
        position_ = padding > remaining() ? end_ : position_ + padding;
    }

    /// The next octets, which are passed over.
    const std::uint8_t* octets(std::size_t size) {
        if (size > remaining()) throw Error("the octets end too early");
        const std::uint8_t* at = data_ + position_;
        position_ += size;
        return at;
    }

    template <class U>
    U integer() {
        align(sizeof(U));
        const std::uint8_t* from = octets(sizeof(U));
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < sizeof(U); ++i) {
            value |= static_cast<std::uint64_t>(from[i]) << (8 * (big_ ? sizeof(U) - 1 - i : i));
        }
        return static_cast<U>(value);
    }

    Float128 float128() {
        align(8);
        const std::uint8_t* from = octets(16);
        std::uint64_t parts[2] = {0, 0};
        for (std::size_t i = 0; i < 16; ++i) {
            parts[i / 8] |= static_cast<std::uint64_t>(from[i]) << (8 * (big_ ? 7 - i % 8 : i % 8));
        }
        return big_ ? Float128{parts[0], parts[1]} : Float128{parts[1], parts[0]};
    }

    bool boolean() {
        const auto value = integer<std::uint8_t>();
        if (value > 1) throw Error("a boolean is neither 0 nor 1");
        return value == 1;
    }

    /// A length in octets, which are there.
    std::size_t length() {
        const std::size_t size = integer<std::uint32_t>();
        if (size > remaining()) throw Error("the octets end too early");
        return size;
    }

    /// Pays for memory.
    void claim(std::size_t bytes) {
        if (bytes > memory_) throw Error("the value takes too much memory");
        memory_ -= bytes;
    }

    /// Pays for an element that has taken no octets, or for its memory.
    void element(std::size_t before, std::size_t bytes) {
        if (position_ == before) {
            if (empties_ == 0) throw Error("too many elements without octets");
            --empties_;
        }
        claim(bytes);
    }

    /// Reads what a delimiter counts, and passes over what `body` leaves.
    template <class Body>
    void delimited(Body body) {
        region(length(), body);
    }

    template <class Body>
    void delimited_if(bool needed, Body body) {
        if (needed && xcdr2_) {
            delimited(body);
        } else {
            body();
        }
    }

    template <class Body>
    void structure(Extensibility extensibility, Body body) {
        if (depth_ == 0) throw Error("the value is nested too deep");
        --depth_;
        bool has_delimiter = xcdr2_ && extensibility != Extensibility::Final && scope_ != Scope::KeyHash;
        if (has_delimiter && std::exchange(undelimited_, false)) has_delimiter = false;
        if (has_delimiter) {
            delimited(body);
        } else {
            body();
        }
        ++depth_;
    }

    /// The header of the next member of a mutable type.
    std::optional<Header> next() {
        while (auto header = xcdr2_ ? emheader() : parameter()) {
            if (header->size > remaining()) throw Error("a member ends too late");
            if (!header->is_private) return header;
            unknown(*header, false);
            octets(header->size);
        }
        return std::nullopt;
    }

    void unknown(const Header& header, bool lenient) const {
        if (header.must_understand && !lenient) throw Error("an unknown member must be understood");
    }

    /// Reads a member whose header has been read.
    template <class Body>
    void member(const Header& header, Body body) {
        const std::size_t outer = origin_;
        if (!xcdr2_) origin_ = position_;
        region(header.size, body);
        origin_ = outer;
    }

    /// Reads an optional member that is not in a list; whether it is there.
    template <class Body>
    bool optional(Body body) {
        if (xcdr2_) {
            const bool present = boolean();
            if (present) body();
            return present;
        }
        const auto header = parameter();
        if (!header) throw Error("an optional member has no header");
        if (header->size == 0) return false;
        if (header->size > remaining()) throw Error("a member ends too late");
        member(*header, body);
        return true;
    }

    /// Values that their types cannot hold are taken all the same: they are passed over or shortened.
    bool lenient = false;

private:
    template <class Body>
    void region(std::size_t size, Body body) {
        if (size > remaining()) throw Error("the octets end too early");
        const std::size_t outer = end_;
        end_ = position_ + size;
        body();
        position_ = end_;
        end_ = outer;
    }

    std::optional<Header> emheader() {
        align(4);
        // Fewer octets than a header are padding.
        if (remaining() < 4) return std::nullopt;
        const auto word = integer<std::uint32_t>();
        const unsigned code = (word >> 28) & 7;
        std::size_t size = std::size_t{1} << (code & 3);
        if (code == 4) {
            size = length();
        } else if (code > 4) {
            const std::size_t start = position_;
            const std::uint64_t count = integer<std::uint32_t>();
            position_ = start;
            const std::uint64_t octets = count * (code == 5 ? 1 : code == 6 ? 4 : 8) + 4;
            if (octets > remaining()) throw Error("a member ends too late");
            size = static_cast<std::size_t>(octets);
        }
        return Header{word & 0x0fffffffU, (word >> 31) == 1, false, size};
    }

    std::optional<Header> parameter() {
        for (;;) {
            align(4);
            const auto flags = integer<std::uint16_t>();
            const std::size_t size = integer<std::uint16_t>();
            switch (flags & 0x3fff) {
            case 0x3f02:
                return std::nullopt;
            case 0x3f03:
                octets(size);
                break;
            case 0x3f01: {
                if (size < 8) throw Error("a member header is too short");
                const auto word = integer<std::uint32_t>();
                const std::size_t long_size = integer<std::uint32_t>();
                octets(size - 8);
                return Header{word & 0x0fffffffU, (word & 0x40000000U) != 0, (word & 0x80000000U) != 0, long_size};
            }
            default:
                return Header{flags & 0x3fffU, (flags & 0x4000) != 0, (flags & 0x8000) != 0, size};
            }
        }
    }

    const std::uint8_t* data_;
    std::size_t position_ = 0;
    std::size_t end_;
    std::size_t origin_ = 0;
    bool xcdr2_;
    bool big_;
    Scope scope_;
    bool undelimited_ = false;
    unsigned depth_;
    std::size_t memory_;
    std::size_t empties_;
};

/// Primitive types. How a value of the type `type` is written and read, and what a new one is: so have all that follow.
template <class T>
struct Number {
    using type = T;
    static constexpr Kind kind = Kind::Primitive;
    static constexpr Kind item_kind = kind;
    static constexpr unsigned code = code_of_size(std::is_same_v<T, Float128> ? 16 : sizeof(T));

    static type initial() { return type{}; }
    static void write(Encoder& e, const T& value) {
        if constexpr (std::is_same_v<T, Float128>) {
            e.float128(value);
        } else if constexpr (std::is_same_v<T, float>) {
            std::uint32_t bits;
            std::memcpy(&bits, &value, sizeof bits);
            e.integer(bits);
        } else if constexpr (std::is_same_v<T, double>) {
            std::uint64_t bits;
            std::memcpy(&bits, &value, sizeof bits);
            e.integer(bits);
        } else if constexpr (std::is_same_v<T, bool>) {
            e.integer(static_cast<std::uint8_t>(value ? 1 : 0));
        } else if constexpr (std::is_same_v<T, char16_t>) {
            e.integer(static_cast<std::uint16_t>(value));
        } else {
            e.integer(static_cast<std::make_unsigned_t<T>>(value));
        }
    }

    static void read(Decoder& d, T& value) {
        if constexpr (std::is_same_v<T, Float128>) {
            value = d.float128();
        } else if constexpr (std::is_same_v<T, float>) {
            const auto bits = d.integer<std::uint32_t>();
            std::memcpy(&value, &bits, sizeof bits);
        } else if constexpr (std::is_same_v<T, double>) {
            const auto bits = d.integer<std::uint64_t>();
            std::memcpy(&value, &bits, sizeof bits);
        } else if constexpr (std::is_same_v<T, bool>) {
            value = d.boolean();
        } else if constexpr (std::is_same_v<T, char16_t>) {
            value = static_cast<char16_t>(d.integer<std::uint16_t>());
        } else {
            value = static_cast<T>(d.integer<std::make_unsigned_t<T>>());
        }
    }

    static bool trim(T&) { return false; }
};

/// Enumerations, whose underlying type is what they have on the wire.
template <class E>
struct Enumeration {
    using type = E;
    using Holder = std::make_unsigned_t<std::underlying_type_t<E>>;
    static constexpr Kind kind = Kind::EnumLike;
    static constexpr Kind item_kind = kind;
    static constexpr unsigned code = code_of_size(sizeof(E));

    static type initial() { return Traits<E>::initial; }
    static void write(Encoder& e, const E& value) {
        if (!Traits<E>::is_known(value)) throw ConstructionError("an enumeration has no such value");
        e.integer(static_cast<Holder>(value));
    }
    static void read(Decoder& d, E& value) {
        value = static_cast<E>(static_cast<std::underlying_type_t<E>>(d.integer<Holder>()));
        if (!d.lenient && !Traits<E>::is_known(value)) throw ConstructionError("an enumeration has no such value");
    }
    static bool trim(E&) { return false; }
};

/// Bitmasks.
template <class U>
struct Bitmask {
    using type = U;
    static constexpr Kind kind = Kind::EnumLike;
    static constexpr Kind item_kind = kind;
    static constexpr unsigned code = code_of_size(sizeof(U));

    static type initial() { return type{}; }
    static void write(Encoder& e, const U& value) { e.integer(value); }
    static void read(Decoder& d, U& value) { value = d.integer<U>(); }
    static bool trim(U&) { return false; }
};

/// Bitsets, which have their bits in the member `_bits`.
template <class T>
struct Bitset {
    using type = T;
    static constexpr Kind kind = Kind::EnumLike;
    static constexpr Kind item_kind = kind;
    static constexpr unsigned code = code_of_size(sizeof(T::_bits));

    static type initial() { return type{}; }
    static void write(Encoder& e, const T& value) { e.integer(value._bits); }
    static void read(Decoder& d, T& value) { value._bits = d.integer<decltype(value._bits)>(); }
    static bool trim(T&) { return false; }
};

/// A bound; 0 is none.
inline void check_bound(std::size_t bound, std::size_t size) {
    if (bound != 0 && size > bound) throw ConstructionError("a string, sequence or map exceeds its bound");
}

inline bool is_utf8(const std::uint8_t* text, std::size_t size) {
    std::size_t i = 0;
    while (i < size) {
        const std::uint8_t c = text[i];
        const std::size_t more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : (c & 0xf0) == 0xe0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : 9;
        if (more == 9 || size - i <= more) return false;
        std::uint32_t point = more == 0 ? c : c & (0x3fU >> more);
        for (std::size_t k = 1; k <= more; ++k) {
            if ((text[i + k] & 0xc0) != 0x80) return false;
            point = (point << 6) | (text[i + k] & 0x3fU);
        }
        if ((more == 2 && (point < 0x800 || (point >= 0xd800 && point < 0xe000))) ||
            (more == 3 && (point < 0x10000 || point > 0x10ffff))) {
            return false;
        }
        i += more + 1;
    }
    return true;
}

template <std::size_t Bound = 0>
struct String {
    using type = std::string;
    static constexpr Kind kind = Kind::Compound;
    static constexpr Kind item_kind = kind;
    static constexpr unsigned code = 5;

    static type initial() { return type{}; }
    static void write(Encoder& e, const type& value) {
        check_bound(Bound, value.size());
        e.length(value.size() + 1);
        e.octets(value.data(), value.size());
        e.octets("", 1);
    }
    static void read(Decoder& d, type& value) {
        const std::size_t size = d.length();
        const std::uint8_t* text = d.octets(size);
        // Some send the length 0 instead of 1 for an empty string.
        const std::size_t used = size == 0 ? 0 : size - 1;
        if (size != 0 && text[used] != 0) throw Error("a string does not end with NUL");
        if (!is_utf8(text, used)) throw Error("a string is not UTF-8");
        if (!d.lenient) check_bound(Bound, used);
        d.claim(used);
        value.assign(reinterpret_cast<const char*>(text), used);
    }
    static bool trim(type& value) {
        if (Bound == 0) return false;
        std::size_t size = value.size() < Bound ? value.size() : Bound;
        while (size > 0 && size < value.size() && (static_cast<unsigned char>(value[size]) & 0xc0) == 0x80) --size;
        value.resize(size);
        return true;
    }
};

template <std::size_t Bound = 0>
struct WString {
    using type = std::u16string;
    static constexpr Kind kind = Kind::Compound;
    static constexpr Kind item_kind = kind;
    static constexpr unsigned code = 5;

    static type initial() { return type{}; }
    static void write(Encoder& e, const type& value) {
        check_bound(Bound, value.size());
        e.length(value.size() * 2);
        for (const char16_t unit : value) e.integer(static_cast<std::uint16_t>(unit));
    }
    static void read(Decoder& d, type& value) {
        const std::size_t size = d.length();
        if (size % 2 != 0) throw Error("a wide string has half a character");
        if (!d.lenient) check_bound(Bound, size / 2);
        d.claim(size);
        value.clear();
        value.reserve(size / 2);
        for (std::size_t i = 0; i < size / 2; ++i) value.push_back(static_cast<char16_t>(d.integer<std::uint16_t>()));
    }
    static bool trim(type& value) {
        if (Bound != 0 && value.size() > Bound) value.resize(Bound);
        return Bound != 0;
    }
};

/// Whether what was read without checks is a value of its type: then it can be written.
template <class C>
bool fits(const typename C::type& value) {
    std::vector<std::uint8_t> scratch;
    Encoder e(scratch, Representation::Xcdr2, Endianness::Little, Scope::Sample);
    try {
        C::write(e, value);
        return true;
    } catch (const Error&) {
        return false;
    }
}

template <class C, std::size_t Bound = 0>
struct Sequence {
    using type = std::vector<typename C::type>;
    static constexpr Kind kind = Kind::Compound;
    static constexpr Kind item_kind = kind;
    static constexpr unsigned code = C::kind != Kind::Primitive ? 5
                                     : C::code == 0             ? 5
                                     : C::code == 2             ? 6
                                     : C::code == 3             ? 7
                                                                : 4;

    static type initial() { return type{}; }
    static void write(Encoder& e, const type& value) {
        check_bound(Bound, value.size());
        e.delimited_if(C::kind != Kind::Primitive, [&] {
            e.length(value.size());
            if constexpr (std::is_same_v<C, Number<std::uint8_t>>) {
                e.octets(value.data(), value.size());
            } else {
                for (const auto& item : value) C::write(e, item);
            }
        });
    }
    static void read(Decoder& d, type& value) {
        value.clear();
        d.delimited_if(C::kind != Kind::Primitive, [&] {
            const std::size_t count = d.integer<std::uint32_t>();
            if constexpr (std::is_same_v<C, Number<std::uint8_t>>) {
                const std::uint8_t* from = d.octets(count);
                d.claim(count);
                value.assign(from, from + count);
            } else {
                for (std::size_t i = 0; i < count; ++i) {
                    const std::size_t before = d.position();
                    typename C::type item = C::initial();
                    C::read(d, item);
                    d.element(before, sizeof item);
                    value.push_back(std::move(item));
                }
            }
        });
        if (!d.lenient) check_bound(Bound, value.size());
    }
    static bool trim(type& value) {
        if (Bound == 0) return false;
        if (value.size() > Bound) value.erase(value.begin() + static_cast<std::ptrdiff_t>(Bound), value.end());
        return fits<Sequence>(value);
    }
};

/// An array; `Dimension` says that it is within another of the same declaration.
template <class C, std::size_t Size, bool Dimension = false>
struct Array {
    using type = std::array<typename C::type, Size>;
    static constexpr Kind kind = Kind::Compound;
    static constexpr Kind item_kind = Dimension ? C::item_kind : kind;
    static constexpr unsigned code = C::item_kind == Kind::Primitive ? 4 : 5;

    static type initial() {
        type value{};
        for (auto& item : value) item = C::initial();
        return value;
    }
    static void write(Encoder& e, const type& value) {
        e.delimited_if(!Dimension && C::item_kind != Kind::Primitive, [&] {
            for (const auto& item : value) C::write(e, item);
        });
    }
    static void read(Decoder& d, type& value) {
        d.delimited_if(!Dimension && C::item_kind != Kind::Primitive, [&] {
            for (auto& item : value) C::read(d, item);
        });
    }
    static bool trim(type&) { return false; }
};

template <class K, class V, std::size_t Bound = 0>
struct Map {
    using type = std::map<typename K::type, typename V::type>;
    static constexpr Kind kind = Kind::Compound;
    static constexpr Kind item_kind = kind;
    static constexpr bool delimited = pair_kind(K::kind, V::kind) != Kind::Primitive;
    static constexpr unsigned code = delimited ? 5 : 4;

    static type initial() { return type{}; }
    static void write(Encoder& e, const type& value) {
        check_bound(Bound, value.size());
        e.delimited_if(delimited, [&] {
            e.length(value.size());
            for (const auto& pair : value) {
                K::write(e, pair.first);
                V::write(e, pair.second);
            }
        });
    }
    static void read(Decoder& d, type& value) {
        value.clear();
        std::size_t count = 0;
        d.delimited_if(delimited, [&] {
            count = d.integer<std::uint32_t>();
            for (std::size_t i = 0; i < count; ++i) {
                const std::size_t before = d.position();
                typename K::type key = K::initial();
                typename V::type item = V::initial();
                K::read(d, key);
                V::read(d, item);
                d.element(before, sizeof key + sizeof item);
                value.insert_or_assign(std::move(key), std::move(item));
            }
        });
        if (!d.lenient) check_bound(Bound, count);
    }
    static bool trim(type& value) {
        if (Bound == 0) return false;
        while (value.size() > Bound) value.erase(std::prev(value.end()));
        return fits<Map>(value);
    }
};

/// What is behind a pointer.
template <class C>
struct Boxed {
    using type = Box<typename C::type>;
    static constexpr Kind kind = C::kind;
    static constexpr Kind item_kind = C::item_kind;
    static constexpr unsigned code = C::code;

    static type initial() { return C::initial(); }
    static void write(Encoder& e, const type& value) { C::write(e, *value); }
    static void read(Decoder& d, type& value) {
        d.claim(sizeof(typename C::type));
        C::read(d, *value);
    }
    static bool trim(type& value) { return C::trim(*value); }
};

/// What `@try_construct` repairs: a value that does not fit becomes what it was before, or is shortened.
template <class C, TryConstruct How>
struct Try {
    using type = typename C::type;
    static constexpr Kind kind = C::kind;
    static constexpr Kind item_kind = C::item_kind;
    static constexpr unsigned code = C::code;

    static type initial() { return C::initial(); }
    static void write(Encoder& e, const type& value) { C::write(e, value); }
    static void read(Decoder& d, type& value) {
        if (d.lenient || d.scope() == Scope::KeyHash) return C::read(d, value);
        const Decoder::Mark start = d.mark();
        type candidate = value;
        try {
            C::read(d, candidate);
        } catch (const ConstructionError&) {
            d.reset(start);
            d.lenient = true;
            type whole = C::initial();
            C::read(d, whole);
            d.lenient = false;
            candidate = How == TryConstruct::Trim && C::trim(whole) ? std::move(whole) : value;
        }
        value = std::move(candidate);
    }
    static bool trim(type& value) { return C::trim(value); }
};

/// Whether a member belongs to what is written: in a structure without key members all of them.
template <class T>
bool in_scope(const Member& member, Scope scope) {
    return scope == Scope::Sample || !Traits<T>::has_key || member.key;
}

/// Writes the members that it visits.
template <class T>
struct Writer {
    Encoder& e;

    template <class C>
    void member(const Member& member, const typename C::type& value) {
        if (!in_scope<T>(member, e.scope())) return;
        if (is_listed()) {
            e.member(member, C::code, [&] { C::write(e, value); });
        } else {
            C::write(e, value);
        }
    }
    template <class C>
    void optional(const Member& member, const std::optional<typename C::type>& value) {
        if (!in_scope<T>(member, e.scope())) return;
        if (!is_listed()) {
            e.optional(member, value.has_value(), [&] { C::write(e, *value); });
        } else if (value.has_value()) {
            e.member(member, C::code, [&] { C::write(e, *value); });
        }
    }
    bool is_listed() const {
        return Traits<T>::extensibility == Extensibility::Mutable && e.scope() != Scope::KeyHash;
    }
};

inline void check_missing(const Member& member, const Decoder& d) {
    const bool required = member.key || (member.must_understand && d.scope() == Scope::Sample);
    if (required && !d.lenient) throw Error("a member is missing that has to be there");
}

/// Reads an optional value into its place.
template <class C>
void read_present(Decoder& d, std::optional<typename C::type>& value) {
    typename C::type item = C::initial();
    C::read(d, item);
    value = std::move(item);
}

/// Reads the members that it visits, one behind the other.
template <class T>
struct Reader {
    Decoder& d;

    template <class C>
    void member(const Member& member, typename C::type& value) {
        if (is_there(member)) C::read(d, value);
    }
    template <class C>
    void optional(const Member& member, std::optional<typename C::type>& value) {
        value.reset();
        const bool there = in_scope<T>(member, d.scope()) && !is_over();
        if (there) d.optional([&] { read_present<C>(d, value); });
    }
    bool is_over() const { return Traits<T>::extensibility != Extensibility::Final && d.ends_early(); }
    bool is_there(const Member& member) const {
        if (!in_scope<T>(member, d.scope())) return false;
        if (!is_over()) return true;
        check_missing(member, d);
        return false;
    }
};

/// Reads the member with one id.
struct Finder {
    Decoder& d;
    const Decoder::Header& header;
    std::vector<bool>& seen;
    std::size_t index = 0;
    bool found = false;

    template <class C>
    void member(const Member& member, typename C::type& value) {
        if (wanted(member)) d.member(header, [&] { C::read(d, value); });
    }
    template <class C>
    void optional(const Member& member, std::optional<typename C::type>& value) {
        if (wanted(member)) d.member(header, [&] { read_present<C>(d, value); });
    }
    bool wanted(const Member& member) {
        const std::size_t at = index++;
        if (seen.size() <= at) seen.resize(at + 1);
        if (found || member.id != header.id) return false;
        if (seen[at]) throw Error("a member is there twice");
        seen[at] = true;
        return found = true;
    }
};

/// Looks for members that were not there.
struct Missing {
    Decoder& d;
    const std::vector<bool>& seen;
    std::size_t index = 0;

    template <class C, class V>
    void member(const Member& member, V&) {
        look(member);
    }
    template <class C, class V>
    void optional(const Member&, V&) {
        ++index;
    }
    void look(const Member& member) {
        const std::size_t at = index++;
        if (at >= seen.size() || !seen[at]) check_missing(member, d);
    }
};

template <class T>
constexpr unsigned code_of_object() {
    return Traits<T>::extensibility == Extensibility::Final ? 4 : 5;
}

template <class T>
struct Structure {
    using type = T;
    static constexpr Kind kind = Kind::Compound;
    static constexpr Kind item_kind = kind;
    static constexpr unsigned code = code_of_object<T>();

    static type initial() { return type{}; }
    static void write(Encoder& e, const T& value) {
        e.structure(Traits<T>::extensibility, [&] {
            Writer<T> writer{e};
            if (e.scope() == Scope::KeyHash) {
                Traits<T>::visit_by_id(value, writer);
            } else {
                Traits<T>::visit(value, writer);
            }
        });
    }
    static void read(Decoder& d, T& value) {
        d.structure(Traits<T>::extensibility, [&] {
            if (Traits<T>::extensibility == Extensibility::Mutable && d.scope() != Scope::KeyHash) {
                return read_list(d, value);
            }
            Reader<T> reader{d};
            if (d.scope() == Scope::KeyHash) {
                Traits<T>::visit_by_id(value, reader);
            } else {
                Traits<T>::visit(value, reader);
            }
        });
    }
    static bool trim(T&) { return false; }

private:
    static void read_list(Decoder& d, T& value) {
        std::vector<bool> seen;
        while (const auto header = d.next()) {
            Finder finder{d, *header, seen};
            Traits<T>::visit(value, finder);
            if (!finder.found) {
                d.unknown(*header, d.lenient);
                d.octets(header->size);
            }
        }
        Missing missing{d, seen};
        Traits<T>::visit(value, missing);
    }
};

template <class T>
struct Union {
    using type = T;
    using D = typename Traits<T>::Discriminator;
    static constexpr Kind kind = Kind::Compound;
    static constexpr Kind item_kind = kind;
    static constexpr unsigned code = code_of_object<T>();
    static constexpr Extensibility form = Traits<T>::extensibility;

    static type initial() { return type{}; }
    static void write(Encoder& e, const T& value) {
        e.structure(form, [&] {
            const bool listed = form == Extensibility::Mutable && e.scope() != Scope::KeyHash;
            if (form == Extensibility::Mutable && e.scope() != Scope::KeyHash) {
                e.member(Member{0}, D::code, [&] { D::write(e, value._d()); });
            } else {
                D::write(e, value._d());
            }
            if (!Traits<T>::has_key || e.scope() == Scope::Sample) {
                CaseWriter writer{e, listed};
                Traits<T>::visit_selected(value, writer);
            }
        });
    }

    static void read(Decoder& d, T& value) {
        d.structure(form, [&] {
            const bool listed = form == Extensibility::Mutable && d.scope() != Scope::KeyHash;
            typename D::type discriminator = D::initial();
            const bool fits = read_discriminator(d, listed, discriminator);
            if (fits) {
                Traits<T>::select(value, discriminator);
            } else {
                value = T{};
            }
            if (fits && (!Traits<T>::has_key || d.scope() == Scope::Sample)) {
                CaseReader reader{d, listed};
                Traits<T>::visit_selected(value, reader);
                if (reader.visited || !listed) return;
            }
            if (listed) find(d, [](const Decoder::Header&) { return false; }, true);
        });
    }
    static bool trim(T&) { return false; }

private:
    /// Passes over a list of members, of which `take` may take some.
    template <class Take>
    static void find(Decoder& d, Take take, bool lenient) {
        while (const auto header = d.next()) {
            if (take(*header)) continue;
            d.unknown(*header, lenient || header->id == 0);
            d.octets(header->size);
        }
    }

    static bool read_discriminator(Decoder& d, bool listed, typename D::type& value) {
        const bool ends = form == Extensibility::Mutable || (form == Extensibility::Appendable && d.xcdr2());
        const Decoder::Mark start = d.mark();
        bool found = !listed;
        bool fits = true;
        const auto read = [&] {
            if (!Traits<T>::use_default || !ends || d.scope() == Scope::KeyHash) return D::read(d, value);
            const Decoder::Mark before = d.mark();
            try {
                D::read(d, value);
            } catch (const ConstructionError&) {
                d.reset(before);
                fits = false;
            }
        };
        if (!listed) {
            read();
            return fits;
        }
        const auto take = [&](const Decoder::Header& header) {
            if (header.id != 0) return false;
            if (found) throw Error("a member is there twice");
            found = true;
            d.member(header, read);
            return true;
        };
        find(d, take, true);
        d.reset(start);
        if (!found) throw Error("a union has no discriminator");
        return fits;
    }

    struct CaseWriter {
        Encoder& e;
        bool listed;
        template <class C>
        void member(const Member& member, const typename C::type& value) {
            if (listed) {
                e.member(member, C::code, [&] { C::write(e, value); });
            } else {
                C::write(e, value);
            }
        }
    };

    struct CaseReader {
        Decoder& d;
        bool listed;
        bool visited = false;
        template <class C>
        void member(const Member& member, typename C::type& value) {
            visited = true;
            if (!listed) return C::read(d, value);
            bool found = false;
            const auto take = [&](const Decoder::Header& header) {
                if (header.id != member.id) return false;
                if (found) throw Error("a member is there twice");
                found = true;
                d.member(header, [&] { C::read(d, value); });
                return true;
            };
            find(d, take, d.lenient);
        }
    };
};

/// The identifier of the encapsulation header (XTypes 1.3 clause 7.6.3.1.2, with the values that everybody uses).
constexpr std::uint8_t identifier(Representation representation, Extensibility extensibility) {
    if (representation == Representation::Xcdr1) return extensibility == Extensibility::Mutable ? 2 : 0;
    return extensibility == Extensibility::Final ? 6 : extensibility == Extensibility::Appendable ? 8 : 10;
}

/// A value with encapsulation header, filled up to a multiple of four octets. With Scope::Key only its key.
template <class T>
std::vector<std::uint8_t> to_payload(const T& value, Representation representation,
                                     Endianness endianness = Endianness::Little, Scope scope = Scope::Sample) {
    std::vector<std::uint8_t> out(4, 0);
    const std::uint8_t little = endianness == Endianness::Little ? 1 : 0;
    out[1] = static_cast<std::uint8_t>(identifier(representation, Traits<T>::extensibility) | little);
    if (scope != Scope::Sample && !Traits<T>::has_key) return out;
    Encoder e(out, representation, endianness, scope);
    Traits<T>::Codec::write(e, value);
    while (out.size() % 4 != 0) {
        out.push_back(0);
        ++out[3];
    }
    return out;
}

/// The key of a value, as in messages that end an instance.
template <class T>
std::vector<std::uint8_t> key_payload(const T& value, Representation representation,
                                      Endianness endianness = Endianness::Little) {
    return to_payload(value, representation, endianness, Scope::Key);
}

/// The octets of which the key hash is made (RTPS 2.5 clause 9.6.4.8): the hash itself if the type's key never has
/// more than 16 octets, filled up with zeros; otherwise its MD5 is. Empty for a type without key.
template <class T>
std::vector<std::uint8_t> key_hash_octets(const T& value) {
    std::vector<std::uint8_t> out;
    if (!Traits<T>::has_key) return out;
    Encoder e(out, Representation::Xcdr2, Endianness::Big, Scope::KeyHash);
    Traits<T>::Codec::write(e, value);
    return out;
}

/// The value of a payload in any representation and byte order. With Scope::Key it is a key, and other members have
/// their defaults.
template <class T>
T from_payload(const std::uint8_t* data, std::size_t size, Scope scope = Scope::Sample, const Limits& limits = {}) {
    if (size < 4) throw Error("the payload has no header");
    if (data[0] != 0) throw Error("the representation is not known");
    const std::size_t padding = data[3] & 3;
    if (padding > size - 4) throw Error("the payload ends too early");
    const std::uint8_t form = data[1] & 0xfe;
    const Endianness endianness = (data[1] & 1) != 0 ? Endianness::Little : Endianness::Big;
    constexpr Extensibility extensibility = Traits<T>::extensibility;
    if (form > 10 || form == 4) throw Error("the representation is not known");
    const Representation representation = form < 4 ? Representation::Xcdr1 : Representation::Xcdr2;
    T value{};
    if (scope != Scope::Sample && !Traits<T>::has_key) return value;
    Decoder d(data + 4, size - 4 - padding, representation, endianness, scope, limits);
    const std::uint8_t own = identifier(representation, extensibility);
    if (form == own) {
        Traits<T>::Codec::read(d, value);
    } else if (form == 6 && extensibility == Extensibility::Appendable) {
        d.set_undelimited();
        Traits<T>::Codec::read(d, value);
    } else if (form == 8 && extensibility == Extensibility::Final) {
        d.delimited([&] { Traits<T>::Codec::read(d, value); });
    } else {
        throw Error("the payload has another extensibility than the type");
    }
    return value;
}

template <class T>
T from_payload(const std::vector<std::uint8_t>& payload, Scope scope = Scope::Sample, const Limits& limits = {}) {
    return from_payload<T>(payload.data(), payload.size(), scope, limits);
}

} // namespace dunlin::cdr

#endif
