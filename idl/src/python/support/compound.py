class Member(NamedTuple):
    """A member of a structure."""

    name: str
    id: int
    codec: Codec
    key: bool = False
    optional: bool = False
    must_understand: bool = False


class Case(NamedTuple):
    """A case of a union."""

    name: str
    id: int
    codec: Codec
    labels: Tuple[Any, ...]
    is_default: bool
    initial: Callable[[], Any]
    must_understand: bool = False


class Base:
    """A structure or union."""

    _type_name = ''
    _extensibility = FINAL

    @classmethod
    def _codec(cls) -> Codec:
        raise NotImplementedError

    @classmethod
    def _has_key(cls) -> bool:
        raise NotImplementedError

    def serialize(self, representation: Representation, big_endian: bool = False, scope: Scope = Scope.SAMPLE) -> bytes:
        """The value with encapsulation header, filled up to a multiple of four bytes; with Scope.KEY its key."""
        identifier = _identifier(representation, self._extensibility)
        head = bytes((0, identifier | (not big_endian)))
        if scope is not Scope.SAMPLE and not self._has_key():
            return head + bytes(2)
        e = Encoder(representation, big_endian, scope)
        _bounded(lambda: self._codec().write(e, self))
        padding = -len(e.out) % 4
        return head + bytes((0, padding)) + bytes(e.out) + bytes(padding)

    def serialize_key(self, representation: Representation) -> bytes:
        """The key, as in messages that end an instance."""
        return self.serialize(representation, scope=Scope.KEY)

    def key_hash_octets(self) -> bytes:
        """The bytes of which the key hash is made (RTPS 2.5 clause 9.6.4.8): the hash itself if the type's key never
        has more than 16 bytes, filled up with zeros; otherwise its MD5 is. Empty for a type without key."""
        if not self._has_key():
            return b''
        e = Encoder(Representation.XCDR2, True, Scope.KEY_HASH)
        _bounded(lambda: self._codec().write(e, self))
        return bytes(e.out)

    @classmethod
    def deserialize(cls, payload: bytes, scope: Scope = Scope.SAMPLE) -> Any:
        """The value of a payload in any representation and byte order; with Scope.KEY of a key, other members have
        their defaults."""
        if len(payload) < 4:
            raise CdrError('the payload has no header')
        form, padding, body = payload[1] & 0xFE, payload[3] & 3, bytes(payload[4:])
        if payload[0] != 0 or form > 10 or form == 4:
            raise CdrError('the representation is not known')
        if padding > len(body):
            raise CdrError('the payload ends too early')
        if scope is not Scope.SAMPLE and not cls._has_key():
            return cls()
        representation = Representation.XCDR1 if form < 4 else Representation.XCDR2
        d = Decoder(body[: len(body) - padding], representation, payload[1] & 1 == 0, scope)
        codec = cls._codec()
        if form == 6 and cls._extensibility is APPENDABLE:
            d.undelimited = True
        elif form == 8 and cls._extensibility is FINAL:
            return _bounded(lambda: d.region(d.length(), lambda: codec.read(d)))
        elif form != _identifier(representation, cls._extensibility):
            raise CdrError('the payload has another extensibility than the type')
        return _bounded(lambda: codec.read(d))


def _bounded(body: Callable[[], Any]) -> Any:
    """Runs what goes as deep as the value does, which may be deeper than what the interpreter has left."""
    try:
        return body()
    except RecursionError:
        raise CdrError('the value is nested too deep for this interpreter (sys.setrecursionlimit)') from None


def _identifier(representation: Representation, extensibility: Extensibility) -> int:
    """The identifier of the encapsulation header (clause 7.6.3.1.2, with the values that everybody uses)."""
    if representation is Representation.XCDR1:
        return 2 if extensibility is MUTABLE else 0
    return {FINAL: 6, APPENDABLE: 8, MUTABLE: 10}[extensibility]


