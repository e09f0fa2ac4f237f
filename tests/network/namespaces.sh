# What the tests of this folder have in common: network namespaces, or a sentence why there are none. To be sourced.

PATH=$PATH:/usr/sbin:/sbin
near=dunlin-near-$$
far=dunlin-far-$$

refuse() {
    cat >&2 <<TEXT
cannot run: network: $1
The kernel must have network namespaces, veth and the tbf queueing discipline, and this process must be allowed to use
them: as root on the machine itself, or in a container started with --cap-add NET_ADMIN --cap-add SYS_ADMIN.
TEXT
    exit 1
}

# Namespaces need root, or a user namespace in which the script that calls this is root.
become_root() {
    [ "$(id -u)" != 0 ] || return 0
    if ! unshare --user --map-root-user --mount --net true 2>/dev/null; then
        cat >&2 <<'TEXT'
cannot run: network: this test makes network namespaces and is allowed to neither as root nor in a user namespace. Either
  - run it as root:                  sudo -E env "PATH=$PATH" make network
  - or allow user namespaces:        sudo sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000
  - in a container, start it with    --cap-add NET_ADMIN --cap-add SYS_ADMIN   (docker, podman)
TEXT
        exit 1
    fi
    exec unshare --user --map-root-user --mount --net -- "$(realpath "$0")"
}

# The real root's /run/netns cannot be written from a user namespace; a private one can.
own_run() {
    grep -q '^ *0 *0 *4294967295$' /proc/self/uid_map || mount -t tmpfs tmpfs /run || refuse "cannot mount a private /run"
}

make_namespaces() {
    own_run
    local namespace
    for namespace in "$near" "$far"; do
        ip netns add "$namespace" || refuse "cannot make a network namespace"
        ip netns exec "$namespace" ip link set lo up
    done
}

delete_namespaces() {
    ip netns del "$near" 2>/dev/null || true
    ip netns del "$far" 2>/dev/null || true
}

# Builds frames_publisher and frames_subscriber, unless PROGRAMS has them. What is measured is what is shipped, but with PROFILE=dev.
build_programs() {
    [ -z "${PROGRAMS:-}" ] || return 0
    local target=${CARGO_TARGET_DIR:-target}
    if [ "${PROFILE:-dist}" = dev ]; then
        scripts/programs.sh frames_publisher frames_subscriber
        PROGRAMS=$target/debug/examples
    else
        cargo build --quiet --profile dist -p dunlin --example frames_publisher --example frames_subscriber
        PROGRAMS=$target/dist/examples
    fi
}

# value FILE NAME: the number that a program printed.
value() { awk -v name="$2" '$1 == name { print $2 }' "$1"; }
