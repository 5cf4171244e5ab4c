#!/bin/sh
# Debian packages of another processor, unpacked into a folder to compile and link against; nothing
# is installed.
#
# usage: packaging/sysroot.sh FOLDER [ARCHITECTURE]     default arm64
#
# FOLDER/packages.txt lists name, version and file of each. A folder that has it is left as it is.
set -eu
folder=$1 architecture=${2:-arm64}
# Libraries that ckpt links, and the headers that it includes (cmake/install_dependencies.sh).
packages="libssl-dev libzstd-dev libyaml-dev libhwy-dev libfmt-dev nlohmann-json3-dev libcli11-dev \
libexpected-dev libfmt9"
[ -e "$folder/packages.txt" ] && exit 0

work=$folder.apt
mkdir -p "$folder"
# shellcheck source=packaging/debian_lists.sh
. "$(dirname "$0")/debian_lists.sh"
debian_lists "$work" "$architecture"
# shellcheck disable=SC2086  # one word a package
(cd "$work/archives" && $apt download $packages)
for file in "$work"/archives/*.deb; do
  dpkg-deb -x "$file" "$folder"
  dpkg-deb -W --showformat='${Package} ${Version} ' "$file"
  basename "$file"
done | sort > "$work/packages.txt"
mv "$work/packages.txt" "$folder/packages.txt"
rm -rf "$work"
