/// Primitive types. How a value of the type `type` is written and read, what makes a default of one that is `type{}`, and
/// what a value allocates: so have all that follow. Values are made where they stay, because a stack may be small.
template <class T>
struct Number {
    using type = T;
    static constexpr Kind kind = Kind::Primitive;
    static constexpr Kind item_kind = kind;
    static constexpr unsigned code = code_of_size(std::is_same_v<T, Float128> ? 16 : sizeof(T));

    static void prepare(type&) {}
    static std::size_t heap(const type&) { return 0; }
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

    static void prepare(type& value) { value = Traits<E>::initial; }
    static std::size_t heap(const type&) { return 0; }
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

    static void prepare(type&) {}
    static std::size_t heap(const type&) { return 0; }
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

    static void prepare(type&) {}
    static std::size_t heap(const type&) { return 0; }
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

    static void prepare(type&) {}
    static std::size_t heap(const type& value) { return value.size(); }
    static void write(Encoder& e, const type& value) {
        check_bound(Bound, value.size());
        e.length(value.size() + 1);
        e.octets(value.data(), value.size());
        e.octets("", 1);
    }
    static void read(Decoder& d, type& value) {
        const bool whole = d.take_whole();
        const std::size_t size = d.length();
        const std::uint8_t* text = d.octets(size);
        // Some send the length 0 instead of 1 for an empty string.
        const std::size_t used = size == 0 ? 0 : size - 1;
        if (size != 0 && text[used] != 0) throw Error("a string does not end with NUL");
        if (!is_utf8(text, used)) throw Error("a string is not UTF-8");
        if (!whole) check_bound(Bound, used);
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

    static void prepare(type&) {}
    static std::size_t heap(const type& value) { return value.size() * 2; }
    static void write(Encoder& e, const type& value) {
        check_bound(Bound, value.size());
        e.length(value.size() * 2);
        for (const char16_t unit : value) e.integer(static_cast<std::uint16_t>(unit));
    }
    static void read(Decoder& d, type& value) {
        const bool whole = d.take_whole();
        const std::size_t size = d.length();
        if (size % 2 != 0) throw Error("a wide string has half a character");
        if (!whole) check_bound(Bound, size / 2);
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

/// What a default value allocates.
template <class C>
std::size_t heap_of_default() {
    if constexpr (C::kind != Kind::Compound) {
        return 0;
    } else {
        static const std::size_t octets = [] {
            const auto value = std::make_unique<typename C::type>();
            return C::heap(*value);
        }();
        return octets;
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

    static void prepare(type&) {}
    static std::size_t heap(const type&) { return 0; } // They are paid for as they grow.
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
        const bool whole = d.take_whole();
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
                    d.claim(sizeof(typename C::type) + heap_of_default<C>());
                    if constexpr (std::is_same_v<typename C::type, bool>) {
                        bool item = false;
                        C::read(d, item);
                        value.push_back(item);
                    } else {
                        auto& item = value.emplace_back();
                        C::prepare(item);
                        C::read(d, item);
                    }
                    d.element(before);
                }
            }
        });
        if (!whole) check_bound(Bound, value.size());
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

    static void prepare(type& value) {
        for (auto& item : value) C::prepare(item);
    }
    static std::size_t heap(const type& value) {
        std::size_t sum = 0;
        for (const auto& item : value) sum += C::heap(item);
        return sum;
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

    static void prepare(type&) {}
    static std::size_t heap(const type&) { return 0; } // They are paid for as they grow.
    static void write(Encoder& e, const type& value) {
        check_bound(Bound, value.size());
        e.delimited_if(delimited, [&] {
            e.length(value.size());
            auto first = value.begin();
            if constexpr (std::is_same_v<typename K::type, char>) {
                // Elsewhere `char` has no sign, and what is equal should be written with equal bytes.
                first = value.lower_bound('\0');
                write(e, first, value.end());
                write(e, value.begin(), first);
            } else {
                write(e, first, value.end());
            }
        });
    }
    static void read(Decoder& d, type& value) {
        const bool whole = d.take_whole();
        value.clear();
        std::size_t count = 0;
        d.delimited_if(delimited, [&] {
            count = d.integer<std::uint32_t>();
            for (std::size_t i = 0; i < count; ++i) {
                const std::size_t before = d.position();
                d.claim(sizeof(typename K::type) + sizeof(typename V::type) + heap_of_default<V>());
                typename K::type key{};
                K::prepare(key);
                K::read(d, key);
                // Of two pairs with one key the last counts.
                value.erase(key);
                auto& item = value[std::move(key)];
                V::prepare(item);
                V::read(d, item);
                d.element(before);
            }
        });
        if (!whole) check_bound(Bound, count);
    }
    static bool trim(type& value) {
        if (Bound == 0) return false;
        while (value.size() > Bound) value.erase(std::prev(value.end()));
        return fits<Map>(value);
    }

private:
    using Place = typename type::const_iterator;
    static void write(Encoder& e, Place from, Place to) {
        for (; from != to; ++from) {
            K::write(e, from->first);
            V::write(e, from->second);
        }
    }
};

/// What is behind a pointer.
template <class C>
struct Boxed {
    using type = Box<typename C::type>;
    static constexpr Kind kind = C::kind;
    static constexpr Kind item_kind = C::item_kind;
    static constexpr unsigned code = C::code;

    static void prepare(type& value) { C::prepare(*value); }
    static std::size_t heap(const type& value) { return sizeof(typename C::type) + C::heap(*value); }
    static void write(Encoder& e, const type& value) { C::write(e, *value); }
    static void read(Decoder& d, type& value) { C::read(d, *value); }
    static bool trim(type& value) { return C::trim(*value); }
};

