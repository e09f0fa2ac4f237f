#!/usr/bin/env bash
# Makes docs/pictures/ with the tool itself, and puts the text of it into docs/cli.md, behind the lines `<!-- picture: NAME -->`.
# A demo domain runs on the loopback interface meanwhile. What differs from the last run in numbers or in order alone is left.
# `pictures.sh check` changes nothing and fails if the tool prints something else than what is kept.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/programs.sh dunlin
PATH=$(cd "${CARGO_TARGET_DIR:-target}/debug" && pwd):$PATH
export DUNLIN_NETWORK_INTERFACES=lo DUNLIN_SHARED_MEMORY_ENABLED=false DUNLIN_DOMAIN_ID=${DOMAIN:-90}
pictures=docs/pictures
mode=${1:-make}
[ "$mode" = make ] || [ "$mode" = check ] || { echo "pictures: '$mode' is neither nothing nor check" >&2; exit 2; }
work=$(mktemp -d)
session=(tmux -L "dunlin-pictures-$$" -f /dev/null)
started=()
differs=0

finish() {
    "${session[@]}" kill-server 2>/dev/null || true
    [ ${#started[@]} -eq 0 ] || kill "${started[@]}" 2>/dev/null || true
    wait
    rm -rf "$work"
}
trap finish EXIT

start() {
    "$@" >/dev/null 2>"$work/errors" &
    started+=($!)
}

# Waits until a command prints what it must, at most 30 s.
until_told() { # until_told PATTERN COMMAND...
    local pattern=$1 deadline=$((SECONDS + 30))
    shift
    until "$@" 2>/dev/null | grep -Eq "$pattern"; do
        [ $SECONDS -lt $deadline ] || { echo "pictures: '$*' does not tell $pattern" >&2; exit 1; }
    done
}

# Numbers, host and user masked, lines sorted: what is left of a picture that must not change from run to run.
form() {
    sed -E 's/^on host .*/on host/; s/(dunlin [0-9]+) +[^ ]+/\1/; s/[0-9a-f]{8,}//g; s/[0-9]+(\.[0-9]+)?k?//g; s/dunlin sh[^ ]*…[^ ]* ?/dunlin shapes /g; s/[ -]+/ /g; s/ </</g' "$1" | sort
}

keep() { # keep NAME: unless it is what is there already
    if [ "$mode" = check ]; then
        diff -u --label "$pictures/$1" --label "what the tool prints" <(form "$pictures/$1") <(form "$work/$1") || differs=1
    elif [ -e "$pictures/$1" ] && cmp -s <(form "$work/$1") <(form "$pictures/$1"); then
        echo "pictures: $1 is as it was"
    else
        cp "$work/$1" "$pictures/$1"
        echo "pictures: $1 is new"
    fi
}

show() { # show COMMAND...: the command and what it prints
    echo "\$ $*"
    "$@"
}

cat >"$work/weather.idl" <<'IDL'
module weather {
    enum Sky { CLEAR, CLOUDS, RAIN };
    @appendable struct Gust { double speed; int16 bearing; };
    @appendable struct Report { @key string station; double temperature; Sky sky; sequence<Gust> gusts; @optional string remark; };
};
IDL
report='{station: Helgoland, temperature: 8.5, sky: RAIN, gusts: [{speed: 21.5, bearing: 290}, {speed: 18.0, bearing: 300}]}'
start dunlin shapes --web 0 -p Square:BLUE -p Circle:RED -s Triangle
start dunlin shapes --web 0 -p Triangle:GREEN -s Square -s Circle
start dunlin shapes --web 0 --exclusive 1 -s Circle
start dunlin pub /weather --idl "$work/weather.idl" --type weather::Report --wait 0 --rate 10 --count 0 "$report"

until_told '4 participants, 4 topics' dunlin ls --wait 1
until_told 'Circle .* 1 of 2 match' dunlin ls --wait 2
{ show dunlin ls; echo; show dunlin ls --long Circle | sed '2,10d'; } >"$work/ls.txt"
{ show dunlin echo /weather --count 1; show dunlin echo /weather --count 2 -f line --fields station,temperature,gusts[0].speed; } >"$work/echo.txt"
dunlin graph -o "$work/graph.svg"

# A size that fits a page; `top` itself takes any.
"${session[@]}" new-session -d -x 100 -y 13 "dunlin top --interval 2"
until_told 'topic /weather .* (9|10)\.[0-9] ' "${session[@]}" capture-pane -p
"${session[@]}" capture-pane -p | sed 's/ *$//' >"$work/top.txt"
"${session[@]}" send-keys Tab Tab
until_told '\[Endpoints\]' "${session[@]}" capture-pane -p
"${session[@]}" capture-pane -p | sed 's/ *$//' >"$work/endpoints.txt"

for name in ls.txt echo.txt top.txt endpoints.txt graph.svg; do keep "$name"; done
awk -v folder="$pictures" '
    skipping { if (/^```$/ && ++fences == 2) skipping = 0; else if (/^```text$/) fences = 1; next }
    { print }
    /^<!-- picture: [a-z]+ -->$/ {
        print "```text"
        while ((getline line < (folder "/" $3 ".txt")) > 0) print line
        print "```"
        skipping = 1; fences = 0
    }' docs/cli.md >"$work/cli.md"
if [ "$mode" = check ]; then
    diff -u docs/cli.md "$work/cli.md" || differs=1
    [ $differs = 0 ] || { echo "pictures: docs show something else than the tool: run \`make pictures\`" >&2; exit 1; }
    echo "pictures: docs show what the tool prints"
else
    cp "$work/cli.md" docs/cli.md
fi
