#!/bin/sh
# Builds the quantizers for 64-bit Arm and runs their identity tests under qemu-user.
#
#   tests/aarch64.sh [BUILD_FOLDER]        default build-aarch64
#   CKPT_AARCH64_FILTER=...                GoogleTest filter, default all tests of vector kernels
#   CKPT_AARCH64_COUNT=1                   also counts instructions per weight
#
# Exit codes: 0 all equal, 1 something differs or does not build, 77 a tool is missing.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$root/build-aarch64}

missing=
for tool in aarch64-linux-gnu-g++ qemu-aarch64-static cmake; do
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
cmake -S "$root/tests/aarch64" -B "$build" -DCMAKE_TOOLCHAIN_FILE="$root/cmake/aarch64.cmake" \
  > "$build/output.log" 2>&1 || { cat "$build/output.log"; exit 1; }
cmake --build "$build" -j2 >> "$build/output.log" 2>&1 || { tail -40 "$build/output.log"; exit 1; }
qemu-aarch64-static "$build/test_simd" --gtest_brief=1 \
  --gtest_filter="${CKPT_AARCH64_FILTER:-*}" || exit 1
if [ "${CKPT_AARCH64_COUNT:-0}" = 1 ]; then
  python3 "$root/tests/aarch64/count_instructions.py" qemu-aarch64-static "$build/encode_once"
fi
