#!/usr/bin/env bash
# Debian 13 with Fast DDS 3 and a compiler, for peers that Debian 12 has only as 2.9: a folder of its own (600 MB, kept between
# runs). Making it needs root, running what is built in it does not.
#   debian13.sh make             makes it, once, and prints its path
#   debian13.sh build OUT FILE...  compiles C++ sources (the first is the program) in it; OUT runs from anywhere
# DEBIAN13 is the folder, DEBIAN_MIRROR where packages come from.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
debian=${DEBIAN13:-$root/.cache/debian13}
sudo=""
[ "$(id -u)" = 0 ] || sudo=sudo

make_it() {
    [ ! -e "$debian/complete" ] || return 0
    echo "debian13: Debian 13 with Fast DDS 3, once: some minutes" >&2
    $sudo rm -rf "$debian"
    mkdir -p "$(dirname "$debian")"
    $sudo debootstrap --variant=minbase --include=g++,libfastdds-dev,libfastcdr-dev,zlib1g-dev \
        trixie "$debian" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$debian.log" || {
        echo "debian13: debootstrap failed, see $debian.log and $debian/debootstrap/debootstrap.log" >&2
        exit 1
    }
    $sudo mkdir "$debian/peer"
    $sudo chown "$(id -u)" "$debian/peer"
    $sudo touch "$debian/complete"
}

build() { # build OUT FILE...
    local out=$1 name version loader
    shift
    make_it
    name=$(basename "$out")
    version=$(dpkg-query --admindir="$debian/var/lib/dpkg" -W -f '${Version}' libfastdds-dev)
    echo "debian13: $name with Fast DDS $version" >&2
    rm -rf "$debian/peer/$name.d"
    mkdir "$debian/peer/$name.d"
    cp "$@" "$debian/peer/$name.d/"
    $sudo chroot "$debian" g++ -std=c++17 -O2 -DNDEBUG "-DFASTDDS_VERSION=\"${version%%+*}\"" -o "/peer/$name" \
        "/peer/$name.d/$(basename "$1")" -lfastdds -lfastcdr -lz
    loader=$(find "$debian"/usr/lib/*-linux-gnu -maxdepth 1 -name 'ld-linux*' | head -n 1)
    mkdir -p "$(dirname "$out")"
    printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' "$loader" "$(dirname "$loader")" "$debian/peer/$name" \
        >"$out.new"
    chmod +x "$out.new"
    mv "$out.new" "$out"
}

case ${1:-} in
make) make_it && echo "$debian" ;;
build) build "${@:2}" ;;
*)
    sed -n '2,6s/^# //p' "$0" >&2
    exit 2
    ;;
esac
