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
mkdir -p "$dir" && cd "$dir" || exit 1
npm pack --silent @node-llama-cpp/linux-x64@3.22.1 >/dev/null 2>&1 || missing "npm cannot fetch it"
tar xzf node-llama-cpp-linux-x64-3.22.1.tgz --strip-components=3 package/bins/linux-x64
rm -f node-llama-cpp-linux-x64-3.22.1.tgz
[ -e libggml-base.so ] || missing "the package has another layout"
