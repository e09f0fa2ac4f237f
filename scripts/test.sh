#!/usr/bin/env bash
# Everything that must pass. Each part is a make target and can be repeated alone; the first failure ends the run.
# PARTS="lint unit" runs some of them only; DISCARD=1 deletes what a part alone has built once it passed.
set -uo pipefail
cd "$(dirname "$0")/.."

parts=${PARTS:-lint unit loom shuttle miri-short million scale sim flood counts cross shapes-quick interop network browser fuzz}
export CARGO_TERM_PROGRESS_WHEN=never
[ -t 1 ] || export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-never}
begin=$SECONDS

clock() { printf '%d:%02d min' $(($1 / 60)) $(($1 % 60)); }
heading() { printf '\n===== %s =====\n' "$1"; }

target=${CARGO_TARGET_DIR:-target}
# What a run writes from nothing, GB: measured in a fresh clone, rounded up.
needed=20
[ "${DISCARD:-}" != 1 ] || needed=8
mkdir -p "$target"
free_gb() { echo $(($(df -Pk "$target" | awk 'NR == 2 {print $4}') / 1000000)); }

# What no other part builds or reads.
discard() { # discard PART
    case $1 in
    loom | shuttle) rm -rf "$target/$1" ;;
    miri-short) rm -rf "$target/miri" ;;
    cross) rm -rf "$target"/thumbv7em-none-eabihf "$target"/armv7-unknown-linux-gnueabihf ;;
    esac
}

if [ ! -d "$target/debug" ] && [ "$(free_gb)" -lt "$needed" ]; then
    echo "test: $(free_gb) GB are free for $target, a first run takes up to $needed. CARGO_TARGET_DIR=/elsewhere builds on another disk." >&2
fi

heading setup
if ! scripts/setup.sh build test demo interop counts cross browser </dev/null; then
    printf '\ntest: FAILED in setup. To repeat it alone: scripts/setup.sh build test demo interop counts cross browser\n' >&2
    exit 1
fi

free_memory=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
times=()
for part in $parts; do
    heading "$part"
    since=$SECONDS
    variables=()
    # A short run of the fuzz targets; `make fuzz` alone runs longer.
    [ "$part" != fuzz ] || variables=(RUNS="${RUNS:-2000}")
    [ "$part" != flood ] || variables=(SECONDS=3)
    # 1,000 participants take 8 GB.
    if [ "$part" = scale ] && [ "$free_memory" -le 10000000 ]; then
        variables=(PARTICIPANTS="${PARTICIPANTS:-10,100,300}")
        echo "test: less than 10 GB free, so discovery is tried with ${variables[0]#PARTICIPANTS=} participants instead of 10,100,1000"
    fi
    if ! make --no-print-directory "$part" "${variables[@]}" </dev/null; then
        printf '\ntest: FAILED in %s after %s. To repeat it alone: make %s\n' \
            "$part" "$(clock $((SECONDS - since)))" "$part" >&2
        [ "$(free_gb)" -gt 0 ] || echo "test: the disk is nearly full; a first run takes up to $needed GB" >&2
        exit 1
    fi
    [ "${DISCARD:-}" != 1 ] || discard "$part"
    times+=("$part $(clock $((SECONDS - since)))")
    printf -- '----- %s: passed in %s\n' "$part" "$(clock $((SECONDS - since)))"
done

heading times
printf '%s\n' "${times[@]}"
printf '\ntest: everything passed in %s\n' "$(clock $((SECONDS - begin)))"
