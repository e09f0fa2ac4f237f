#!/usr/bin/env python3
"""Lists the functions of a program that ran, for the linker to lay beside each other (docs/performance.md, Memory): as callgrind
tells, or the log of an emulator, which also runs what reads the clock in a static program.

    valgrind --tool=callgrind --dump-instr=yes --compress-pos=no --callgrind-out-file=ran.out PROGRAM
    qemu-x86_64-static -d in_asm -D ran.out PROGRAM                 (or so, from the package qemu-user-static)
    scripts/function-order.py PROGRAM ran.out >order.txt
    cargo rustc --profile dist --bin PROGRAM -- -Clink-arg=-Wl,--symbol-ordering-file=order.txt,--no-warn-symbol-ordering
"""
import bisect
import re
import subprocess
import sys
from pathlib import Path


def functions(program):
    """Address, size and name of each function."""
    listed = subprocess.run(["nm", "-S", "--defined-only", program], capture_output=True, text=True, check=True)
    words = (line.split() for line in listed.stdout.splitlines())
    return sorted((int(w[0], 16), int(w[1], 16), w[3]) for w in words if len(w) == 4 and w[2] in "tTwW")


def addresses(file, program):
    """What ran in the program, not in its libraries."""
    objects, within = {}, False
    with open(file, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if named := re.match(r"c?ob=\((\d+)\)(?: (.*))?", line):
                if named[2]:
                    objects[named[1]] = Path(named[2]).name
                if line.startswith("ob="):
                    within = objects.get(named[1]) == program.name
            elif within and (ran := re.match(r"0x([0-9a-f]+) ", line)):
                yield int(ran[1], 16)


def named(file):
    """Functions that the log of an emulator names."""
    with open(file, encoding="utf-8", errors="replace") as lines:
        yield from (line[4:].strip() for line in lines if line.startswith("IN: "))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    known = functions(sys.argv[1])
    starts = [start for start, _, _ in known]
    names = {name: at for at, (_, _, name) in enumerate(known)}
    ran = set()
    for file in sys.argv[2:]:
        ran.update(names[name] for name in named(file) if name in names)
        for address in addresses(file, Path(sys.argv[1])):
            at = bisect.bisect_right(starts, address) - 1
            if at >= 0 and address < starts[at] + known[at][1]:
                ran.add(at)
    for at in sorted(ran):
        print(known[at][2])
    print(f"{len(ran)} functions, {sum(known[at][1] for at in ran)} bytes", file=sys.stderr)


main()
