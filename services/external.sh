#!/usr/bin/env bash
# Tests services with what they reach beside DDS, which nobody compiles or starts who does not want it.
# Usage: services/external.sh [PART...]; all parts without one. bridge: zenoh, with the Python package eclipse-zenoh as a peer. stores: the
# durability service with PostgreSQL and NATS of Debian, and S3 of the Python package moto.
set -euo pipefail
cd "$(dirname "$0")/.."
target="${CARGO_TARGET_DIR:-$PWD/target}"
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(bridge stores)

bridge() {
    local venv="$PWD/.cache/zenoh"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet eclipse-zenoh==1.10.2
    PYTHON="$venv/bin/python" CARGO_TARGET_DIR="$target/zenoh" \
        cargo test --quiet --manifest-path services/zenoh-bridge/Cargo.toml -- --include-ignored
}

stores() {
    scripts/setup.sh build stores
    if [ ! -x .cache/moto/bin/moto_server ]; then
        python3 -m venv .cache/moto
        .cache/moto/bin/pip install --quiet "moto[s3,server]==5.2.5"
    fi
    MOTO="$PWD/.cache/moto/bin/moto_server" scripts/proof.sh services-stores -- \
        cargo test --quiet -p dunlin-durability --features stores --lib --test external
}

for part in "${parts[@]}"; do
    case "$part" in
    bridge | stores) "$part" ;;
    *)
        echo "no such part: $part; bridge, stores" >&2
        exit 2
        ;;
    esac
done
