#!/bin/sh
# Builds and runs the tests, plain and under the address and undefined-behaviour sanitizers.
#
# usage: ./test.sh            what every change must pass
#        ./test.sh quick      the plain build alone
#        ./test.sh full       also the thread sanitizer, the long identity runs, aarch64 under
#                             emulation and the tests against other programs
set -eu
cd "$(dirname "$0")"
cmake/install_dependencies.sh
mode=${1:-}
cmake --workflow --preset dev
[ "$mode" = quick ] && exit 0
cmake --workflow --preset asan
[ "$mode" = full ] || exit 0
cmake --preset tsan && cmake --build --preset tsan
ctest --preset tsan -R 'Engine|Execute|Parallel|FileWriter|Pipeline|Determinism'
tests/interop/run.sh
CKPT_LONG=1 ctest --preset full -L 'long|interop'
tests/aarch64.sh
