#!/usr/bin/env bash
# Live video over DDS: a publisher and a viewer as two processes. Usage: scripts/demo.sh [SECONDS]
# DEMO_ARGS: more options of `dunlin-video demo`.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --release -p dunlin-video
options=()
[ -z "${1:-}" ] || options+=(--seconds "$1")
# Without the clip the demo says so and shows its test pattern.
if clip=$(apps/video/scripts/fetch-clip.sh); then
    options+=(--file "$clip")
else
    echo "demo: the clip could not be fetched" >&2
fi
# shellcheck disable=SC2086 # several words
exec "${CARGO_TARGET_DIR:-target}/release/dunlin-video" demo "${options[@]}" ${DEMO_ARGS:-}
