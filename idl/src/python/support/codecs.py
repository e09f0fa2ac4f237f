class Codec:
    """How values of a type are written and read."""

    kind = Kind.COMPOUND
    code = 4

    @property
    def item_kind(self) -> Kind:
        return self.kind

    def write(self, e: Encoder, value: Any) -> None:
        raise NotImplementedError

    def read(self, d: Decoder) -> Any:
        raise NotImplementedError

    def default(self) -> Any:
        raise NotImplementedError

    def cost(self) -> int:
        """Bytes of memory that a default takes beyond the place where it stands."""
        return 0

    def order(self, value: Any) -> Any:
        """What keys of a map are sorted by."""
        return value

    def whole(self, d: Decoder) -> Any:
        """Reads a value that may exceed its bound; what is in it may not."""
        return self.read(d)

    def shorten(self, value: Any) -> Any:
        """A value, shortened to its bound."""
        return value

    def fits(self, value: Any) -> bool:
        """Whether what was taken without checks and shortened is a value of the type."""
        return False


class Number(Codec):
    kind = Kind.PRIMITIVE

    def __init__(self, letter: str, size: int, zero: Any) -> None:
        self.letter, self.size, self.zero = letter, size, zero
        self.code = _code_of_size(size)

    def write(self, e: Encoder, value: Any) -> None:
        e.number(self.letter, self.size, value)

    def read(self, d: Decoder) -> Any:
        return d.number(self.letter, self.size)

    def default(self) -> Any:
        return self.zero


class Boolean(Number):
    def write(self, e: Encoder, value: Any) -> None:
        e.out.append(1 if value else 0)

    def read(self, d: Decoder) -> bool:
        return d.boolean()


class Character(Number):
    """A char (one byte) or wchar (one UTF-16 unit), as text of length 1."""

    def write(self, e: Encoder, value: str) -> None:
        if not isinstance(value, str) or len(value) != 1:
            raise CdrError(f'{value!r} is no single character')
        e.number(self.letter, self.size, ord(value))

    def read(self, d: Decoder) -> str:
        return chr(d.number(self.letter, self.size))


class Float128(Codec):
    """A long double, as the integer that its bits are."""

    kind = Kind.PRIMITIVE

    def write(self, e: Encoder, value: int) -> None:
        e.align(8)
        try:
            e.out += value.to_bytes(16, 'big' if e.big else 'little')
        except (OverflowError, AttributeError) as error:
            raise CdrError(f'{value!r} has no 128 bits: {error}') from None

    def read(self, d: Decoder) -> int:
        d.align(8)
        return int.from_bytes(d.octets(16), 'big' if d.big else 'little')

    def default(self) -> int:
        return 0


BOOLEAN = Boolean('B', 1, False)
OCTET = Number('B', 1, 0)
INT8, UINT8 = Number('b', 1, 0), OCTET
INT16, UINT16 = Number('h', 2, 0), Number('H', 2, 0)
INT32, UINT32 = Number('i', 4, 0), Number('I', 4, 0)
INT64, UINT64 = Number('q', 8, 0), Number('Q', 8, 0)
FLOAT, DOUBLE, LONG_DOUBLE = Number('f', 4, 0.0), Number('d', 8, 0.0), Float128()
CHAR, WCHAR = Character('B', 1, '\0'), Character('H', 2, '\0')


class Enumeration(Codec):
    kind = Kind.ENUM_LIKE

    def __init__(self, cls: Any, bits: int, default: Any) -> None:
        self.cls, self.initial, self.size = cls, default, bits // 8
        self.letter = {8: 'b', 16: 'h', 32: 'i'}[bits]
        self.code = _code_of_size(self.size)

    def write(self, e: Encoder, value: int) -> None:
        if value not in self.cls._value2member_map_:
            raise ConstructionError(f'{self.cls.__name__} has no value {value!r}')
        e.number(self.letter, self.size, int(value))

    def read(self, d: Decoder) -> Any:
        value = d.number(self.letter, self.size)
        found = self.cls._value2member_map_.get(value)
        if found is None and not d.lenient:
            raise ConstructionError(f'{self.cls.__name__} has no value {value}')
        return value if found is None else found

    def default(self) -> Any:
        return self.initial


class Bits(Codec):
    """Bitmasks and bitsets."""

    kind = Kind.ENUM_LIKE

    def __init__(self, cls: Any, bits: int) -> None:
        self.cls, self.size = cls, bits // 8
        self.letter = {8: 'B', 16: 'H', 32: 'I', 64: 'Q'}[bits]
        self.code = _code_of_size(self.size)

    def write(self, e: Encoder, value: Any) -> None:
        e.number(self.letter, self.size, int(value))

    def read(self, d: Decoder) -> Any:
        return self.cls(d.number(self.letter, self.size))

    def default(self) -> Any:
        return self.cls(0)


