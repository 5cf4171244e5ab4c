#!/bin/sh
# Unpacks a package of npm whose file has that SHA-256.
#
# usage: npm_package.sh FOLDER NAME@VERSION SHA256
set -eu
mkdir -p "$1" && cd "$1"
file=$(npm pack --silent "$2")
echo "$3  $file" | sha256sum --quiet -c || { rm -f "$file"; exit 1; }
tar xzf "$file" --strip-components=1
rm -f "$file"
