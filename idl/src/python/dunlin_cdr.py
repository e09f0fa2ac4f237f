"""Serialization of types that the IDL compiler of Dunlin made: XCDR1 and XCDR2, both byte orders, keys
(DDS-XTypes 1.3 clause 7.4). Python 3.8 and later, no packages.

    payload = shape.serialize(Representation.XCDR2)
    shape = ShapeType.deserialize(payload)

What is wrong with octets or values is a CdrError. Octets of strangers do no harm: every count is believed only as far
as octets are present, nesting and memory are limited.
"""

from __future__ import annotations

import dataclasses
import enum
import struct
from typing import Any, Callable, Iterator, NamedTuple, Optional, Tuple


class CdrError(ValueError):
    """What is wrong with octets or a value."""


class ConstructionError(CdrError):
    """A value that its type cannot hold, which @try_construct may repair."""


class Representation(enum.Enum):
    XCDR1 = 1
    XCDR2 = 2


class Extensibility(enum.Enum):
    FINAL = 0
    APPENDABLE = 1
    MUTABLE = 2


class Scope(enum.Enum):
    """A whole value; its key members; its key members as they are hashed."""

    SAMPLE = 0
    KEY = 1
    KEY_HASH = 2


class Kind(enum.Enum):
    """How collections treat an element."""

    PRIMITIVE = 0
    ENUM_LIKE = 1
    COMPOUND = 2


FINAL, APPENDABLE, MUTABLE = Extensibility.FINAL, Extensibility.APPENDABLE, Extensibility.MUTABLE
MAX_DEPTH = 64
MAX_BYTES = 256 << 20
# What an element is taken to need in memory.
ELEMENT = 64


def _pair_kind(key: Kind, value: Kind) -> Kind:
    if key is Kind.PRIMITIVE:
        return value
    if value is Kind.PRIMITIVE:
        return key
    return Kind.ENUM_LIKE if key is value is Kind.ENUM_LIKE else Kind.COMPOUND


def _code_of_size(size: int) -> int:
    """The code of a size in XCDR2 member headers (clause 7.4.3.4.2)."""
    return {1: 0, 2: 1, 4: 2, 8: 3}.get(size, 4)


class Encoder:
    """Appends a serialized value to octets."""

    def __init__(self, representation: Representation, big: bool, scope: Scope) -> None:
        self.out = bytearray()
        self.origin = 0
        self.xcdr2 = representation is Representation.XCDR2
        self.most = 4 if self.xcdr2 else 8
        self.big = big
        self.order = '>' if big else '<'
        self.scope = scope
        self.depth = MAX_DEPTH

    def align(self, alignment: int) -> None:
        padding = (self.origin - len(self.out)) % min(alignment, self.most)
        self.out += bytes(padding)

    def number(self, code: str, size: int, value: Any) -> None:
        self.align(size)
        try:
            self.out += struct.pack(self.order + code, value)
        except (struct.error, OverflowError, TypeError) as error:
            raise CdrError(f'{value!r} is no value of its type: {error}') from None

    def length(self, size: int) -> None:
        self.number('I', 4, size)

    def delimited(self, body: Callable[[], None]) -> None:
        self.number('I', 4, 0)
        start = len(self.out)
        body()
        self.out[start - 4 : start] = struct.pack(self.order + 'I', len(self.out) - start)

    def delimited_if(self, needed: bool, body: Callable[[], None]) -> None:
        self.delimited(body) if needed and self.xcdr2 else body()

    def structure(self, extensibility: Extensibility, body: Callable[[], None]) -> None:
        if self.depth == 0:
            raise CdrError('the value is nested too deep')
        self.depth -= 1
        if extensibility is FINAL or self.scope is Scope.KEY_HASH:
            body()
        elif self.xcdr2:
            self.delimited(body)
        else:
            body()
            if extensibility is MUTABLE:
                self.align(4)
                self.number('H', 2, 0x7F02)
                self.number('H', 2, 0)
        self.depth += 1

    def member(self, member: 'Member', body: Callable[[], None]) -> None:
        """Writes a member of a mutable type."""
        if not self.xcdr2:
            return self._long_header(member, body)
        code = member.codec.code
        flag = 0x80000000 if member.must_understand else 0
        self.number('I', 4, flag | code << 28 | member.id)
        self.delimited(body) if code == 4 else body()

    def optional(self, member: 'Member', body: Optional[Callable[[], None]]) -> None:
        """Writes an optional member that is not in a list of members."""
        if not self.xcdr2:
            return self._long_header(member, body)
        self.out.append(body is not None)
        if body is not None:
            body()

    def _long_header(self, member: 'Member', body: Optional[Callable[[], None]]) -> None:
        self.align(4)
        self.number('H', 2, 0x7F01)
        self.number('H', 2, 8)
        self.number('I', 4, member.id | (0x40000000 if member.must_understand else 0))
        if body is None:
            return self.number('I', 4, 0)

        def inner() -> None:
            outer, self.origin = self.origin, len(self.out)
            body()
            self.origin = outer

        self.delimited(inner)


