#!/usr/bin/env bash
# Builds the peers into .cache/peers (kept between runs).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
peers=${INTEROP_PEERS:-$root/.cache/peers}
mkdir -p "$peers"

echo "interop: Cyclone DDS 11.0.1 (PyPI)"
if ! "$peers/cyclone/bin/python" -c 'import cyclonedds' 2>/dev/null; then
    python3 -m venv "$peers/cyclone"
    "$peers/cyclone/bin/pip" install --quiet --disable-pip-version-check cyclonedds==11.0.1
fi

# Programs with its C library, which the wheel brings without headers.
library=$(realpath "$(find "$peers/cyclone" -path '*cyclonedds.libs*' -name 'libddsc*' | head -n 1)")
mkdir -p "$peers/cyclone-native"
for program in octets native; do
    out=$peers/cyclone-native/$program
    if [ ! -e "$out" ] || [ -n "$(find "$here/peers/cyclone" -name '*pp' -newer "$out")" ]; then
        g++ -std=c++17 -O2 -Wall -Wextra -o "$out" "$here/peers/cyclone/$program.cpp" "$library" \
            "-Wl,-rpath,$(dirname "$library")" -Wl,--allow-shlib-undefined -pthread
    fi
done

echo "interop: rosbags 0.11.9 (PyPI)"
if ! "$peers/rosbags/bin/python" -c 'import rosbags' 2>/dev/null; then
    python3 -m venv "$peers/rosbags"
    "$peers/rosbags/bin/pip" install --quiet --disable-pip-version-check rosbags==0.11.9
fi

echo "interop: Fast DDS $(dpkg-query -W -f '${Version}' libfastrtps-dev 2>/dev/null || echo '(not from a package)')"
cmake -S "$here/peers/fastdds" -B "$peers/fastdds" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$peers/fastdds" | tail -n 1

echo "interop: RustDDS and dust_dds (cargo registry)"
CARGO_TARGET_DIR="$peers/rust" cargo build --quiet --locked --manifest-path "$here/peers/rust/Cargo.toml"
