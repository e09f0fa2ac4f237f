#!/usr/bin/env bash
# The demo's page in headless Chromium: at least 20 distinct pictures decoded, none lost.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --quiet --release -p dunlin-video
exec apps/video/tests/browser/run.sh
