#!/usr/bin/env bash
# Gets the peers into .cache/peers (kept between runs): Cyclone DDS from PyPI.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
peers=${INTEROP_PEERS:-$root/.cache/peers}
mkdir -p "$peers"

if ! "$peers/cyclone/bin/python" -c 'import cyclonedds' 2>/dev/null; then
    echo "shapes: Cyclone DDS 11.0.1 (PyPI)"
    python3 -m venv "$peers/cyclone"
    "$peers/cyclone/bin/pip" install --quiet --disable-pip-version-check cyclonedds==11.0.1
fi
