"""A program of zenoh that speaks the conventions by hand: says what arrives, and puts what it is told to."""
import struct
import sys
import zenoh

connect, received, sent = sys.argv[1:4]
config = zenoh.Config()
config.insert_json5("mode", '"peer"')
config.insert_json5("scouting/multicast/enabled", "false")
config.insert_json5("listen/endpoints", "[]")
config.insert_json5("connect/endpoints", f'["{connect}"]')


def told(sample):
    octets = bytes(sample.payload)
    _, ident, position = struct.unpack("<4sI4xq", octets) if octets[:4] == b"\x00\x01\x00\x00" else (0, 0, 0)
    print(f"received {sample.key_expr} {ident} {position}", file=sys.stderr, flush=True)


with zenoh.open(config) as session:
    subscriber = session.declare_subscriber(received, told)
    publisher = session.declare_publisher(sent)
    print("ready", file=sys.stderr, flush=True)
    for line in sys.stdin:
        ident, position = map(int, line.split())
        publisher.put(struct.pack("<4sI4xq", b"\x00\x01\x00\x00", ident, position))
