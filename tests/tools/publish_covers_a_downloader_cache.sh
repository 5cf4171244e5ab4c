# files in .cache are published and checked like everything else; files of git are not, and are named
cp -r "$testdata/qwen3-micro" m && mkdir -p m/.cache/huggingface m/.git && echo 1 > m/.cache/huggingface/x && echo > m/.git/config
"$ckpt" publish m/ --sign "$testdata/publish/p256.pem" --archive m.tar.zst > /dev/null
for path in m m.tar.zst; do "$ckpt" verify $path --public-key "$testdata/publish/p256.pub" | head -n 2; done
echo > m/.cache/y
"$ckpt" verify m --public-key "$testdata/publish/p256.pub"
echo "exit $?"
"$ckpt" verify m --public-key "$testdata/publish/p256.pub" --ignore .cache | head -n 2
"$ckpt" verify m --public-key "$testdata/publish/p256.pub" --ignore ./.cache/ | head -n 1
"$ckpt" verify m --public-key "$testdata/publish/p256.pub" --ignore ..
"$ckpt" verify m --public-key "$testdata/publish/p256.pub" --ignore .
"$ckpt" verify m --public-key "$testdata/publish/p256.pub" --ignore "$PWD/m/.cache" 2> /dev/null
echo "exit $?"