class _Header(NamedTuple):
    id: int
    must_understand: bool
    private: bool
    size: int


class Decoder:
    """Reads values from octets."""

    def __init__(self, data: bytes, representation: Representation, big: bool, scope: Scope) -> None:
        self.data = data
        self.position = 0
        self.end = len(data)
        self.origin = 0
        self.xcdr2 = representation is Representation.XCDR2
        self.most = 4 if self.xcdr2 else 8
        self.big = big
        self.order = '>' if big else '<'
        self.scope = scope
        self.undelimited = False
        self.depth = MAX_DEPTH
        self.memory = MAX_BYTES
        self.empties = len(data) + 256
        # Values that their types cannot hold are taken all the same: they are passed over or shortened.
        self.lenient = False

    @property
    def remaining(self) -> int:
        return self.end - self.position

    def ends_early(self) -> bool:
        return self.position >= self.end and self.scope is Scope.SAMPLE

    def mark(self) -> Tuple[int, int, int, int]:
        return self.position, self.end, self.origin, self.depth

    def reset(self, mark: Tuple[int, int, int, int]) -> None:
        self.position, self.end, self.origin, self.depth = mark

    def align(self, alignment: int) -> None:
        padding = (self.origin - self.position) % min(alignment, self.most)
        self.position = min(self.position + padding, self.end)

    def octets(self, size: int) -> bytes:
        if size > self.remaining:
            raise CdrError('the octets end too early')
        start, self.position = self.position, self.position + size
        return self.data[start : self.position]

    def number(self, code: str, size: int) -> Any:
        self.align(size)
        return struct.unpack(self.order + code, self.octets(size))[0]

    def boolean(self) -> bool:
        value = self.number('B', 1)
        if value > 1:
            raise CdrError('a boolean is neither 0 nor 1')
        return value == 1

    def length(self) -> int:
        """A length in octets, which are there."""
        size = self.number('I', 4)
        if size > self.remaining:
            raise CdrError('the octets end too early')
        return size

    def claim(self, size: int) -> None:
        if size > self.memory:
            raise CdrError('the value takes too much memory')
        self.memory -= size

    def items(self, count: int) -> Iterator[int]:
        """Counts elements, of which those without octets are limited."""
        for index in range(count):
            before = self.position
            yield index
            if self.position == before:
                if self.empties == 0:
                    raise CdrError('too many elements without octets')
                self.empties -= 1
            self.claim(ELEMENT)

    def region(self, size: int, body: Callable[[], Any]) -> Any:
        if size > self.remaining:
            raise CdrError('the octets end too early')
        outer, self.end = self.end, self.position + size
        value = body()
        self.position, self.end = self.end, outer
        return value

    def delimited_if(self, needed: bool, body: Callable[[], Any]) -> Any:
        return self.region(self.length(), body) if needed and self.xcdr2 else body()

    def structure(self, extensibility: Extensibility, body: Callable[[], Any]) -> Any:
        if self.depth == 0:
            raise CdrError('the value is nested too deep')
        self.depth -= 1
        delimited = self.xcdr2 and extensibility is not FINAL and self.scope is not Scope.KEY_HASH
        if delimited and self.undelimited:
            self.undelimited = delimited = False
        value = self.region(self.length(), body) if delimited else body()
        self.depth += 1
        return value

    def headers(self) -> Iterator[_Header]:
        """The headers of the members of a mutable type; who takes one reads or passes over its member."""
        while True:
            header = self._emheader() if self.xcdr2 else self._parameter()
            if header is None:
                return
            if header.size > self.remaining:
                raise CdrError('a member ends too late')
            if header.private:
                self.unknown(header, False)
            else:
                yield header

    def unknown(self, header: _Header, lenient: bool) -> None:
        """Passes over a member."""
        if header.must_understand and not lenient:
            raise CdrError(f'the unknown member {header.id} must be understood')
        self.octets(header.size)

    def member(self, header: _Header, body: Callable[[], Any]) -> Any:
        outer = self.origin
        if not self.xcdr2:
            self.origin = self.position
        value = self.region(header.size, body)
        self.origin = outer
        return value

    def optional(self, body: Callable[[], Any]) -> Any:
        """Reads an optional member that is not in a list of members."""
        if self.xcdr2:
            return body() if self.boolean() else None
        header = self._parameter()
        if header is None:
            raise CdrError('an optional member has no header')
        return self.member(header, body) if header.size else None

    def _emheader(self) -> Optional[_Header]:
        self.align(4)
        # Fewer octets than a header are padding.
        if self.remaining < 4:
            return None
        word = self.number('I', 4)
        code = word >> 28 & 7
        if code < 4:
            size = 1 << code
        elif code == 4:
            size = self.length()
        else:
            start = self.position
            size = self.number('I', 4) * (1, 4, 8)[code - 5] + 4
            self.position = start
        return _Header(word & 0x0FFFFFFF, word >> 31 == 1, False, size)

    def _parameter(self) -> Optional[_Header]:
        while True:
            self.align(4)
            flags, size = self.number('H', 2), self.number('H', 2)
            kind = flags & 0x3FFF
            if kind == 0x3F02:
                return None
            if kind == 0x3F03:
                self.octets(size)
            elif kind == 0x3F01:
                if size < 8:
                    raise CdrError('a member header is too short')
                word, length = self.number('I', 4), self.number('I', 4)
                self.octets(size - 8)
                return _Header(word & 0x0FFFFFFF, word & 0x40000000 != 0, word & 0x80000000 != 0, length)
            else:
                return _Header(kind, flags & 0x4000 != 0, flags & 0x8000 != 0, size)


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
        """Octets of memory that a default takes beyond the place where it stands."""
        return 0

    def order(self, value: Any) -> Any:
        """What keys of a map are sorted by."""
        return value

    def trim(self, value: Any) -> Tuple[bool, Any]:
        """Whether a value that is too long was shortened, and to what."""
        return False, value


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
    """A char (one octet) or wchar (one UTF-16 unit), as text of length 1."""

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

    def trim(self, value: str) -> Tuple[bool, str]:
        octets = value.encode()[: self.bound]
        return (self.bound != 0, octets.decode(errors='ignore') if self.bound else value)


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

    def trim(self, value: str) -> Tuple[bool, str]:
        octets = value.encode('utf-16-le', 'surrogatepass')[: 2 * self.bound]
        return (self.bound != 0, octets.decode('utf-16-le', 'surrogatepass') if self.bound else value)


