/// Appends a serialized value to bytes.
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