class Struct(Base):
    """What structures and exceptions have in common."""

    @classmethod
    def _members(cls) -> Tuple[Member, ...]:
        return ()

    @classmethod
    def _layout(cls) -> Tuple[Member, ...]:
        layout = cls.__dict__.get('_layout_cache')
        if layout is None:
            layout = cls._members()
            cls._layout_cache = layout
        return layout

    @classmethod
    def _has_key(cls) -> bool:
        return any(member.key for member in cls._layout())

    @classmethod
    def _codec(cls) -> Codec:
        return Structure(cls)


class Raised(Struct, Exception):
    """What exceptions have in common: they are raised. A member of theirs may be called `args`."""

    args: Any = ()


class Structure(Codec):
    def __init__(self, cls: Any) -> None:
        self.cls = cls
        self.code = 4 if cls._extensibility is FINAL else 5

    def _in_scope(self, scope: Scope) -> Any:
        members = self.cls._layout()
        if scope is Scope.SAMPLE or not self.cls._has_key():
            wanted = list(members)
        else:
            wanted = [member for member in members if member.key]
        return sorted(wanted, key=lambda member: member.id) if scope is Scope.KEY_HASH else wanted

    def _listed(self, scope: Scope) -> bool:
        return self.cls._extensibility is MUTABLE and scope is not Scope.KEY_HASH

    def write(self, e: Encoder, value: Any) -> None:
        if not isinstance(value, self.cls):
            raise CdrError(f'{value!r} is no {self.cls.__name__}')

        def body() -> None:
            listed = self._listed(e.scope)
            for member in self._in_scope(e.scope):
                item = getattr(value, member.name)
                write = None if item is None and member.optional else _writer(e, member.codec, item)
                if listed:
                    if write is not None:
                        e.member(member, write)
                elif member.optional:
                    e.optional(member, write)
                elif write is not None:
                    write()

        e.structure(self.cls._extensibility, body)

    def read(self, d: Decoder) -> Any:
        d.claim(ELEMENT * (len(self.cls._layout()) + 1))
        value = self.cls.__new__(self.cls)
        d.enter_keys(self.cls._has_key())
        if self._listed(d.scope):
            d.structure(self.cls._extensibility, lambda: self._read_list(d, value))
        else:
            d.structure(self.cls._extensibility, lambda: self._read_members(d, value))
        self._complete(d, value)
        return value

    def _complete(self, d: Decoder, value: Any) -> None:
        """Gives their defaults, which are paid for, to the members that were not there."""
        codecs = {member.name: member.codec for member in self.cls._layout() if not member.optional}
        for item in dataclasses.fields(self.cls):
            if item.name not in value.__dict__:
                d.claim(codecs[item.name].cost() if item.name in codecs else 0)
                made = item.default is dataclasses.MISSING
                setattr(value, item.name, item.default_factory() if made else item.default)

    def cost(self) -> int:
        layout = self.cls._layout()
        return ELEMENT * (len(layout) + 1) + sum(member.codec.cost() for member in layout if not member.optional)

    def _read_members(self, d: Decoder, value: Any) -> None:
        for member in self._in_scope(d.scope):
            if self.cls._extensibility is not FINAL and d.ends_early():
                _check_missing(member, d)
            elif member.optional:
                setattr(value, member.name, d.optional(lambda member=member: self._read_one(d, member)))
            else:
                setattr(value, member.name, self._read_one(d, member))

    def _read_one(self, d: Decoder, member: Member) -> Any:
        return d.beside_key(self.cls._has_key() and not member.key, lambda: member.codec.read(d))

    def _read_list(self, d: Decoder, value: Any) -> None:
        members = {member.id: member for member in self.cls._layout()}
        seen = set()
        for header in d.headers():
            member = members.get(header.id)
            if member is None:
                d.unknown(header, d.lenient)
                continue
            if header.id in seen:
                raise CdrError(f'the member {header.id} is there twice')
            seen.add(header.id)
            setattr(value, member.name, d.member(header, lambda member=member: self._read_one(d, member)))
        for member in members.values():
            if member.id not in seen:
                _check_missing(member, d)

    def default(self) -> Any:
        return self.cls()