def _fits(codec: Codec, value: Any) -> bool:
    """Whether what was read without checks is a value of its type: then it can be written."""
    try:
        codec.write(Encoder(Representation.XCDR2, False, Scope.SAMPLE), value)
    except CdrError:
        return False
    return True


class Sequence(Codec):
    """A list; of octets it is bytes."""

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

    def trim(self, value: Any) -> Tuple[bool, Any]:
        value = value[: self.bound] if self.bound else value
        return self.bound != 0 and _fits(self, value), value


def _write_items(e: Encoder, element: Codec, value: Any) -> None:
    if element is OCTET:
        try:
            e.out += bytes(value)
        except (TypeError, ValueError) as error:
            raise CdrError(f'these are no octets: {error}') from None
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

    def trim(self, value: Any) -> Tuple[bool, Any]:
        value = {key: value[key] for key in sorted(value, key=self.key.order)[: self.bound]} if self.bound else value
        return self.bound != 0 and _fits(self, value), value


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
            return self.inner.read(d)
        except ConstructionError:
            d.reset(start)
        d.lenient = True
        value = self.inner.read(d)
        d.lenient = False
        trimmed, value = self.inner.trim(value) if self.trims else (False, value)
        return value if trimmed else self.initial()

    def order(self, value: Any) -> Any:
        return self.inner.order(value)

    def default(self) -> Any:
        return self.inner.default()

    def cost(self) -> int:
        return self.inner.cost()

    def trim(self, value: Any) -> Tuple[bool, Any]:
        return self.inner.trim(value)


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
        """The value with encapsulation header, filled up to a multiple of four octets; with Scope.KEY its key."""
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
        """The octets of which the key hash is made (RTPS 2.5 clause 9.6.4.8): the hash itself if the type's key never
        has more than 16 octets, filled up with zeros; otherwise its MD5 is. Empty for a type without key."""
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
                setattr(value, member.name, d.optional(lambda codec=member.codec: codec.read(d)))
            else:
                setattr(value, member.name, member.codec.read(d))

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
            setattr(value, member.name, d.member(header, lambda codec=member.codec: codec.read(d)))
        for member in members.values():
            if member.id not in seen:
                _check_missing(member, d)

    def default(self) -> Any:
        return self.cls()


def _writer(e: Encoder, codec: Codec, item: Any) -> Callable[[], None]:
    return lambda: codec.write(e, item)


def _check_missing(member: Member, d: Decoder) -> None:
    required = member.key or (member.must_understand and d.scope is Scope.SAMPLE)
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
                parts.append((Member(case.name, case.id, case.codec), value.value))
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
        fits, discriminator = self._read_listed(d) if listed else self._read_discriminator(d)
        case = self.cls._selected(discriminator) if fits else None
        value = self.cls.__new__(self.cls)
        value.discriminator = discriminator if fits else self.cls._discriminator().default()
        value.value = None
        if case is not None and (d.scope is Scope.SAMPLE or not self.cls._keyed):
            if not listed:
                value.value = case.codec.read(d)
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
            found, value.value = True, d.member(header, lambda: case.codec.read(d))
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
