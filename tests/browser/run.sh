#!/usr/bin/env bash
# Runs a browser test against a binary: run.sh video|shapes|recorder|surveillance BINARY [options of video.mjs, shapes.mjs …]
# Needs node with npm, and Chromium (Debian: apt-get install chromium), at /usr/bin/chromium or named by CHROMIUM.
set -euo pipefail

usage="usage: run.sh video|shapes|recorder|surveillance BINARY [--clip FILE] [--camera PROGRAM] [--screenshot FILE] [--mode jpeg]"
test=${1:?$usage}
binary=$(realpath "${2:?$usage}")
shift 2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
browser=${CHROMIUM:-/usr/bin/chromium}
if [ ! -x "$browser" ]; then
  echo "cannot run: $browser is missing: apt-get install chromium, or set CHROMIUM" >&2
  exit 1
fi
arguments=()
while [ $# -gt 0 ]; do
  case $1 in
    --clip | --camera | --screenshot) arguments+=("$1" "$(realpath -m "$2")") && shift 2 ;;
    *) arguments+=("$1") && shift ;;
  esac
done
cd "$here"
PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --silent --no-audit --no-fund
exec node "$test.mjs" "$binary" "${arguments[@]}"
