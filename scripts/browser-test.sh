#!/usr/bin/env bash
# The demo's page in headless Chromium: at least 20 distinct pictures decoded, none lost; then the pictures must come back
# after publisher and viewer are killed and started again in turn while the page stays open.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --quiet --release -p dunlin-video
clip=$(apps/video/scripts/fetch-clip.sh)
program=${CARGO_TARGET_DIR:-target}/release/dunlin-video
apps/video/tests/browser/run.sh "$program" --clip "$clip" "$@"
apps/video/tests/browser/run.sh "$program" --clip "$clip" --recover --allow-loss "$@"
