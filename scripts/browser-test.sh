#!/usr/bin/env bash
# The demo's page in headless Chromium: at least 20 distinct pictures decoded, none lost; then the pictures must come back
# after publisher and viewer are killed and started again in turn while the page stays open. The page of `dunlin shapes`, with
# another process that publishes. The page of `dunlin record`, with two cameras. The page
# of a monitor, with live and earlier pictures.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/programs.sh dunlin dunlin-record dunlin-surveillance dunlin-video
clip=$(apps/video/scripts/fetch-clip.sh)
programs=${CARGO_TARGET_DIR:-target}/debug
program=$programs/dunlin-video
tests/browser/run.sh video "$program" --clip "$clip" "$@"
tests/browser/run.sh video "$program" --clip "$clip" --recover --allow-loss "$@"
tests/browser/run.sh shapes "$programs/dunlin"
tests/browser/run.sh recorder "$programs/dunlin-record" --camera "$program"
tests/browser/run.sh surveillance "$programs/dunlin-surveillance"
