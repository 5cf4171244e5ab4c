#!/bin/sh
# Builds everything that is released and tries each file.
#
# usage: tests/packaging/released.sh CKPT [ROOT...]
#
# CKPT is a plain build, for the bytes that are expected. Each ROOT is a Debian system (debootstrap) in which the binary
# is run and the package installed and purged; root's right is needed for that. CKPT_LONG=1 builds all of it a second
# time, in another folder, and compares.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
ckpt=$1
shift
work=$(mktemp -d "$root/build/released.XXXXXX")
trap 'rm -rf "$work"' EXIT
openssl ecparam -name prime256v1 -genkey -noout -out "$work/key.pem" 2>/dev/null
openssl pkey -in "$work/key.pem" -pubout -out "$work/key.pub"
out=$work/out
"$root/packaging/release" "$out" --key "$work/key.pem"

"$ckpt" verify "$out" --public-key "$work/key.pub"
(cd "$out" && sha256sum --quiet -c SHA256SUMS)
for machine in x86_64 aarch64; do
  roots=
  [ $machine = aarch64 ] || roots=$*
  # shellcheck disable=SC2086  # one word a root
  python3 "$here/static.py" "$out"/ckpt-*-linux-$machine "$ckpt" $roots || [ $? -eq 77 ]
  python3 "$here/urls.py" "$out"/ckpt-*-linux-$machine || [ $? -eq 77 ]
  python3 -c 'import json, sys
bill = json.load(open(sys.argv[1]))
names = {one["name"] for one in bill["components"]}
assert {"curl", "c-ares", "openssl", "zstd", "libyaml", "highway", "fmt", "glibc"} <= names and all(one["version"] for one in bill["components"])
texts = open(sys.argv[2], encoding="utf-8").read()
assert all(f"\n{name} " in texts for name in names), names' \
    "$out"/ckpt-*-$machine.cdx.json "$out"/ckpt-*-$machine.licenses.txt
done
if command -v buildah >/dev/null && [ "$(id -u)" = 0 ]; then
  version=$("$ckpt" --version | cut -d' ' -f2)
  image() { buildah --storage-driver vfs --root "$work/images" --runroot "$work/run" "$@"; }
  image bud --isolation chroot -f "$root/packaging/Dockerfile" --build-arg VERSION="$version" -t ckpt "$out" > "$work/log"
  container=$(image from ckpt)
  image run --isolation chroot "$container" /usr/bin/ckpt --version
  image rm "$container" > "$work/log"
fi
python3 "$here/deb.py" "$out"/ckpt_*_amd64.deb "$@"
python3 "$here/deb.py" "$out"/ckpt_*_arm64.deb
python3 "$here/wheel.py" "$ckpt" "$out"/ckpt_tool-*_x86_64.whl || [ $? -eq 77 ]

[ "${CKPT_LONG:-0}" = 1 ] || exit 0
CCACHE_DISABLE=1 "$root/packaging/release" "$work/again" --key "$work/key.pem" --work "$work/elsewhere"
rm "$out/model.sig" "$work/again/model.sig"   # an ECDSA signature holds a random number
diff -r "$out" "$work/again"
echo "two builds, equal bytes"
