#!/bin/sh
# Builds ckpt and runs its main job: a BF16 Hugging Face folder becomes a Q4_K_M GGUF, which is then
# shown and verified.
#
# usage: ./try.sh [FOLDER [OUT.gguf]]     default: the small model in testdata/
set -eu
here=$(cd "$(dirname "$0")" && pwd)
"$here/cmake/install_dependencies.sh"
(cd "$here" && cmake --preset release >/dev/null && cmake --build --preset release)
ckpt=$here/build/release/ckpt
folder=${1:-$here/testdata/qwen35-micro}
out=${2:-$(basename "$(cd "$folder" && pwd)")-q4_k_m.gguf}
set -x
"$ckpt" convert "$folder" "$out" --to q4_k_m --force
"$ckpt" show "$out"
"$ckpt" verify "$out"
