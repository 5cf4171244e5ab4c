#!/bin/sh
# The sources of each folder in one compilation: release builds join more files than the builds of
# tests do, and names in nameless namespaces must differ in all of them.
#
# usage: joined_sources.sh COMPILER
set -u
cd "$(dirname "$0")/.."
status=0
for folder in core formats models publish checks transforms plan tools tests/checks tests/core tests/formats tests/pipeline tests/publish tests/quantizers tests/transforms; do
  find "$folder" -name '*.cc' ! -name main.cc ! -name contraction_probe.cc | sort | sed 's/.*/#include "&"/' |
    "$1" -std=c++20 -I. -DFMT_SHARED -DCKPT_VERSION='"x"' -DCKPT_TESTDATA='"x"' -DCKPT_BINARY='"x"' -fsyntax-only -x c++ - || status=1
done
exit $status
