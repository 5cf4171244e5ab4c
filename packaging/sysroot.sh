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
mkdir -p "$folder" "$work/lists/partial" "$work/archives/partial"
: > "$work/status"
cat > "$work/sources.list" <<END
deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main
deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm-updates main
deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian-security bookworm-security main
END
apt="apt-get -qq -o APT::Architecture=$architecture -o APT::Architectures=$architecture \
  -o Dir::State=$work -o Dir::State::lists=$work/lists -o Dir::State::status=$work/status \
  -o Dir::Cache=$work -o Dir::Etc::sourcelist=$work/sources.list -o Dir::Etc::sourceparts=- \
  -o Acquire::Languages=none -o APT::Sandbox::User=root"
$apt update
# shellcheck disable=SC2086  # one word a package
(cd "$work/archives" && $apt download $packages)
for file in "$work"/archives/*.deb; do
  dpkg-deb -x "$file" "$folder"
  dpkg-deb -W --showformat='${Package} ${Version} ' "$file"
  basename "$file"
done | sort > "$work/packages.txt"
mv "$work/packages.txt" "$folder/packages.txt"
rm -rf "$work"
