# Lines on stdout are read by sha256sum -c, whatever a name holds.
cp -r "$testdata/qwen3-micro" m
for name in 'a b' 'back\slash' "$(printf 'new\nline')"; do
  "$ckpt" convert m "$name.gguf" --to q8_0 -q > sums
  sha256sum -c --quiet sums && echo "read by sha256sum"
  cut -c 66- sums
done
mkdir 'p'; cp 'back\slash.gguf' p/; cp m/*.json p/
"$ckpt" publish p -q > sums
sha256sum -c --quiet sums && (cd p && sha256sum -c --quiet SHA256SUMS) && "$ckpt" verify p -q | head -1
echo "== what is shipped next"
"$ckpt" publish p --archive p.tar.zst 2>&1 >/dev/null | grep Next
"$ckpt" publish p --card - -q | head -2
echo "== an archive is named, with what to type"
tar -cf m.tar m; tar -czf m.tar.gz m
for file in p.tar.zst m.tar m.tar.gz; do "$ckpt" show $file; "$ckpt" convert $file out; done 2>&1
echo "== a stream is not a file"
"$ckpt" convert m /dev/stdout --to q8_0; "$ckpt" convert m /dev/fd/1; echo "exit $?"
echo "== keys"
printf -- '-----BEGIN OPENSSH PRIVATE KEY-----\nx\n-----END OPENSSH PRIVATE KEY-----\n' > key
"$ckpt" publish p --sign key; "$ckpt" publish p --key key; "$ckpt" publish p --private-key key; echo "exit $?"
echo "== the root of a cache of the hub"
mkdir -p models--org--name/refs models--org--name/snapshots models--org--name/blobs
cp -r m models--org--name/snapshots/0123abcd; echo 0123abcd > models--org--name/refs/main
"$ckpt" show models--org--name; echo "exit $?"
