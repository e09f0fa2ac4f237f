#!/usr/bin/env python3
"""Takes the type objects and type information out of C code made by Cyclone DDS's IDL compiler.

Usage: extract.py <code>.c > <file>.golden
"""
import re
import struct
import sys

source = open(sys.argv[1]).read()
arrays = {
    (kind, name): bytes.fromhex("".join(re.findall(r"0x([0-9a-fA-F]{2})", body)))
    for kind, name, body in re.findall(
        r"#define TYPE_(INFO|MAP)_CDR_(\w+) \(const unsigned char \[\]\)\{(.*?)\}", source, re.S
    )
}


def pairs(octets, at):
    """The pairs of identifier and object in the sequence that starts at an offset."""
    size, count = struct.unpack_from("<II", octets, at)
    end, at, found = at + 4 + size, at + 8, []
    for _ in range(count):
        identifier = octets[at : at + 15]
        assert identifier[0] in (0xF1, 0xF2), identifier.hex()
        at = (at + 15 + 3) & ~3
        (length,) = struct.unpack_from("<I", octets, at)
        found.append((identifier.hex(), octets[at : at + 4 + length].hex()))
        at += 4 + length
    return found, (end + 3) & ~3


objects, lines = {}, []
for (kind, name), octets in arrays.items():
    if kind == "INFO":
        lines.append(f"info {name} {octets.hex()}")
        continue
    at = 0
    for _ in range(2):
        found, at = pairs(octets, at)
        for identifier, octets_of in found:
            assert objects.setdefault(identifier, octets_of) == octets_of
print("\n".join(lines + [f"object {identifier} {octets}" for identifier, octets in objects.items()]))
