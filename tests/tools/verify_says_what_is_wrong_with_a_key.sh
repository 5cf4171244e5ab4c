# files of trust that are not what they must be are named, with what to type
cp -r "$testdata/qwen3-micro" m && cp "$testdata"/publish/p256.pem "$testdata"/publish/p256.pub . || exit 9
"$ckpt" publish m --sign p256.pem --quiet > /dev/null
tell() { "$ckpt" verify "$@" 2>&1; echo "exit $?"; }
tell m --public-key p256.pem
tell m --public-key m/config.json
tell m --public-key nowhere
tell m --ca p256.pub
tell m --ca "$testdata/publish/root.crt"
tell m/model.safetensors --public-key p256.pub
tell m --signature m/model.sig
"$ckpt" publish m --sign p256.pub 2>&1
"$ckpt" publish nowhere 2>&1
"$ckpt" publish m --archive nowhere/m.tar.zst 2>&1
"$ckpt" publish m/config.json 2>&1
"$ckpt" publish m --sign "$testdata/publish/p256-encrypted.pem" 2>&1
echo wrong > word && "$ckpt" publish m --sign "$testdata/publish/p256-encrypted.pem" --password-file word 2>&1
