#!/usr/bin/env bash
# Fuzzing. Usage: scripts/fuzz.sh [RUNS [TARGET...]]; docs/fuzzing.md explains.
# Without targets: on any toolchain every seed and RUNS damaged copies of each are replayed; where cargo-fuzz and a nightly
# toolchain are installed, each target then runs for RUNS executions that coverage guides.
# With targets: those alone, guided by coverage. SANITIZER=none is several times as fast, MAX_LEN limits the inputs.
set -euo pipefail
cd "$(dirname "$0")/.."

ALL="wire_message parameter_list cdr_value configuration routes durable recordings filter idl xml_types discovery_data types dynamic endpoint_cores live_participant"
RUNS=${1:-20000}
export RUNS
shift || true
targets=${*:-$ALL}

need="runs guided by coverage need: rustup toolchain install nightly && cargo install cargo-fuzz"
if [ $# -eq 0 ]; then
    cargo test --quiet --workspace --test replay
fi
if ! cargo +nightly fuzz --version >/dev/null 2>&1; then
    [ $# -gt 0 ] || echo "fuzz: seeds and damaged copies passed"
    echo "cannot run: $need" >&2
    exit 1
fi

# The largest input that makes sense: a datagram, or as many operations as a run has.
longest() {
    case $1 in
    wire_message) echo 65507 ;;
    # Short inputs are run faster, and find as much: a live participant does a hundred operations of few octets each.
    idl | live_participant) echo 512 ;;
    *) echo 4096 ;;
    esac
}

# The inputs of the compiler's own tests, each in a file: those in XML (1), or the others (0) behind the octet that says what
# kind of file it is.
idl_inputs() {
    rm -f "$1"/*
    awk -v folder="$1" -v xml="$2" '
        /^=== / {
            if (file) close(file)
            inside = 0
            if (/main .*\.xml/ != xml) next
            inside = 1
            file = sprintf("%s/%04d", folder, ++count)
            printf "%s", /main .*\.(msg|srv)/ ? "\001" : /main .*\.action/ ? "\002" : "" > file
            next
        }
        /^---$/ { inside = 0 }
        inside { print > file }
    ' idl/tests/corpus/*.txt
}

. scripts/evidence.sh
build=(-s "${SANITIZER:-address}")
log=$(mktemp)
inputs=$(mktemp -d)
trap 'rm -rf "$log" "$inputs"' EXIT
total=0
summary=()
for target in $targets; do
    mkdir -p "fuzz/corpus/$target"
    options=("${build[@]}")
    libfuzzer=()
    more=()
    case $target in
    # Numbers come from a grammar there: to follow comparisons would only cost time.
    discovery_data | endpoint_cores) options+=(--no-trace-compares) ;;
    live_participant)
        # A run takes long, so that how often an edge was passed and how rare it is tell less than the runs they cost.
        options+=(--no-trace-compares)
        libfuzzer+=(-entropic=0 -use_counters=0 -reload=0)
        ;;
    idl)
        # The dictionary knows what comparisons would tell. The rest is bookkeeping that took most of the time.
        options+=(--no-trace-compares)
        libfuzzer+=(-dict=dictionaries/idl.dict -entropic=0 -use_counters=0 -reload=0)
        idl_inputs "$inputs" 0
        more+=("$inputs")
        ;;
    xml_types)
        options+=(--no-trace-compares)
        libfuzzer+=(-dict=dictionaries/xml.dict -reload=0)
        idl_inputs "$inputs" 1
        more+=("$inputs")
        ;;
    esac
    echo "fuzz: $target, $RUNS executions"
    (cd fuzz && cargo +nightly fuzz run "${options[@]}" "$target" "corpus/$target" "seeds/$target" "${more[@]}" -- \
        "${libfuzzer[@]}" -runs="$RUNS" -max_len="${MAX_LEN:-$(longest "$target")}" -timeout=60 -print_final_stats=1) 2>&1 |
        tee "$log" | grep --line-buffered -E 'pulse|ERROR|panicked|Test unit|^stat::(number|average)' || true
    grep -q '^stat::number_of_executed_units' "$log" || { tail -n 30 "$log" >&2; exit 1; }
    if grep -qE 'Test unit written|ERROR: libFuzzer' "$log"; then
        tail -n 40 "$log" >&2
        evidence_failed "fuzz-$target" 1
        exit 1
    fi
    executed=$(awk '/^stat::number_of_executed_units/ {print $2}' "$log")
    summary+=("$(printf '%-18s %12d' "$target" "$executed")")
    total=$((total + executed))
    evidence "fuzz-$target" --amount "$executed" --result "no finding, sanitizer ${SANITIZER:-address}"
done
printf '%s\n' "${summary[@]}" "$(printf '%-18s %12d' total "$total")"
