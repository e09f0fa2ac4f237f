#!/usr/bin/env bash
# Gets the peers into .cache/peers (kept between runs), or those that are named: Cyclone DDS from PyPI, Fast DDS from the
# distribution's packages, RustDDS (its own shape_main) and dust_dds from the cargo registry, `fastdds3` from Debian 13's packages.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
peers=${INTEROP_PEERS:-$root/.cache/peers}
mkdir -p "$peers"

cyclone() {
    "$peers/cyclone/bin/python" -c 'import cyclonedds' 2>/dev/null && return
    echo "shapes: Cyclone DDS 11.0.1 (PyPI)"
    python3 -m venv "$peers/cyclone"
    "$peers/cyclone/bin/pip" install --quiet --disable-pip-version-check cyclonedds==11.0.1
}

fastdds() {
    echo "shapes: Fast DDS $(dpkg-query -W -f '${Version}' libfastrtps-dev 2>/dev/null || echo '(not from a package)')"
    cmake -S "$here/peers/fastdds" -B "$peers/fastdds-shapes" -DCMAKE_BUILD_TYPE=Release >/dev/null
    cmake --build "$peers/fastdds-shapes" | tail -n 1
}

fastdds3() {
    "$root/scripts/debian13.sh" build "$peers/fastdds3-shapes/fastdds3_shapes" \
        "$here"/peers/fastdds/shapes.cpp "$here"/peers/fastdds/*.hpp "$root"/tests/interop/peers/fastdds/*.hpp \
        "$here"/peers/fastdds/ShapeType.idl
}

dust() {
    echo "shapes: dust_dds (cargo registry)"
    CARGO_TARGET_DIR="$peers/dust" cargo build --quiet --locked --manifest-path "$here/peers/dust/Cargo.toml"
}

rustdds() {
    echo "shapes: RustDDS (cargo registry)"
    local user="$root/tests/interop/peers/rust/Cargo.toml" manifest
    cargo fetch --quiet --locked --manifest-path "$user"
    manifest=$(cargo metadata --format-version 1 --locked --offline --manifest-path "$user" |
        python3 -c 'import json, sys; print(next(p["manifest_path"] for p in json.load(sys.stdin)["packages"] if p["name"] == "rustdds"))')
    CARGO_TARGET_DIR="$peers/rustdds" cargo build --quiet --locked --manifest-path "$manifest" --example shape_main
}

for peer in "${@:-cyclone}"; do
    "$peer"
done
