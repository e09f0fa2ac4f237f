#!/usr/bin/env bash
# Builds the adapters of other implementations into .cache/bench (kept between runs), with the peers from packages.
# Usage: build-peers.sh [NAME...]; without names, all. What cannot be built is said at the end and stops nothing else.
#
# For an installation of your own:
#   CYCLONEDDS_LIBRARY=/opt/cyclone/lib/libddsc.so CYCLONEDDS_VERSION=11.1 build-peers.sh cyclone
#   CMAKE_PREFIX_PATH=/opt/fastdds build-peers.sh fastdds       (Fast DDS 2)
# and for the others, another version in tools/bench/peers/rust/NAME/Cargo.toml.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${DUNLIN_BENCH_PEERS:-$root/.cache/bench}
peers=$here/peers
cxx=(${CXX:-g++} -std=c++17 -O2 -DNDEBUG -Wall -Wextra)
mkdir -p "$out/build"

put() { # put FILE NAME: in one step, so that a benchmark never starts half a program
    install -m 755 "$1" "$out/.$2.new" && mv "$out/.$2.new" "$out/$2"
}

shm() {
    "${cxx[@]}" -o "$out/build/shm" "$peers/shm/adapter.cpp" -pthread -lrt && put "$out/build/shm" shm
}

cyclone() {
    local library=${CYCLONEDDS_LIBRARY:-} version=${CYCLONEDDS_VERSION:-11.0.1} built="shared library named by the user"
    if [ -z "$library" ]; then
        local wheel=$out/build/cyclonedds-$version
        if [ ! -d "$wheel" ]; then
            python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
                --dest "$out/build" "cyclonedds==$version" || return
            python3 -m zipfile -e "$out/build/cyclonedds-$version"-*.whl "$wheel.new" && mv "$wheel.new" "$wheel" || return
        fi
        built="shared library of its Python wheel"
        library=$(find "$wheel/cyclonedds.libs" -name 'libddsc*.so*' | head -n 1)
    fi
    [ -e "$library" ] || { echo "there is no library '$library'"; return 1; }
    library=$(realpath "$library")
    local link=("$library" "-Wl,-rpath,$(dirname "$library")" -Wl,--allow-shlib-undefined -pthread)
    "${cxx[@]}" "-DCYCLONE_VERSION=\"$version\"" "-DCYCLONE_BUILT=\"$built\"" -o "$out/build/cyclone" "$peers/cyclone/adapter.cpp" "${link[@]}" &&
        put "$out/build/cyclone" cyclone || return
    # The exchange that `make counts-peers` counts.
    "${cxx[@]}" -o "$out/build/cyclone-counts" "$root/tests/counts/peers/cyclone.cpp" "${link[@]}" &&
        put "$out/build/cyclone-counts" cyclone-counts
}

fastdds() {
    cmake -S "$peers/fastdds" -B "$out/build/fastdds" -DCMAKE_BUILD_TYPE=Release >/dev/null &&
        cmake --build "$out/build/fastdds" | tail -n 1 && put "$out/build/fastdds/adapter" fastdds
}

# Not one of those built without names: its packages are of another Debian, which takes 1.1 GB and root.
fastdds3() {
    "$root/scripts/setup.sh" fastdds3 &&
        "$root/scripts/debian13.sh" build "$out/fastdds3" "$peers"/fastdds/adapter.cpp "$peers"/fastdds/*.hpp "$peers/adapter.hpp"
}

rust() { # rust NAME
    CARGO_TARGET_DIR="$out/build/rust" cargo build --quiet --release --locked \
        --manifest-path "$peers/rust/Cargo.toml" -p "$1-adapter" && put "$out/build/rust/release/$1-adapter" "$1"
}

all=(shm cyclone fastdds rustdds dust iceoryx2 zenoh)
chosen=("$@")
[ $# -gt 0 ] || chosen=("${all[@]}")
missing=()
for name in "${chosen[@]}"; do
    log=$out/build/$name.log
    printf 'bench-peers: %-9s ' "$name"
    case $name in
    shm | cyclone | fastdds | fastdds3) build=("$name") ;;
    rustdds | dust | iceoryx2 | zenoh) build=(rust "$name") ;;
    *)
        echo "is no peer; there are: ${all[*]} fastdds3"
        exit 2
        ;;
    esac
    if "${build[@]}" >"$log" 2>&1; then
        echo "built"
    else
        echo "failed: $(grep -m 1 -iE 'error' "$log" || tail -n 1 "$log")"
        # What was built before is not what was asked for.
        rm -f "$out/$name"
        missing+=("$name")
    fi
done
if [ ${#missing[@]} -gt 0 ]; then
    echo "bench-peers: the benchmark will run without ${missing[*]}; the logs are in $out/build"
fi
# Some peers are enough to measure; none at all is an error.
[ ${#missing[@]} -lt ${#chosen[@]} ]
