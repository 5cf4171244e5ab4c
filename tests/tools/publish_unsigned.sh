# A signature is only removed by --unsigned, not by leaving out --sign.
cp -r "$testdata/qwen3-micro" m; cp "$testdata/publish/p256.pem" key.pem; cp "$testdata/publish/p256.pub" key.pub
"$ckpt" publish m --sign key.pem -q > /dev/null; sums=$(sha256sum m/*)
"$ckpt" publish m > /dev/null; echo "the same state: $?"; "$ckpt" verify m --public-key key.pub -q > /dev/null; echo $?
echo >> m/config.json; sums=$(sha256sum m/*)
"$ckpt" publish m --provenance --card m/README.md; echo "another state: $?"
[ "$sums" = "$(sha256sum m/*)" ] && echo nothing was written
"$ckpt" publish m --unsigned > /dev/null; echo $?; ls m/model.sig 2>&1
"$ckpt" publish m --unsigned --sign key.pem; echo $?
"$ckpt" publish m --sign key.pem -q > /dev/null && "$ckpt" publish m --unsigned > /dev/null; echo $?; ls m/model.sig 2>&1
