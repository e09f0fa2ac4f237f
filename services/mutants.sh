#!/usr/bin/env bash
# Applies each bug of services/SERVICE/mutants/ to a copy of the sources, and runs the tests of the service, which must fail.
# Those of the hub have to be found by its tests, by those of discovery or by the random scenarios of both architectures.
# Usage: services/mutants.sh router|durability|hub [NAME...]; SEEDS (router 60, durability 12, hub what each test says) and CRASHES=200 are
# how many scenarios and crashes a bug may survive.
set -euo pipefail
cd "$(dirname "$0")/.."
service="${1:?router, durability or hub}"
shift
case "$service" in
router) tests=(-p dunlin-router --test sim) seeds=60 ;;
durability) tests=(-p dunlin-durability --test sim --test store) seeds=12 ;;
hub)
    tests=(-p dunlin-hub -p dunlin-discovery -p dunlin-simulation --lib --test sim --test federated --test bands --test direct --test architectures)
    seeds=
    ;;
*)
    echo "no such service with mutants: $service; router, durability or hub" >&2
    exit 2
    ;;
esac
target="${CARGO_TARGET_DIR:-$PWD/target}/$service-mutants"
copy="$target/sources"
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    for patch in "services/$service/mutants"/*.patch; do names+=("$(basename "$patch" .patch)"); done
fi
export CARGO_TARGET_DIR="$target" CRASHES="${CRASHES:-200}"
seeds="${SEEDS:-$seeds}"
[ -z "$seeds" ] || export SEEDS="$seeds"
rm -rf "$copy"
mkdir -p "$copy"
git ls-files --cached --others --exclude-standard -z | xargs -0 cp --parents --target-directory="$copy"
tests() {
    timeout 900 cargo test --quiet --no-fail-fast --manifest-path "$copy/Cargo.toml" "${tests[@]}" "$@" >"$target/run.log" 2>&1
}
if ! { tests --no-run && tests; }; then
    tail -n 20 "$target/run.log" >&2
    echo "the scenarios fail without a bug" >&2
    exit 1
fi
survivors=()
echo "| bug | what is wrong | what finds it |"
echo "|---|---|---|"
for name in "${names[@]}"; do
    patch="$PWD/services/$service/mutants/$name.patch"
    what="$(head -n 1 "$patch")"
    patch --quiet --fuzz=0 --strip=1 --directory="$copy" <"$patch"
    if ! tests --no-run; then
        survivors+=("$name")
        echo "| $name | $what | it does not compile |"
    elif tests; then
        survivors+=("$name")
        echo "| $name | $what | nothing |"
    else
        echo "| $name | $what | $(grep -oE '^    [a-z_:]+$' "$target/run.log" | sort -u | tr -d ' ' | paste -sd ' ') |"
    fi
    patch --quiet --fuzz=0 --strip=1 --directory="$copy" --reverse <"$patch"
done
if [ ${#survivors[@]} -gt 0 ]; then
    echo "not found: ${survivors[*]}" >&2
    exit 1
fi
