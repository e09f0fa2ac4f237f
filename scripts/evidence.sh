# Rows of docs/evidence.md, written by whoever ran what they show. To be sourced from the root, before anything is built.
#
# EVIDENCE=off writes none. A run is of the commit that was checked out when it began; where files differ from it, or change
# until it is over, nothing is written, and that is said.

evidence_state=dirty
if [ "${EVIDENCE:-}" != off ] && git rev-parse --is-inside-work-tree >/dev/null 2>&1 &&
    [ -z "$(git status --porcelain -- . ':(exclude)docs/evidence.md' ':(exclude)docs/evidence/records.toml')" ]; then
    evidence_state=$(git rev-parse HEAD)
fi
evidence_began=$SECONDS
# With what xtask is built, whatever the script sets for what it runs.
evidence_variables=()
for variable in CARGO_TARGET_DIR RUSTFLAGS; do
    [ -n "${!variable+set}" ] || evidence_variables+=(-u "$variable")
done
for variable in CARGO_TARGET_DIR RUSTFLAGS; do
    [ -z "${!variable+set}" ] || evidence_variables+=("$variable=${!variable}")
done

# evidence_failed NAME STATUS: what ended with that status, unless it was ended by a signal.
evidence_failed() {
    [ "${EVIDENCE:-}" != off ] && [ "$2" -lt 128 ] || return 0
    env "${evidence_variables[@]}" cargo xtask evidence fail "$1" --begin "$evidence_state"
}

# evidence NAME OPTION...: options as `cargo xtask evidence record` has them.
evidence() {
    local name=$1
    shift
    [ "${EVIDENCE:-}" != off ] || return 0
    env "${evidence_variables[@]}" cargo xtask evidence record "$name" --begin "$evidence_state" \
        --seconds $((SECONDS - evidence_began)) "$@"
    evidence_began=$SECONDS
}
