#!/bin/sh
# Builds and runs the tests, and a second time under the address and undefined-behavior sanitizers what
# reads and computes bytes: core, formats, quantizers, publish, and the program with them, on the planning
# code of the plain build.
#
# usage: ./test.sh            what every change must pass
#        ./test.sh quick      the plain build alone
#        ./test.sh full       all of it under those sanitizers, the thread sanitizer, the long identity runs,
#                             aarch64 under emulation, the tests against other programs, what profiles of
#                             servers were read from, and all that is released, for both processors and with
#                             kernels for all of their vectors
set -eu
cd "$(dirname "$0")"
cmake/install_dependencies.sh python3-pytest python3-venv   # for the tests of the wheel
mode=${1:-}
build() { cmake --preset "$1" && cmake --build --preset "$1"; }
build dev
if [ "$mode" = quick ]; then
  exec ctest --preset dev
elif [ "$mode" != full ]; then
  # Tests wait for disks and servers: what follows is compiled in what they leave of the processors.
  (cmake --preset asan && exec nice ninja -C build/asan) >build/asan.log 2>&1 & building=$!
  trap 'kill $building 2>/dev/null || true' EXIT
  ctest --preset dev
  wait $building || { tail -n 40 build/asan.log; exit 1; }
  trap - EXIT
  ctest --preset asan
  exec python3 tests/interop/summary.py build/dev
fi
# 77: a peer or tool that cannot be had here, which was said
tests/interop/get_peers.sh || [ $? -eq 77 ]
. build/peers/environment
ctest --preset dev
cmake --workflow --preset asan-full
cmake --preset tsan && cmake --build --preset tsan
ctest --preset tsan -R 'Execute|Determinism|Failure|Also|Resume|Share|PlanFile|Archive|SimdDispatch'
CKPT_LONG=1 ctest --preset full -L 'long|interop'
peers=0
tests/interop/run.sh build/dev/ckpt || peers=$?
[ $peers -eq 0 ] || [ $peers -eq 77 ]
cmake/install_dependencies.sh g++-aarch64-linux-gnu qemu-user-static lintian mandoc
tests/aarch64.sh || [ $? -eq 77 ]
data/profiles/refresh --check
tests/packaging/released.sh build/dev/ckpt
python3 tests/interop/summary.py build/dev $peers
