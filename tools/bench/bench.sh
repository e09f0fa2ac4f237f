#!/usr/bin/env bash
# Runs one scenario with the built tool and says what to look at and what to run next. Usage: bench.sh SCENARIO
set -euo pipefail
cd "$(dirname "$0")/../.."
dunlin=${CARGO_TARGET_DIR:-target}/dist/dunlin
"$dunlin" bench run "$1"
cat <<END

Open results/$1.html in a browser. The longer scenarios (about ten minutes to some hours each):
    make bench SCENARIO=latency-2019       all of them: $dunlin bench list
docs/benchmarks.md says how to read the figures and how to measure something of your own.
END
