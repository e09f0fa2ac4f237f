#!/usr/bin/env bash
# Fast DDS 3 as a peer. Debian 12 has only 2.9, so the libraries come from Debian 13's packages, into a folder of their own
# (.cache/debian13, 600 MB, kept between runs); making it needs root, running the peer does not.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
peers=${INTEROP_PEERS:-$root/.cache/peers}
debian=${INTEROP_DEBIAN13:-$root/.cache/debian13}
sudo=""
[ "$(id -u)" = 0 ] || sudo=sudo

if [ ! -e "$debian/complete" ]; then
    echo "interop: Debian 13 with Fast DDS 3, once: some minutes"
    $sudo rm -rf "$debian"
    $sudo debootstrap --variant=minbase --include=g++,libfastdds-dev,libfastcdr-dev,zlib1g-dev \
        trixie "$debian" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$debian.log" || {
        echo "interop: debootstrap failed, see $debian.log and $debian/debootstrap/debootstrap.log" >&2
        exit 1
    }
    $sudo mkdir "$debian/peer"
    $sudo chown "$(id -u)" "$debian/peer"
    $sudo touch "$debian/complete"
fi
echo "interop: Fast DDS $(dpkg-query --admindir="$debian/var/lib/dpkg" -W -f '${Version}' libfastdds-dev)"
cp "$here"/peers/fastdds/*.[ch]pp "$debian/peer/"
$sudo chroot "$debian" g++ -std=c++17 -O1 -o /peer/fastdds_peer /peer/peer.cpp -lfastdds -lfastcdr -lz
mkdir -p "$peers/fastdds3"
loader=$(find "$debian"/usr/lib/*-linux-gnu -maxdepth 1 -name 'ld-linux*' | head -n 1)
libraries=$(dirname "$loader")
printf '#!/bin/sh\nexec "%s" --library-path "%s" "%s" "$@"\n' "$loader" "$libraries" "$debian/peer/fastdds_peer" \
    >"$peers/fastdds3/peer"
chmod +x "$peers/fastdds3/peer"
