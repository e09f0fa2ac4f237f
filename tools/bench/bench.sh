#!/usr/bin/env bash
# Runs one scenario with the built tool and says what to look at and what to run next. Usage: bench.sh SCENARIO
set -euo pipefail
cd "$(dirname "$0")/../.."
dunlin=${CARGO_TARGET_DIR:-target}/dist/dunlin
"$dunlin" bench run "$1"
python3 - "results/$1.json" <<'PYTHON'
import json, sys
results = json.load(open(sys.argv[1]))
possible = [cell for cell in results["cells"] if not cell.get("unsupported")]
whole = [cell for cell in possible if cell["repetitions"] and not any("failure" in one for one in cell["repetitions"])]
absent = [one["name"] for one in results["absent"]]
print(f"bench: measured {len(whole)} of {len(possible)} combinations without a failure, {results['scenario']['repetitions']} "
      f"repetitions" + (", without " + ", ".join(absent) if absent else ""))
PYTHON
cat <<END

Open results/$1.html in a browser. The longer scenarios (about ten minutes to some hours each):
    make bench SCENARIO=latency-2019       all of them: $dunlin bench list
docs/benchmarks.md says how to read the figures and how to measure something of your own.
END
