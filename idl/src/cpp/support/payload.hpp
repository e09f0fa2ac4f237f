/// The identifier of the encapsulation header (XTypes 1.3 clause 7.6.3.1.2, with the values that everybody uses).
constexpr std::uint8_t identifier(Representation representation, Extensibility extensibility) {
    if (representation == Representation::Xcdr1) return extensibility == Extensibility::Mutable ? 2 : 0;
    return extensibility == Extensibility::Final ? 6 : extensibility == Extensibility::Appendable ? 8 : 10;
}

/// A value with encapsulation header, filled up to a multiple of four bytes. With Scope::Key only its key.
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

/// The bytes of which the key hash is made (RTPS 2.5 clause 9.6.4.8): the hash itself if the type's key never has
/// more than 16 bytes, filled up with zeros; otherwise its MD5 is. Empty for a type without key.
template <class T>
std::vector<std::uint8_t> key_hash_octets(const T& value) {
    std::vector<std::uint8_t> out;
    if (!Traits<T>::has_key) return out;
    Encoder e(out, Representation::Xcdr2, Endianness::Big, Scope::KeyHash);
    Traits<T>::Codec::write(e, value);
    return out;
}

/// Reads a payload in any representation and byte order into a new value, which may be anywhere: a type with large arrays
/// needs more room than a stack has. With Scope::Key the payload is a key, and other members keep their defaults. After an
/// error the value is good for nothing.
template <class T>
void read_payload(T& value, const std::uint8_t* data, std::size_t size, Scope scope = Scope::Sample,
                  const Limits& limits = {}) {
    if (size < 4) throw Error("the payload has no header");
    if (data[0] != 0) throw Error("the representation is not known");
    const std::size_t padding = data[3] & 3;
    if (padding > size - 4) throw Error("the payload ends too early");
    const std::uint8_t form = data[1] & 0xfe;
    const Endianness endianness = (data[1] & 1) != 0 ? Endianness::Little : Endianness::Big;
    constexpr Extensibility extensibility = Traits<T>::extensibility;
    if (form > 10 || form == 4) throw Error("the representation is not known");
    const Representation representation = form < 4 ? Representation::Xcdr1 : Representation::Xcdr2;
    if (scope != Scope::Sample && !Traits<T>::has_key) return;
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
}

/// The value of a payload.
template <class T>
T from_payload(const std::uint8_t* data, std::size_t size, Scope scope = Scope::Sample, const Limits& limits = {}) {
    T value{};
    read_payload(value, data, size, scope, limits);
    return value;
}

template <class T>
T from_payload(const std::vector<std::uint8_t>& payload, Scope scope = Scope::Sample, const Limits& limits = {}) {
    return from_payload<T>(payload.data(), payload.size(), scope, limits);
}

} // namespace dunlin::cdr

#endif
