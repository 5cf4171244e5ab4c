#!/bin/sh
# Builds the quantizers for 64-bit Arm and runs their identity tests under qemu-user.
#
#   tests/aarch64.sh [BUILD_FOLDER]        default build-aarch64
#   tests/aarch64.sh --compile             only compiles their kernels, unoptimized; needs no qemu
#   CKPT_AARCH64_FILTER=...                GoogleTest filter, default all tests of vector kernels
#   CKPT_AARCH64_COUNT=1                   also counts instructions per weight
#
# Exit codes: 0 all equal, 1 something differs or does not build, 77 a tool is missing.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$root/build-aarch64}
tools="aarch64-linux-gnu-g++ cmake" flags= target=all
if [ "$build" = --compile ]; then
  build=$root/build/aarch64 flags="-DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O0" target=kernels
else
  tools="$tools qemu-aarch64-static"
fi

missing=
for tool in $tools; do
  command -v "$tool" > /dev/null || missing="$missing $tool"
done
for path in /usr/src/googletest /usr/include/hwy /usr/include/fmt /usr/include/tl; do
  [ -e "$path" ] || missing="$missing $path"
done
if [ -n "$missing" ]; then
  echo "missing:$missing"
  echo "Try: apt-get install g++-aarch64-linux-gnu qemu-user-static libgtest-dev libhwy-dev" \
       "libfmt-dev libexpected-dev nlohmann-json3-dev"
  exit 77
fi

mkdir -p "$build"
# shellcheck disable=SC2086  # one word a flag
cmake -S "$root/tests/aarch64" -B "$build" -DCMAKE_TOOLCHAIN_FILE="$root/cmake/aarch64.cmake" $flags \
  > "$build/output.log" 2>&1 || { cat "$build/output.log"; exit 1; }
cmake --build "$build" --target "$target" -j2 >> "$build/output.log" 2>&1 || { tail -40 "$build/output.log"; exit 1; }
[ "$target" = all ] || exit 0
qemu-aarch64-static "$build/test_simd" --gtest_brief=1 \
  --gtest_filter="${CKPT_AARCH64_FILTER:-*}" || exit 1
if [ "${CKPT_AARCH64_COUNT:-0}" = 1 ]; then
  python3 "$root/tests/aarch64/count_instructions.py" qemu-aarch64-static "$build/encode_once"
fi
