# an archive against the sums and the signature in it, and files that are not sound archives
cp -r "$testdata/qwen3-micro" m
"$ckpt" publish m --sign "$testdata/publish/p256.pem" --archive sound.tar.zst --quiet > /dev/null || exit 9
cp m/model.sig beside.sig
try() { echo "-- $*"; "$ckpt" verify "$@" > said 2>&1; code=$?; grep -v 'as listed$' said; echo "exit $code"; }
try sound.tar.zst
try sound.tar.zst --public-key "$testdata/publish/p256.pub"
try sound.tar.zst --public-key "$testdata/publish/p256.pub" --signature beside.sig
try sound.tar.zst --public-key "$testdata/publish/p384.pub" --unpack x
head -c 100000 sound.tar.zst > cut.tar.zst
try cut.tar.zst --unpack x
{ cat sound.tar.zst; echo garbage; } > more.tar.zst
try more.tar.zst
{ head -c 100000 sound.tar.zst; printf X; tail -c +100002 sound.tar.zst; } > damaged.tar.zst
try damaged.tar.zst
: > empty.tar.zst
try empty.tar.zst
mkdir here && echo mine > here/mine
try sound.tar.zst --unpack here
rm here/mine
try sound.tar.zst --unpack here/ && ls here
try m --unpack x
try sound.tar.zst --threads 1 --memory 1M --json
ls