def _writer(e: Encoder, codec: Codec, item: Any) -> Callable[[], None]:
    return lambda: codec.write(e, item)


def _check_missing(member: Member, d: Decoder) -> None:
    required = (member.key and d.keys) or (member.must_understand and d.scope is Scope.SAMPLE)
    if required and not member.optional and not d.lenient:
        raise CdrError(f'the member {member.name} is missing')


class Union(Base):
    """What unions have in common: the discriminator, and the value of the member that it selects.

    A union is made of a discriminator, or of a member by its name: `U(number=5)`.
    """

    _use_default = False
    _keyed = False

    def __init__(self, discriminator: Any = None, **members: Any) -> None:
        if len(members) > 1:
            raise TypeError('a union has one member')
        for name, value in members.items():
            case = next((case for case in self._case_table() if case.name == name), None)
            if case is None:
                raise TypeError(f'{type(self).__name__} has no member {name}')
            if discriminator is None:
                if not case.labels:
                    raise TypeError(f'the member {name} needs a discriminator')
                discriminator = case.labels[0]
            if self._selected(discriminator) is not case:
                raise ValueError(f'{discriminator!r} does not select {name}')
            self.discriminator, self.value = discriminator, value
            return
        self.discriminator = self._discriminator().default() if discriminator is None else discriminator
        selected = self._selected(self.discriminator)
        self.value = None if selected is None else selected.initial()

    @classmethod
    def _discriminator(cls) -> Codec:
        raise NotImplementedError

    @classmethod
    def _cases(cls) -> Tuple[Case, ...]:
        return ()

    @classmethod
    def _case_table(cls) -> Tuple[Case, ...]:
        table = cls.__dict__.get('_case_cache')
        if table is None:
            table = cls._cases()
            cls._case_cache = table
        return table

    @classmethod
    def _selected(cls, discriminator: Any) -> Optional[Case]:
        otherwise = None
        for case in cls._case_table():
            if discriminator in case.labels:
                return case
            if case.is_default:
                otherwise = case
        return otherwise

    @property
    def member(self) -> Optional[str]:
        """The name of the member that is selected."""
        selected = self._selected(self.discriminator)
        return None if selected is None else selected.name

    def __eq__(self, other: Any) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self.discriminator == other.discriminator and self.value == other.value

    __hash__ = None

    def __repr__(self) -> str:
        member = self.member
        value = '' if member is None else f', {member}={self.value!r}'
        return f'{type(self).__name__}({self.discriminator!r}{value})'

    @classmethod
    def _has_key(cls) -> bool:
        return cls._keyed

    @classmethod
    def _codec(cls) -> Codec:
        return Alternatives(cls)


