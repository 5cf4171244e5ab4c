# the next command that publish names works as it stands, typed by a shell
cp -r "$testdata/qwen3-micro" 'my model' && cp "$testdata/publish/p256.pem" release.pem
ckpt() { "$ckpt" "$@"; }
hf() { echo "uploaded: $*"; }    # nothing is sent anywhere
next() {
  "$ckpt" publish "$@" 2>&1 > /dev/null | grep '^Next: '
  "$ckpt" publish "$@" 2>&1 > /dev/null | sed -n 's/^Next: //p' > next
  . ./next | head -n 1
}
next 'my model'
next 'my model/' --sign release.pem
next 'my model' --sign release.pem
cp "$testdata/publish/p384.pub" release.pub
next 'my model' --sign release.pem
printf 'secret\n' > word
"$ckpt" publish 'my model' --sign "$testdata/publish/p256-encrypted.pem" --password-file word 2>&1 > /dev/null | grep '^Next: '
cat "$testdata/publish/leaf.crt" "$testdata/publish/issuer.crt" > chain.pem
next 'my model' --sign "$testdata/publish/leaf.pem" --certificate chain.pem
