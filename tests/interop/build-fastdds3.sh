#!/usr/bin/env bash
# Builds the peers of Fast DDS 3 with types that its own code generator makes, into .cache/peers (kept between runs).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
peers=${INTEROP_PEERS:-$root/.cache/peers}/fastdds3
idl=$root/protocol/xtypes/tests/cyclone
mkdir -p "$peers/idl"

# fastddsgen 4.0.4 ends at every @try_construct, whatever its value is. It takes `i` for `I` unless told otherwise (-cs).
sed '/TryConstruct/d' "$idl/final.idl" >"$peers/idl/final.idl"
touch -r "$idl/final.idl" "$peers/idl/final.idl"

generated() { # generated NAME PROGRAM IDL WORD...
    FASTDDSGEN="-cs ${*:4}" "$root/scripts/debian13.sh" build "$peers/$1" "$here/peers/fastdds3/$2" "$here/peers/fastdds3/fastdds3.hpp" "$3"
}
generated types-final types.cpp "$peers/idl/final.idl" -default_extensibility final
generated types-appendable types.cpp "$idl/appendable.idl"
generated reports reports.cpp "$here/peers/cyclone/report.idl"
generated shapes shapes.cpp "$here/peers/fastdds3/ShapeType.idl"