class Alternatives(Codec):
    """The codec of a union."""

    def __init__(self, cls: Any) -> None:
        self.cls = cls
        self.code = 4 if cls._extensibility is FINAL else 5

    def _listed(self, scope: Scope) -> bool:
        return self.cls._extensibility is MUTABLE and scope is not Scope.KEY_HASH

    def write(self, e: Encoder, value: Any) -> None:
        if not isinstance(value, self.cls):
            raise CdrError(f'{value!r} is no {self.cls.__name__}')

        def body() -> None:
            codec, case = self.cls._discriminator(), self.cls._selected(value.discriminator)
            parts = [(Member('discriminator', 0, codec), value.discriminator)]
            if case is not None and (e.scope is Scope.SAMPLE or not self.cls._keyed):
                parts.append((Member(case.name, case.id, case.codec, must_understand=case.must_understand), value.value))
            for member, item in parts:
                if self._listed(e.scope):
                    e.member(member, _writer(e, member.codec, item))
                else:
                    member.codec.write(e, item)

        e.structure(self.cls._extensibility, body)

    def read(self, d: Decoder) -> Any:
        d.claim(ELEMENT)
        return d.structure(self.cls._extensibility, lambda: self._read(d))

    def _read(self, d: Decoder) -> Any:
        listed = self._listed(d.scope)
        d.enter_keys(self.cls._keyed)
        fits, discriminator = self._read_listed(d) if listed else self._read_discriminator(d)
        case = self.cls._selected(discriminator) if fits else None
        value = self.cls.__new__(self.cls)
        value.discriminator = discriminator if fits else self.cls._discriminator().default()
        value.value = None
        if case is not None and (d.scope is Scope.SAMPLE or not self.cls._keyed):
            if not listed:
                # What a union holds is told from others by the discriminator alone.
                value.value = d.beside_key(True, lambda: case.codec.read(d))
            else:
                self._read_case(d, case, value)
        else:
            self._initial(d, value)
            for header in d.headers() if listed else ():
                d.unknown(header, True)
        return value

    def _initial(self, d: Decoder, value: Any) -> None:
        """The default of the member that is selected, which is paid for."""
        case = self.cls._selected(value.discriminator)
        if case is not None:
            d.claim(case.codec.cost())
            value.value = case.initial()

    def cost(self) -> int:
        case = self.cls._selected(self.cls._discriminator().default())
        return ELEMENT + (0 if case is None else case.codec.cost())

    def _read_case(self, d: Decoder, case: Case, value: Any) -> None:
        found = False
        for header in d.headers():
            if header.id != case.id:
                d.unknown(header, d.lenient or header.id == 0)
                continue
            if found:
                raise CdrError(f'the member {header.id} is there twice')
            found, value.value = True, d.member(header, lambda: d.beside_key(True, lambda: case.codec.read(d)))
        if not found:
            self._initial(d, value)

    def _read_listed(self, d: Decoder) -> Tuple[bool, Any]:
        """The discriminator of a list of members, which is to be read again."""
        start, found = d.mark(), None
        for header in d.headers():
            if header.id != 0:
                d.unknown(header, True)
                continue
            if found is not None:
                raise CdrError('the member 0 is there twice')
            found = d.member(header, lambda: self._read_discriminator(d))
        d.reset(start)
        if found is None:
            raise CdrError('a union has no discriminator')
        return found

    def _read_discriminator(self, d: Decoder) -> Tuple[bool, Any]:
        form = self.cls._extensibility
        ends = form is MUTABLE or (form is APPENDABLE and d.xcdr2)
        start = d.mark()
        try:
            return True, self.cls._discriminator().read(d)
        except ConstructionError:
            if not (self.cls._use_default and ends) or d.scope is Scope.KEY_HASH:
                raise
            d.reset(start)
            return False, None

    def default(self) -> Any:
        return self.cls()


class Bitmask(int):
    """An integer of bits, which its classes name."""

    def __repr__(self) -> str:
        return f'{type(self).__name__}({int(self):#x})'


class Bitset:
    """An integer with fields."""

    def __init__(self, bits: int = 0) -> None:
        self._bits = bits

    def __int__(self) -> int:
        return self._bits

    def __eq__(self, other: Any) -> bool:
        return self._bits == other._bits if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._bits)

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self._bits:#x})'


def bit_field(position: int, width: int, boolean: bool, signed: bool, docs: str = '') -> property:
    """A field of a bitset; bits that do not fit are left out."""
    mask = (1 << width) - 1

    def get(self: Bitset) -> Any:
        value = self._bits >> position & mask
        if boolean:
            return value != 0
        return value - (1 << width) if signed and value >> (width - 1) else value

    def put(self: Bitset, value: int) -> None:
        self._bits = self._bits & ~(mask << position) | (int(value) & mask) << position

    return property(get, put, doc=docs or None)
