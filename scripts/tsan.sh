#!/usr/bin/env bash
# ThreadSanitizer on everything that runs real threads: the engine shared by threads, transports and the driver over
# loopback, the façade from write to take. The standard library is built with it too, so that its locks are seen.
# ROUNDS=5 repeats the tests, for schedules that one run does not meet.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v rustup >/dev/null || { echo "cannot run: tsan needs rustup and its nightly toolchain" >&2; exit 1; }
rustup toolchain list | grep -q '^nightly' || rustup toolchain install nightly --profile minimal
rustup component list --toolchain nightly --installed | grep -q '^rust-src' ||
    rustup component add rust-src --toolchain nightly

host=$(rustc +nightly -vV | sed -n 's/^host: //p')
crates=(sync buf engine transport udp shm driver)
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/tsan
# System calls go through the C library, where it sees which addresses are mapped anew.
export RUSTFLAGS="-Zsanitizer=thread --cfg=rustix_use_libc ${RUSTFLAGS:-}"
# A report ends the test program with a failure.
export TSAN_OPTIONS="halt_on_error=1 ${TSAN_OPTIONS:-}"
for round in $(seq "${ROUNDS:-1}"); do
    since=$SECONDS
    nice cargo +nightly test --quiet -Zbuild-std --target "$host" "${crates[@]/#/--package=dunlin-}" --package=dunlin --tests
    printf 'tsan: round %d clean in %d s\n' "$round" $((SECONDS - since))
done
