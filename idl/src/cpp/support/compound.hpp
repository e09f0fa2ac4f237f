/// A value that is needed for a while: on the stack if it is small.
template <class T>
class Aside {
public:
    Aside() = default;
    explicit Aside(const T& value) : value_(value) {}
    T& operator*() {
        if constexpr (sizeof(T) > 256) {
            return *value_;
        } else {
            return value_;
        }
    }

private:
    std::conditional_t<(sizeof(T) > 256), Box<T>, T> value_{};
};

/// What `@try_construct` repairs: a value that does not fit becomes what it was before, or is shortened.
template <class C, TryConstruct How>
struct Try {
    using type = typename C::type;
    static constexpr Kind kind = C::kind;
    static constexpr Kind item_kind = C::item_kind;
    static constexpr unsigned code = C::code;

    static void prepare(type& value) { C::prepare(value); }
    static std::size_t heap(const type& value) { return C::heap(value); }
    static void write(Encoder& e, const type& value) { C::write(e, value); }
    static void read(Decoder& d, type& value) {
        if (d.lenient || d.scope() == Scope::KeyHash) return C::read(d, value);
        const Decoder::Mark start = d.mark();
        Aside<type> before(value);
        try {
            // What is in it is tried first, then it is shortened.
            d.whole = How == TryConstruct::Trim;
            C::read(d, value);
            if (How == TryConstruct::Trim) static_cast<void>(C::trim(value));
        } catch (const ConstructionError&) {
            d.reset(start);
            d.lenient = true;
            Aside<type> whole;
            C::prepare(*whole);
            C::read(d, *whole);
            d.lenient = false;
            value = How == TryConstruct::Trim && C::trim(*whole) ? std::move(*whole) : std::move(*before);
        }
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

/// Whether a member is no part of the key of a structure that has one.
template <class T>
constexpr bool is_beside_key(const Member& member) {
    return Traits<T>::has_key && !member.key;
}

inline void check_missing(const Member& member, const Decoder& d) {
    const bool required = (member.key && d.keys_count()) || (member.must_understand && d.scope() == Scope::Sample);
    if (required && !d.lenient) throw Error("a member is missing that has to be there");
}

/// Reads an optional value into its place.
template <class C>
void read_present(Decoder& d, std::optional<typename C::type>& value) {
    d.claim(heap_of_default<C>());
    C::prepare(value.emplace());
    C::read(d, *value);
}

/// Reads the members that it visits, one behind the other.
template <class T>
struct Reader {
    Decoder& d;

    template <class C>
    void member(const Member& member, typename C::type& value) {
        if (is_there(member)) d.beside_key(is_beside_key<T>(member), [&] { C::read(d, value); });
    }
    template <class C>
    void optional(const Member& member, std::optional<typename C::type>& value) {
        value.reset();
        const bool there = in_scope<T>(member, d.scope()) && !is_over();
        if (!there) return;
        d.beside_key(is_beside_key<T>(member), [&] { d.optional([&] { read_present<C>(d, value); }); });
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
template <class T>
struct Finder {
    Decoder& d;
    const Decoder::Header& header;
    std::vector<bool>& seen;
    std::size_t index = 0;
    bool found = false;

    template <class C>
    void member(const Member& member, typename C::type& value) {
        if (wanted(member)) read(member, [&] { C::read(d, value); });
    }
    template <class C>
    void optional(const Member& member, std::optional<typename C::type>& value) {
        if (wanted(member)) read(member, [&] { read_present<C>(d, value); });
    }
    bool wanted(const Member& member) {
        const std::size_t at = index++;
        if (seen.size() <= at) seen.resize(at + 1);
        if (found || member.id != header.id) return false;
        if (seen[at]) throw Error("a member is there twice");
        seen[at] = true;
        return found = true;
    }
    template <class Body>
    void read(const Member& member, Body body) {
        d.beside_key(is_beside_key<T>(member), [&] { d.member(header, body); });
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

/// Sums up what members allocate.
struct Heap {
    std::size_t octets = 0;

    template <class C>
    void member(const Member&, const typename C::type& value) {
        octets += C::heap(value);
    }
    template <class C>
    void optional(const Member&, const std::optional<typename C::type>& value) {
        if (value.has_value()) octets += C::heap(*value);
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

    static void prepare(type&) {}
    static std::size_t heap(const T& value) {
        Heap sum;
        Traits<T>::visit(value, sum);
        return sum.octets;
    }
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
            d.enter_keys(Traits<T>::has_key);
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
            Finder<T> finder{d, *header, seen};
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

    static void prepare(type&) {}
    static std::size_t heap(const T& value) {
        Heap sum;
        Traits<T>::visit_selected(value, sum);
        return sum.octets;
    }
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
            d.enter_keys(Traits<T>::has_key);
            typename D::type discriminator{};
            D::prepare(discriminator);
            const bool fits = read_discriminator(d, listed, discriminator);
            if (fits) {
                Traits<T>::select(value, discriminator);
            } else {
                value = std::move(*std::make_unique<T>());
            }
            d.claim(heap(value));
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
            // What a union holds is told from others by the discriminator alone.
            const auto read = [&] { d.beside_key(true, [&] { C::read(d, value); }); };
            if (!listed) return read();
            bool found = false;
            const auto take = [&](const Decoder::Header& header) {
                if (header.id != member.id) return false;
                if (found) throw Error("a member is there twice");
                found = true;
                d.member(header, read);
                return true;
            };
            find(d, take, d.lenient);
        }
    };
};

