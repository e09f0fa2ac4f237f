#!/usr/bin/env bash
# Installs what a make target needs and says what it installs. Usage: scripts/setup.sh GROUP...
# Groups: build test demo browser interop fastdds3 bench counts gstreamer cross x86-32 pictures stores. Debian 12; root or sudo for apt.
set -euo pipefail
cd "$(dirname "$0")/.."

apt_need=()
need() { # need PACKAGE COMMAND-OR-FILE
    command -v "$2" >/dev/null 2>&1 || [ -e "$2" ] || apt_need+=("$1")
}
need_python() { # need_python PACKAGE MODULE
    need python3 python3
    python3 -c "import $2" >/dev/null 2>&1 || apt_need+=("$1")
}

for group in "$@"; do
    case "$group" in
    build)
        need gcc gcc
        need g++ g++
        need libc6-dev /usr/include/stdio.h
        need pkg-config pkg-config
        ;;
    demo)
        need_python python3-pip pip
        ;;
    test)
        need python3 python3
        need iproute2 /usr/sbin/tc
        need ethtool /usr/sbin/ethtool
        need nftables /usr/sbin/nft
        need tshark tshark
        need procps ps
        ;;
    browser)
        need chromium /usr/bin/chromium
        need nodejs node
        need npm npm
        ;;
    interop)
        need_python python3-venv ensurepip
        need libfastrtps-dev /usr/include/fastdds/dds/domain/DomainParticipant.hpp
        need libfastcdr-dev /usr/include/fastcdr/Cdr.h
        need zlib1g-dev /usr/include/zlib.h
        need cmake cmake
        ;;
    bench)
        need_python python3-pip pip
        need libfastrtps-dev /usr/include/fastdds/dds/domain/DomainParticipant.hpp
        need libfastcdr-dev /usr/include/fastcdr/Cdr.h
        need cmake cmake
        need iproute2 /usr/sbin/tc
        need ethtool /usr/sbin/ethtool
        need nftables /usr/sbin/nft
        need strace strace
        ;;
    stores)
        need postgresql /usr/lib/postgresql
        need nats-server /usr/sbin/nats-server
        need_python python3-venv ensurepip
        ;;
    pictures)
        need tmux tmux
        ;;
    counts)
        need valgrind valgrind
        need strace strace
        ;;
    gstreamer)
        need libgstreamer1.0-dev /usr/include/gstreamer-1.0/gst/gst.h
        need libgstreamer-plugins-base1.0-dev /usr/include/gstreamer-1.0/gst/app/app.h
        apt_need+=(gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-plugins-bad gstreamer1.0-plugins-ugly)
        ;;
    fastdds3)
        need debootstrap /usr/sbin/debootstrap
        ;;
    x86-32)
        [ "$(uname -m)" = x86_64 ] || { echo "cannot run: $group needs an x86-64 processor" >&2; exit 1; }
        need gcc-multilib /usr/lib32/libc.so
        ;;
    cross)
        need gcc-arm-linux-gnueabihf arm-linux-gnueabihf-gcc
        need g++-arm-linux-gnueabihf arm-linux-gnueabihf-g++
        need qemu-user-static qemu-arm-static
        ;;
    *)
        echo "setup: unknown group '$group'" >&2
        exit 2
        ;;
    esac
done

command -v cargo >/dev/null 2>&1 || {
    echo "setup: Rust is missing. Install rustup (https://rustup.rs), then run this again." >&2
    exit 1
}

if [ "${#apt_need[@]}" -gt 0 ]; then
    sudo=""
    if [ "$(id -u)" != 0 ]; then
        sudo="sudo"
        # Nobody can be asked for a password without a terminal.
        [ -t 0 ] || sudo="sudo -n"
        command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; } || sudo=none
    fi
    if [ "$sudo" = none ] || ! command -v apt-get >/dev/null; then
        echo "cannot run: $* need packages, and this user cannot install them: sudo apt-get install ${apt_need[*]}" >&2
        exit 1
    fi
    echo "setup: installing ${apt_need[*]}"
    export DEBIAN_FRONTEND=noninteractive
    lock=(-o DPkg::Lock::Timeout=600)
    $sudo apt-get "${lock[@]}" update -qq
    # tshark asks whether users may capture; capturing here needs root anyway.
    $sudo apt-get "${lock[@]}" install -y -qq --no-install-recommends "${apt_need[@]}" >/dev/null
fi

rust_targets=()
for group in "$@"; do
    case "$group" in
    cross) rust_targets+=(thumbv7em-none-eabihf armv7-unknown-linux-gnueabihf) ;;
    x86-32) rust_targets+=(i686-unknown-linux-gnu) ;;
    test) command -v cargo-clippy >/dev/null && command -v rustfmt >/dev/null || rustup component add clippy rustfmt ;;
    esac
done
for target in "${rust_targets[@]}"; do
    rustup target list --installed | grep -qx "$target" || rustup target add "$target"
done
