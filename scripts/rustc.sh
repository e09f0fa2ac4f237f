#!/usr/bin/env bash
# Stands before rustc for the crates of the workspace (RUSTC_WORKSPACE_WRAPPER in the Makefile). A profile cannot tell a library
# from its tests. Those only drive what the libraries compute: not optimised they take a fifth of the time to compile.
# Bash, since dash drops variables with a hyphen in their name, as CARGO_BIN_EXE_dunlin-daemon.
tests='' development=''
for argument; do
    case $argument in
    --test) tests=yes ;;
    opt-level=1) development=yes ;;
    esac
done
# These look at every octet of large samples while others write the next ones.
case ${CARGO_CRATE_NAME:-} in
loans | shared_memory) tests='' ;;
esac
[ -z "$tests" ] || [ -z "$development" ] || set -- "$@" -C opt-level=0
exec "$@"
