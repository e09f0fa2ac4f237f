#!/usr/bin/env bash
# The demo's page in headless Chromium: at least 20 distinct pictures decoded, none lost.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --quiet --release -p dunlin-video
clip=$(apps/video/scripts/fetch-clip.sh)
exec apps/video/tests/browser/run.sh "${CARGO_TARGET_DIR:-target}/release/dunlin-video" --clip "$clip" "$@"