def _check_bound(bound: int, size: int) -> None:
    if bound and size > bound:
        raise ConstructionError(f'a string, sequence or map of {size} exceeds its bound {bound}')


class String(Codec):
    code = 5

    def __init__(self, bound: int = 0) -> None:
        self.bound = bound

    def write(self, e: Encoder, value: str) -> None:
        try:
            octets = value.encode()
        except (UnicodeEncodeError, AttributeError) as error:
            raise CdrError(f'{value!r} is no text: {error}') from None
        _check_bound(self.bound, len(octets))
        e.length(len(octets) + 1)
        e.out += octets
        e.out.append(0)

    def read(self, d: Decoder) -> str:
        octets = d.octets(d.length())
        # Some send the length 0 instead of 1 for an empty string.
        if octets and octets[-1] != 0:
            raise CdrError('a string does not end with NUL')
        octets = octets[:-1]
        if not d.lenient:
            _check_bound(self.bound, len(octets))
        d.claim(len(octets))
        try:
            return octets.decode()
        except UnicodeDecodeError as error:
            raise CdrError(f'a string is not UTF-8: {error}') from None

    def default(self) -> str:
        return ''

    def whole(self, d: Decoder) -> str:
        return String().read(d)

    def shorten(self, value: str) -> str:
        return value.encode()[: self.bound].decode(errors='ignore') if self.bound else value

    def fits(self, value: str) -> bool:
        return self.bound != 0


