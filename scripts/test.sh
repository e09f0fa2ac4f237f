#!/usr/bin/env bash
# Everything that must pass: `test.sh`; the long forms of it, for hours: `test.sh deep`. Each part is a make target and can be
# repeated alone. What a part prints is in $target/test/PART.log and shown when it ends; the first failure ends the run, that of
# a long form does not.
# PARTS="lint unit" runs some of them only; DISCARD=1 deletes what a part alone has built once it passed.
# `lint` and `build-tests` build what the others use. Then `unit`, those that mostly wait, for peers and for time to pass, and those
# that compute, which give way to them, run side by side. LANES=1 runs one after the other.
set -uo pipefail
cd "$(dirname "$0")/.."

form=${1:-short}
case $form in
short)
    # `counts` comes last: beside everything else threads meet more often, and call the system more often.
    parts=${PARTS:-lint build-tests unit loom shuttle miri-short million scale sim cross flood shapes-quick interop network browser counts}
    lanes=${LANES:-3}
    # What runs here belongs to who changes something, and tells nothing of a commit.
    export EVIDENCE=off
    ;;
deep)
    parts=${PARTS:-counts attack attack-32 attacks million scale sim mutants cross-full small-board miri tsan loom shuttle fuzz footprint shm-crash slow-reader flood shapes shapes-peers soak interop-fastdds3 gstreamer}
    lanes=1
    ;;
*)
    sed -n '2,8s/^# //p' "$0" >&2
    exit 2
    ;;
esac
waiting=" flood counts shapes-quick interop network browser "
export CARGO_TERM_PROGRESS_WHEN=never
[ -t 1 ] || export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-never}
begin=$SECONDS

clock() { printf '%d:%02d min' $(($1 / 60)) $(($1 % 60)); }
heading() { printf '\n===== %s =====\n' "$1"; }

target=${CARGO_TARGET_DIR:-target}
logs=$target/test
rm -rf "$logs"
mkdir -p "$logs"
# What parts leave out and try again, shown at the end.
DUNLIN_NOTES=$(realpath "$logs")/notes
export DUNLIN_NOTES
# What a run writes from nothing, GB: measured in a fresh clone, rounded up.
needed=20
[ "${DISCARD:-}" != 1 ] || needed=12
free_gb() { echo $(($(df -Pk "$target" | awk 'NR == 2 {print $4}') / 1000000)); }
# What is on the disk, GB. Others may delete meanwhile.
used_gb() { du -sk "$target" .cache 2>/dev/null | awk '{sum += $1} END {printf "%.1f", sum / 1e6}'; }

# What no other part builds or reads.
discard() { # discard PART
    case $1 in
    loom | shuttle) rm -rf "$target/$1" ;;
    miri-short) rm -rf "$target/miri" ;;
    cross) rm -rf "$target"/thumbv7em-none-eabihf "$target"/armv7-unknown-linux-gnueabihf ;;
    esac
}

# How deep a part goes: into `variables`. docs/simulation.md, docs/fuzzing.md and docs/concurrency.md say what found what.
depth() { # depth PART
    variables=()
    case $form-$1 in
    # Whether samples arrive, not what that costs: with the programs that are there.
    short-network) variables=(PROFILE=dev) ;;
    short-flood) variables=(SECONDS=3) ;;
    short-million) variables=(SAMPLES="${SAMPLES:-100000}") ;;
    # The mechanisms are the same from a hundred on; 1,000 participants take 8 GB and four minutes.
    short-scale) variables=(PARTICIPANTS="${PARTICIPANTS:-10,100,300}") ;;
    deep-sim) variables=(SEEDS="${SEEDS:-100000}") ;;
    deep-fuzz) variables=(RUNS="${RUNS:-1000000}") ;;
    deep-shuttle) variables=(ROUNDS="${ROUNDS:-10000}") ;;
    deep-shapes-peers) variables=(PEERS="${PEERS:-cyclone fastdds rustdds dust fastdds3}") ;;
    deep-shm-crash) variables=(ROUNDS="${ROUNDS:-1000}") ;;
    deep-flood) variables=(SECONDS=30) ;;
    esac
}

