#!/usr/bin/env bash
# Everything in network namespaces, one after the other.
set -euo pipefail
cd "$(dirname "$0")"
./run.sh
./mobility.sh
FAMILY=6 ./mobility.sh
./tcp.sh
./doctor.sh
./bench.sh
./architectures.sh
./daemon.sh
