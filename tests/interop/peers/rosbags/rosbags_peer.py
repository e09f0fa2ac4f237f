"""Messages as the package rosbags serializes them.

    rosbags_peer.py messages DIR    writes DIR/PACKAGE/msg/NAME.msg for every message of the store, and to standard
                                    output lines `TYPE HEX` of random values
    rosbags_peer.py again           reads lines `TYPE HEX`, decodes each, and writes what it serializes to, as HEX
"""

import random
import string
import sys
from pathlib import Path

import numpy
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_typestore

STORE = get_typestore(Stores.ROS2_JAZZY)
DUMMY = 'structure_needs_at_least_one_member'
PACKAGES = (
    'actionlib_msgs', 'action_msgs', 'builtin_interfaces', 'diagnostic_msgs', 'geometry_msgs', 'nav_msgs',
    'sensor_msgs', 'shape_msgs', 'std_msgs', 'stereo_msgs', 'tf2_msgs', 'trajectory_msgs', 'unique_identifier_msgs',
    'visualization_msgs', 'rcl_interfaces', 'lifecycle_msgs', 'rosgraph_msgs', 'statistics_msgs',
    'rmw_dds_common', 'rosbag2_interfaces', 'service_msgs', 'type_description_interfaces',
)
VALUES = 6


def names():
    return sorted(name for name in STORE.fielddefs if name.split('/')[0] in PACKAGES)


def text_of(desc):
    """A type as a .msg file has it."""
    kind, of = desc
    if kind == Nodetype.BASE:
        return f'{of[0]}<={of[1]}' if of[1] else of[0]
    if kind == Nodetype.NAME:
        return of
    element, size = of
    if kind == Nodetype.ARRAY:
        return f'{text_of(element)}[{size}]'
    return f'{text_of(element)}[<={size}]' if size else f'{text_of(element)}[]'


def write_messages(folder):
    for name in names():
        package, _, plain = name.split('/')
        constants, fields = STORE.fielddefs[name]
        lines = [f'# {name}', '']
        for constant, kind, value in constants:
            lines.append(f'{kind} {constant}={value}')
        lines += [f'{text_of(desc)} {field}' for field, desc in fields if field != DUMMY]
        path = Path(folder) / package / 'msg' / f'{plain}.msg'
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('\n'.join(lines) + '\n')


def number(kind):
    if kind == 'bool':
        return random.random() < 0.5
    if kind.startswith('float'):
        return float(numpy.float32(random.uniform(-1e6, 1e6)))
    # rosbags takes these for signed.
    bits = {'byte': 7, 'char': 7, 'octet': 7}.get(kind) or int(kind.lstrip('uint'))
    signed = kind.startswith('int')
    return random.randrange(-(1 << bits - 1), 1 << bits - 1) if signed else random.randrange(1 << bits)


def base(kind, bound):
    if kind in ('string', 'wstring'):
        return ''.join(random.choices(string.ascii_letters + 'äß€', k=random.randint(0, min(bound or 9, 3))))
    return number(kind)


def value(desc):
    kind, of = desc
    if kind == Nodetype.BASE:
        return base(*of)
    if kind == Nodetype.NAME:
        return message(of)
    element, size = of
    count = size if kind == Nodetype.ARRAY else random.randint(0, min(size or 4, 4))
    items = [value(element) for _ in range(count)]
    if element[0] == Nodetype.BASE and element[1][0] not in ('string', 'wstring'):
        name = {'bool': 'bool', 'byte': 'uint8', 'char': 'uint8', 'octet': 'uint8'}.get(element[1][0], element[1][0])
        return numpy.array(items, dtype=name)
    return items


def message(name):
    return STORE.types[name](*[value(desc) for _, desc in STORE.fielddefs[name][1]])


def main():
    if sys.argv[1] == 'messages':
        random.seed(7)
        write_messages(sys.argv[2])
        for name in names():
            for at in range(VALUES):
                octets = STORE.serialize_cdr(message(name), name, little_endian=at % 2 == 0)
                print(name, bytes(octets).hex())
        return
    for line in sys.stdin:
        name, octets = line.split()
        octets = bytes.fromhex(octets)
        decoded = STORE.deserialize_cdr(octets, name)
        print(bytes(STORE.serialize_cdr(decoded, name, little_endian=octets[1] == 1)).hex())


main()
