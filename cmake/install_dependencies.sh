#!/bin/sh
# Installs the Debian or Ubuntu packages that building and testing need; does nothing when they are
# there. Any argument adds a package (clang for the fuzz targets, say).
set -eu
packages="cmake ninja-build g++ pkg-config git python3 nlohmann-json3-dev libfmt-dev libcli11-dev \
libssl-dev libcurl4-openssl-dev libzstd-dev libyaml-dev zstd libhwy-dev libexpected-dev libgtest-dev libgmock-dev libbenchmark-dev $*"
missing=
for package in $packages; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
    missing="$missing $package"
done
[ -z "$missing" ] && exit 0
echo "installing:$missing" >&2
sudo=
[ "$(id -u)" -eq 0 ] || sudo=sudo
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
# shellcheck disable=SC2086  # one word a package
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
