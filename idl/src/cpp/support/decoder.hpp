/// Reads values from bytes that stay where they are.
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

    /// The next bytes, which are passed over.
    const std::uint8_t* octets(std::size_t size) {
        if (size > remaining()) throw Error("the bytes end too early");
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

    /// A length in bytes, which are there.
    std::size_t length() {
        const std::size_t size = integer<std::uint32_t>();
        if (size > remaining()) throw Error("the bytes end too early");
        return size;
    }

    /// Pays for memory.
    void claim(std::size_t bytes) {
        if (bytes > memory_) throw Error("the value takes too much memory");
        memory_ -= bytes;
    }

    /// Pays for an element that has taken no bytes.
    void element(std::size_t before) {
        if (position_ != before) return;
        if (empties_ == 0) throw Error("too many elements without bytes");
        --empties_;
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

    /// Enters a structure or union, with keys or without; the outermost decides whether keys count at all.
    void enter_keys(bool has_key) {
        if (keys_ == Keys::Undecided) keys_ = has_key ? Keys::Count : Keys::Erased;
    }
    /// Whether a key member has to be there: it is part of the topic's key.
    bool keys_count() const { return keys_ != Keys::Erased; }
    /// Reads what is no part of the key, if `beside`: keys say nothing inside of it.
    template <class Body>
    void beside_key(bool beside, Body body) {
        if (!beside) return body();
        struct Restore {
            Keys& keys;
            Keys outer;
            ~Restore() { keys = outer; }
        } restore{keys_, keys_};
        keys_ = Keys::Erased;
        body();
    }

    /// Values that their types cannot hold are taken all the same: they are passed over or shortened.
    bool lenient = false;
    /// What is read next may exceed its bound: it is shortened afterwards.
    bool whole = false;
    /// Whether what is being read may exceed its bound. What is in it may not.
    bool take_whole() { return std::exchange(whole, false) || lenient; }

private:
    enum class Keys { Undecided, Count, Erased };

    template <class Body>
    void region(std::size_t size, Body body) {
        if (size > remaining()) throw Error("the bytes end too early");
        const std::size_t outer = end_;
        end_ = position_ + size;
        body();
        position_ = end_;
        end_ = outer;
    }

    std::optional<Header> emheader() {
        align(4);
        // Fewer bytes than a header are padding.
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
    Keys keys_ = Keys::Undecided;
    std::size_t memory_;
    std::size_t empties_;
};

