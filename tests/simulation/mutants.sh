#!/usr/bin/env bash
# Applies each bug of tests/simulation/mutants/ to a copy of the sources and looks for the first seed that finds it, of the
# first generation and, if none of that does, of the second.
# Those of tests/simulation/mutants/checks/ take away a check on what others send: the tests that their second line names must fail.
# Usage: tests/simulation/mutants.sh [NAME...]; SEEDS=1000 is how many seeds of each a bug may survive. "checks" are all those of checks/.
set -euo pipefail
cd "$(dirname "$0")/../.."
seeds="${SEEDS:-1000}"
shared="${CARGO_TARGET_DIR:-$PWD/target}"
target="$shared/mutants"
copy="$target/sources"
checks=() names=()
add() { # a bug, to those of its kind
    if [ -f "tests/simulation/mutants/checks/$1.patch" ]; then checks+=("$1"); else names+=("$1"); fi
}
all() { # the bugs of a folder
    local patch
    for patch in "tests/simulation/mutants$1"/*.patch; do add "$(basename "$patch" .patch)"; done
}
if [ $# -eq 0 ]; then
    all /checks
    all ""
fi
for name in "$@"; do
    if [ "$name" = checks ]; then all /checks; else add "$name"; fi
done

declare -A holds
check() { # whether the tests that a patch names fail with it, and pass without
    local patch="$PWD/tests/simulation/mutants/checks/$1.patch" what test verdict=found
    what="$(sed -n 1p "$patch")"
    test="$(sed -n 2p "$patch")"
    if [ -z "${holds[$test]:-}" ]; then
        # A name that fits no test lets all of them pass.
        holds[$test]=no
        if (cd "$copy" && $test >"$log" 2>&1) && grep -q "^test result: ok. [1-9]" "$log"; then holds[$test]=yes; fi
    fi
    if [ "${holds[$test]}" = no ]; then
        verdict="fails without it"
    elif ! patch --quiet --fuzz=0 --strip=1 --directory="$copy" <"$patch"; then
        verdict="the patch does not apply"
    else
        if ! (cd "$copy" && $test --quiet --no-run >"$log" 2>&1); then
            verdict="it does not compile"
        elif (cd "$copy" && timeout 900 $test --quiet >"$log" 2>&1); then
            verdict="not found"
        fi
        patch --quiet --fuzz=0 --strip=1 --directory="$copy" --reverse <"$patch"
    fi
    echo "| $1 | $what | \`$test\`: $verdict |"
    [ "$verdict" = found ]
}

check_all() { # with the dependencies that tests have compiled already
    local missed=() name log="$target/check.log"
    for name in "${checks[@]}"; do check "$name" || missed+=("$name"); done
    echo "checks: $((${#checks[@]} - ${#missed[@]})) of ${#checks[@]} bugs found"
    [ ${#missed[@]} -eq 0 ]
}

rm -rf "$copy"
mkdir -p "$copy"
git ls-files --cached --others --exclude-standard -z | xargs -0 cp --parents --target-directory="$copy"
failed=0
[ ${#checks[@]} -eq 0 ] || CARGO_TARGET_DIR="$shared" check_all || failed=1
[ ${#names[@]} -gt 0 ] || exit "$failed"

# What is built from here on is run for seconds: building fast matters more.
export CARGO_TARGET_DIR="$target" CARGO_INCREMENTAL=1
export CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=false
survivors=()
# A bug counts as found only if the same seeds hold without it.
if ! cargo build --release --quiet --manifest-path "$copy/Cargo.toml" -p dunlin-simulation 2>"$target/build.log"; then
    echo "the sources do not compile without a bug: $target/build.log" >&2
    exit 1
fi
for generation in 1 2; do
    if ! out="$(timeout 900 "$target/release/dunlin-simulation" campaign --first "$generation:1" --seeds "$seeds" 2>/dev/null)"; then
        printf 'the sources fail without a bug:\n%s\n' "$out" >&2
        exit 1
    fi
done
echo "without a bug: $seeds seeds of each generation hold"
echo
echo "| bug | what is wrong | first seed that fails |"
echo "|---|---|---|"
for name in "${names[@]}"; do
    patch="$PWD/tests/simulation/mutants/$name.patch"
    what="$(head -n 1 "$patch")"
    if ! patch --quiet --fuzz=0 --strip=1 --directory="$copy" --dry-run <"$patch" >/dev/null; then
        echo "| $name | $what | the patch does not apply |"
        survivors+=("$name")
        continue
    fi
    patch --quiet --fuzz=0 --strip=1 --directory="$copy" <"$patch"
    built=yes
    cargo build --release --quiet --manifest-path "$copy/Cargo.toml" -p dunlin-simulation 2>"$target/build.log" || built=no
    patch --quiet --fuzz=0 --strip=1 --directory="$copy" --reverse <"$patch"
    if [ "$built" = no ]; then
        echo "| $name | $what | it does not compile: $target/build.log |"
        survivors+=("$name")
        continue
    fi
    seed=
    for generation in 1 2; do
        # A bug may also let time stand still; an hour of virtual time takes seconds.
        out="$(timeout 900 "$target/release/dunlin-simulation" campaign --first "$generation:1" --seeds "$seeds" --stop 2>/dev/null || true)"
        seed="$(grep -oE 'seed [0-9]+:[0-9]+ fails' <<<"$out" | grep -oE '[0-9]+:[0-9]+' | sort -t : -k 2n | head -n 1 || true)"
        [ -z "$seed" ] || break
    done
    if [ -z "$seed" ]; then
        survivors+=("$name")
        seed="none of $seeds"
    fi
    echo "| $name | $what | $seed |"
done
echo
echo "mutants: $((${#names[@]} - ${#survivors[@]})) of ${#names[@]} found within $seeds seeds"
if [ ${#survivors[@]} -gt 0 ]; then
    echo "not found: ${survivors[*]}" >&2
    exit 1
fi
exit "$failed"
