#!/bin/bash
# Prints the share of lines that the seeds, the kept crashes and a corpus reach, by source file.
#
# usage: coverage.sh BUILD CORPUS [TARGET...]
#   BUILD    a build folder of its own, made when it is not there (clang, no optimization)
#   CORPUS   a folder TARGET/ for each target; need not be there
# The fuzzers' own instrumentation counts the sanitizers' checks as code, so it would say half.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
build=$(cd "$1" && pwd)
corpus=$2
shift 2
if [ ! -f "$build/build.ninja" ]; then
  flags="-O0 -fprofile-instr-generate -fcoverage-mapping"
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=clang++ \
    -DCMAKE_CXX_FLAGS_RELEASE="$flags" ${CMAKE_LAUNCHER:+-DCMAKE_CXX_COMPILER_LAUNCHER=$CMAKE_LAUNCHER} >/dev/null
fi
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=($(cd "$root/fuzz/seeds" && ls))
ninja -C "$build" ${JOBS:+-j$JOBS} "${targets[@]/#/replay_}" | tail -1
objects=()
profiles=()
for target in "${targets[@]}"; do
  LLVM_PROFILE_FILE="$build/$target.profraw" "$build/fuzz/replay_$target" "$root/fuzz/seeds/$target" \
    "$root/testdata/crashes/$target" "$corpus/$target" >/dev/null
  objects+=(-object "$build/fuzz/replay_$target")
  profiles+=("$build/$target.profraw")
done
llvm-profdata-14 merge -o "$build/all.profdata" "${profiles[@]}"
folders=()
for folder in core models formats transforms checks publish plan tools; do folders+=("$root/$folder"); done
llvm-cov-14 report "$build/fuzz/replay_${targets[0]}" "${objects[@]}" \
  -instr-profile "$build/all.profdata" "${folders[@]}" |
  awk '/\.(cc|h) |TOTAL/ {printf "%-44s %6d lines %7s\n", $1, $8, $10}'