class WString(Codec):
    """A wide string; characters beyond 16 bits are two units."""

    code = 5

    def __init__(self, bound: int = 0) -> None:
        self.bound = bound

    def write(self, e: Encoder, value: str) -> None:
        try:
            octets = value.encode('utf-16-be' if e.big else 'utf-16-le', 'surrogatepass')
        except (UnicodeEncodeError, AttributeError) as error:
            raise CdrError(f'{value!r} is no text: {error}') from None
        _check_bound(self.bound, len(octets) // 2)
        e.length(len(octets))
        e.out += octets

    def read(self, d: Decoder) -> str:
        octets = d.octets(d.length())
        if len(octets) % 2:
            raise CdrError('a wide string has half a character')
        if not d.lenient:
            _check_bound(self.bound, len(octets) // 2)
        d.claim(len(octets))
        return octets.decode('utf-16-be' if d.big else 'utf-16-le', 'surrogatepass')

    def order(self, value: str) -> bytes:
        return value.encode('utf-16-be', 'surrogatepass')

    def default(self) -> str:
        return ''

    def whole(self, d: Decoder) -> str:
        return WString().read(d)

    def shorten(self, value: str) -> str:
        octets = value.encode('utf-16-le', 'surrogatepass')[: 2 * self.bound]
        return octets.decode('utf-16-le', 'surrogatepass') if self.bound else value

    def fits(self, value: str) -> bool:
        return self.bound != 0


def _fits(codec: Codec, value: Any) -> bool:
    """Whether what was read without checks is a value of its type: then it can be written."""
    try:
        codec.write(Encoder(Representation.XCDR2, False, Scope.SAMPLE), value)
    except CdrError:
        return False
    return True


class Sequence(Codec):
    """A list; of bytes it is bytes."""

    def __init__(self, element: Codec, bound: int = 0) -> None:
        self.element, self.bound = element, bound
        self.delimited = element.kind is not Kind.PRIMITIVE
        self.code = 5 if self.delimited else {0: 5, 2: 6, 3: 7}.get(element.code, 4)

    def write(self, e: Encoder, value: Any) -> None:
        _check_bound(self.bound, len(value))

        def body() -> None:
            e.length(len(value))
            _write_items(e, self.element, value)

        e.delimited_if(self.delimited, body)

    def read(self, d: Decoder) -> Any:
        value = d.delimited_if(self.delimited, lambda: _read_items(d, self.element, d.number('I', 4)))
        if not d.lenient:
            _check_bound(self.bound, len(value))
        return value

    def default(self) -> Any:
        return b'' if self.element is OCTET else []

    def whole(self, d: Decoder) -> Any:
        return Sequence(self.element).read(d)

    def shorten(self, value: Any) -> Any:
        return value[: self.bound] if self.bound else value

    def fits(self, value: Any) -> bool:
        return self.bound != 0 and _fits(self, value)


def _write_items(e: Encoder, element: Codec, value: Any) -> None:
    if element is OCTET:
        try:
            e.out += bytes(value)
        except (TypeError, ValueError) as error:
            raise CdrError(f'these are no bytes: {error}') from None
    else:
        for item in value:
            element.write(e, item)


def _read_items(d: Decoder, element: Codec, count: int) -> Any:
    if element is OCTET:
        d.claim(count if count <= d.remaining else 0)
        return d.octets(count)
    return [element.read(d) for _ in d.items(count)]


class Array(Codec):
    """An array; `dimension` says that it is within another of the same declaration."""

    def __init__(self, element: Codec, size: int, dimension: bool = False) -> None:
        self.element, self.size, self.dimension = element, size, dimension
        compound = element.item_kind is not Kind.PRIMITIVE
        self.delimited = compound and not dimension
        self.code = 5 if compound else 4

    @property
    def item_kind(self) -> Kind:
        return self.element.item_kind if self.dimension else Kind.COMPOUND

    def write(self, e: Encoder, value: Any) -> None:
        if len(value) != self.size:
            raise CdrError(f'an array of {self.size} elements has {len(value)}')
        e.delimited_if(self.delimited, lambda: _write_items(e, self.element, value))

    def read(self, d: Decoder) -> Any:
        return d.delimited_if(self.delimited, lambda: _read_items(d, self.element, self.size))

    def default(self) -> Any:
        if self.element is OCTET:
            return bytes(self.size)
        return [self.element.default() for _ in range(self.size)]

    def cost(self) -> int:
        return self.size * (1 if self.element is OCTET else 8 + self.element.cost())


class Map(Codec):
    """A dict, written in the order of its keys."""

    def __init__(self, key: Codec, value: Codec, bound: int = 0) -> None:
        self.key, self.value, self.bound = key, value, bound
        self.delimited = _pair_kind(key.kind, value.kind) is not Kind.PRIMITIVE
        self.code = 5 if self.delimited else 4

    def write(self, e: Encoder, value: Any) -> None:
        _check_bound(self.bound, len(value))

        def body() -> None:
            e.length(len(value))
            for key in sorted(value, key=self.key.order):
                self.key.write(e, key)
                self.value.write(e, value[key])

        e.delimited_if(self.delimited, body)

    def read(self, d: Decoder) -> Any:
        def body() -> Any:
            pairs = [(self.key.read(d), self.value.read(d)) for _ in d.items(d.number('I', 4))]
            if not d.lenient:
                _check_bound(self.bound, len(pairs))
            return dict(pairs)

        return d.delimited_if(self.delimited, body)

    def default(self) -> Any:
        return {}

    def whole(self, d: Decoder) -> Any:
        return Map(self.key, self.value).read(d)

    def shorten(self, value: Any) -> Any:
        return {key: value[key] for key in sorted(value, key=self.key.order)[: self.bound]} if self.bound else value

    def fits(self, value: Any) -> bool:
        return self.bound != 0 and _fits(self, value)


class Try(Codec):
    """What @try_construct repairs: a value that does not fit becomes the default, or is shortened."""

    def __init__(self, inner: Codec, trims: bool, initial: Optional[Callable[[], Any]] = None) -> None:
        self.inner, self.trims, self.initial = inner, trims, initial or inner.default
        self.kind, self.code = inner.kind, inner.code

    @property
    def item_kind(self) -> Kind:
        return self.inner.item_kind

    def write(self, e: Encoder, value: Any) -> None:
        self.inner.write(e, value)

    def read(self, d: Decoder) -> Any:
        if d.lenient or d.scope is Scope.KEY_HASH:
            return self.inner.read(d)
        start = d.mark()
        try:
            # What is in it is tried first, then it is shortened.
            return self.inner.shorten(self.inner.whole(d)) if self.trims else self.inner.read(d)
        except ConstructionError:
            d.reset(start)
        d.lenient = True
        value = self.inner.read(d)
        d.lenient = False
        value = self.inner.shorten(value) if self.trims else value
        return value if self.trims and self.inner.fits(value) else self.initial()

    def order(self, value: Any) -> Any:
        return self.inner.order(value)

    def default(self) -> Any:
        return self.inner.default()

    def cost(self) -> int:
        return self.inner.cost()

    def whole(self, d: Decoder) -> Any:
        return self.inner.whole(d)

    def shorten(self, value: Any) -> Any:
        return self.inner.shorten(value)

    def fits(self, value: Any) -> bool:
        return self.inner.fits(value)