# Runs a part and notes the seconds it took by the clock and of processors, and what is on the disk then.
run() { # run PART
    local part=$1 since=$SECONDS status=0 log=$logs/$1.log
    local variables
    depth "$part"
    echo "test: $part begins"
    (
        make --no-print-directory "$part" "${variables[@]}" </dev/null >"$log" 2>&1
        status=$?
        times >"$logs/$part.times"
        exit $status
    ) || status=$?
    local taken=$((SECONDS - since)) computed
    # The second line is of what the part ran.
    computed=$(tr 'ms' '  ' <"$logs/$part.times" | awk 'NR == 2 {printf "%d", $1 * 60 + $2 + $3 * 60 + $4}')
    # One at a time: the other lane prints too.
    exec 9>"$logs/lock"
    flock 9
    heading "$part"
    cat "$log"
    if [ $status != 0 ] && [ "${ALLOW_SKIPS:-}" = 1 ] && grep -q '^cannot run: ' "$log"; then
        echo "SKIPPED $part: $(sed -n '0,/^cannot run: /s///p' "$log")" >>"$DUNLIN_NOTES"
        exec 9>&-
        return 0
    fi
    if [ $status != 0 ]; then
        printf '\ntest: FAILED in %s after %s. To repeat it alone: make %s\n' "$part" "$(clock $taken)" "$part" >&2
        [ "$(free_gb)" -gt 0 ] || echo "test: the disk is nearly full; a first run takes up to $needed GB" >&2
        echo "$part" >>"$logs/failed"
        exec 9>&-
        return 1
    fi
    printf '%-14s %10s %10s %6s GB\n' "$part" "$(clock $taken)" "$(clock "$computed")" "$(used_gb)" >>"$logs/times"
    echo "$computed" >>"$logs/computed"
    [ "${DISCARD:-}" != 1 ] || discard "$part"
    printf -- '----- %s: passed in %s, %s of a processor\n' "$part" "$(clock $taken)" "$(clock "$computed")"
    exec 9>&-
}

one_after_the_other() { # one_after_the_other PART...
    local part
    for part in "$@"; do
        run "$part" || [ "$form" = deep ] || return 1
    done
}

children=()
# shellcheck disable=SC2317 # called by traps
end_children() {
    local child
    for child in "${children[@]}"; do kill -- "-$child" 2>/dev/null; done
}
trap 'end_children; exit 130' INT TERM

# Lists of parts at once; a failure in one ends the others.
side_by_side() { # side_by_side UNIT WAITING COMPUTING
    local remaining=$#
    set -m
    # shellcheck disable=SC2086 # lists
    one_after_the_other $1 &
    children+=($!)
    # shellcheck disable=SC2086
    one_after_the_other $2 &
    children+=($!)
    # shellcheck disable=SC2086
    (renice -n 10 $BASHPID >/dev/null && one_after_the_other $3) &
    children+=($!)
    set +m
    while [ $remaining -gt 0 ]; do
        wait -n || {
            end_children
            wait
            return 1
        }
        remaining=$((remaining - 1))
    done
}

report() {
    [ -e "$logs/times" ] || return 0
    heading "times: by the clock, of processors, on the disk afterwards"
    cat "$logs/times"
    printf '\ntest: %s by the clock, %s of processors\n' "$(clock $((SECONDS - begin)))" \
        "$(clock "$(awk '{sum += $1} END {print sum + 0}' "$logs/computed")")"
}

if [ ! -d "$target/debug" ] && [ "$(free_gb)" -lt "$needed" ]; then
    echo "test: $(free_gb) GB are free for $target, a first run takes up to $needed. CARGO_TARGET_DIR=/elsewhere builds on another disk." >&2
fi

heading setup
# Where packages cannot be installed the parts that need them say so themselves.
if ! scripts/setup.sh build test demo interop counts cross browser pictures </dev/null && [ "${ALLOW_SKIPS:-}" != 1 ]; then
    printf '\ntest: FAILED in setup. To repeat it alone: scripts/setup.sh build test demo interop counts cross browser pictures\n' >&2
    exit 1
fi

first=() unit=() slow=() busy=()
for part in $parts; do
    if [ "$lanes" = 1 ] || [ "$part" = lint ] || [ "$part" = build-tests ]; then
        first+=("$part")
    elif [ "$part" = unit ]; then
        unit+=("$part")
    elif [[ $waiting == *" $part "* ]]; then
        slow+=("$part")
    else
        busy+=("$part")
    fi
done
one_after_the_other "${first[@]}" && side_by_side "${unit[*]}" "${slow[*]}" "${busy[*]}"
status=$?
report
if [ $status != 0 ] || [ -e "$logs/failed" ]; then
    printf '\ntest: FAILED in %s; what it printed is in %s\n' "$(paste -sd ' ' "$logs/failed")" "$logs" >&2
    exit 1
fi
heading "left out, tried again"
scripts/notes.sh "$DUNLIN_NOTES" || {
    printf '\ntest: FAILED: something was left out\n' >&2
    exit 1
}
printf '\ntest: everything passed in %s\n' "$(clock $((SECONDS - begin)))"
