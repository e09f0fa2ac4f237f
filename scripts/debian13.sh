#!/usr/bin/env bash
# Debian 13 with Fast DDS 3, its code generator and a compiler, for peers that Debian 12 has only as 2.9: a folder of its own
# (1.1 GB, kept between runs). Making it needs root, running what is built in it does not.
#   debian13.sh make             makes it, once, and prints its path
#   debian13.sh build OUT FILE...  compiles C++ sources (the first is the program) in it, if one is newer; OUT runs from anywhere.
#                                Of a file in IDL fastddsgen makes code first, with the words of FASTDDSGEN; `types.inc` includes
#                                it, and its EVERY_TYPE is `TYPE(name, class of its TypeSupport)` of each type
# DEBIAN13 is the folder, DEBIAN_MIRROR where packages come from.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
debian=${DEBIAN13:-$root/.cache/debian13}
sudo=""
[ "$(id -u)" = 0 ] || sudo=sudo

# Runs a command in it. Java wants /proc, which nobody else sees.
inside() {
    # shellcheck disable=SC2016 # the words are those of the inner shell
    $sudo unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$debian" "$@"
}

make_it() {
    [ ! -e "$debian/complete" ] || {
        generator
        return 0
    }
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
    generator
    $sudo touch "$debian/complete"
}

# The code generator, also in a folder that was made before it belonged to it.
generator() {
    [ ! -e "$debian/generator" ] || return 0
    echo "debian13: fastddsgen" >&2
    inside sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends \
        openjdk-21-jre-headless fastddsgen' >>"$debian.log" 2>&1 || {
        echo "debian13: fastddsgen was not installed, see $debian.log" >&2
        exit 1
    }
    $sudo touch "$debian/generator"
}

# Code for a file in IDL in the folder of sources.
generate() { # generate FOLDER FILE
    local stem
    stem=$(basename "$2" .idl)
    # shellcheck disable=SC2086 # words
    inside sh -c 'cd "$0" && exec fastddsgen -replace "$@"' "$1" ${FASTDDSGEN:-} "$stem.idl" >"$debian/$1/$stem.log" 2>&1 || true
    [ -s "$debian/$1/${stem}PubSubTypes.cxx" ] || {
        echo "debian13: fastddsgen failed, see $debian/$1/$stem.log" >&2
        exit 1
    }
    {
        printf '#include "%sPubSubTypes.hpp"\n' "$stem"
        echo '#define EVERY_TYPE \'
        sed -n 's/.*set_name("\([^"]*\)").*/    TYPE("\1", ::\1PubSubType) \\/p' "$debian/$1/${stem}PubSubTypes.cxx"
        echo
    } | $sudo tee "$debian/$1/types.inc" >/dev/null
}

build() { # build OUT FILE...
    local out=$1 name version loader file optimize
    shift
    make_it
    name=$(basename "$out")
    [ ! -e "$out" ] || [ ! -x "$debian/peer/$name" ] || [ -n "$(find "$@" "$0" -newer "$out")" ] || return 0
    version=$(dpkg-query --admindir="$debian/var/lib/dpkg" -W -f '${Version}' libfastdds-dev)
    echo "debian13: $name with Fast DDS $version" >&2
    rm -rf "$debian/peer/$name.d"
    mkdir "$debian/peer/$name.d"
    cp "$@" "$debian/peer/$name.d/"
    optimize=-O2
    for file in "$@"; do
        [ "${file%.idl}" = "$file" ] || optimize=-O1 # much code, of which little is used
        [ "${file%.idl}" = "$file" ] || generate "/peer/$name.d" "$file"
    done
    # shellcheck disable=SC2016 # the words are those of the inner shell
    $sudo chroot "$debian" sh -c 'cd "$0" && exec g++ -std=c++17 "$1" -DNDEBUG "$2" -o "$3" "$4" $(ls *.cxx 2>/dev/null) -lfastdds -lfastcdr -lz' \
        "/peer/$name.d" $optimize "-DFASTDDS_VERSION=\"${version%%+*}\"" "/peer/$name" "$(basename "$1")"
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
    sed -n '2,8s/^# //p' "$0" >&2
    exit 2
    ;;
esac
