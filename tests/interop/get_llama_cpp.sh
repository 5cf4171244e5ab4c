#!/bin/sh
# Puts the prebuilt libraries of llama.cpp v0.5.0 into DIR (npm: @node-llama-cpp/linux-x64 3.22.1).
#
# usage: get_llama_cpp.sh DIR      exits 77, saying "peer missing", when they cannot be had
set -u
dir=$1
[ -e "$dir/libggml-base.so" ] && exit 0
missing() { echo "peer missing: llama.cpp v0.5.0 ($1)"; exit 77; }
[ "$(uname -m)" = x86_64 ] || missing "prebuilt for x86-64 only"
command -v npm >/dev/null || missing "npm is not installed"
"$(dirname "$0")/npm_package.sh" "$dir" @node-llama-cpp/linux-x64@3.22.1 \
  0d953e1503d5ab4608d8ed5b739132308c81ac05ffeb760d2a7f30e08a9f90e0 >/dev/null 2>&1 || missing "npm cannot fetch it, or not with its hash"
mv "$dir/bins/linux-x64"/* "$dir"
[ -e "$dir/libggml-base.so" ] || missing "the package has another layout"
