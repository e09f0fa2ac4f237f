"""Serialization of types that the IDL compiler of Dunlin made: XCDR1 and XCDR2, both byte orders, keys
(DDS-XTypes 1.3 clause 7.4). Python 3.8 and later, no packages.

    payload = shape.serialize(Representation.XCDR2)
    shape = ShapeType.deserialize(payload)

What is wrong with bytes or values is a CdrError. Bytes of strangers do no harm: every count is believed only as far
as bytes are present, nesting and memory are limited.
"""

from __future__ import annotations

import dataclasses
import enum
import struct
from typing import Any, Callable, Iterator, NamedTuple, Optional, Tuple


class CdrError(ValueError):
    """What is wrong with bytes or a value."""


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
    """Appends a serialized value to bytes."""

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
    """Reads values from bytes."""

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
        # Whether @key counts: unknown before the outermost structure or union, which decides.
        self.keys: Optional[bool] = None

    @property
    def remaining(self) -> int:
        return self.end - self.position

    def enter_keys(self, has_key: bool) -> None:
        if self.keys is None:
            self.keys = has_key

    def beside_key(self, beside: bool, body: Callable[[], Any]) -> Any:
        """Reads what is no part of the key, if `beside`: keys say nothing inside of it."""
        if not beside:
            return body()
        outer, self.keys = self.keys, False
        try:
            return body()
        finally:
            self.keys = outer

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
            raise CdrError('the bytes end too early')
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
        """A length in bytes, which are there."""
        size = self.number('I', 4)
        if size > self.remaining:
            raise CdrError('the bytes end too early')
        return size

    def claim(self, size: int) -> None:
        if size > self.memory:
            raise CdrError('the value takes too much memory')
        self.memory -= size

    def items(self, count: int) -> Iterator[int]:
        """Counts elements, of which those without bytes are limited."""
        for index in range(count):
            before = self.position
            yield index
            if self.position == before:
                if self.empties == 0:
                    raise CdrError('too many elements without bytes')
                self.empties -= 1
            self.claim(ELEMENT)

    def region(self, size: int, body: Callable[[], Any]) -> Any:
        if size > self.remaining:
            raise CdrError('the bytes end too early')
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
        # Fewer bytes than a header are padding.
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


