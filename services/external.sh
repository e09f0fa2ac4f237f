#!/usr/bin/env bash
# Tests services with what they reach beside DDS, which nobody compiles or starts who does not want it.
# Usage: services/external.sh [PART...]; all parts without one. bridge: zenoh, with the Python package eclipse-zenoh as a peer.
set -euo pipefail
cd "$(dirname "$0")/.."
target="${CARGO_TARGET_DIR:-$PWD/target}"
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(bridge)

bridge() {
    local venv="$PWD/.cache/zenoh"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet eclipse-zenoh==1.10.2
    PYTHON="$venv/bin/python" CARGO_TARGET_DIR="$target/zenoh" \
        cargo test --quiet --manifest-path services/zenoh-bridge/Cargo.toml -- --include-ignored
}

for part in "${parts[@]}"; do
    case "$part" in
    bridge) "$part" ;;
    *)
        echo "no such part: $part; bridge" >&2
        exit 2
        ;;
    esac
done
