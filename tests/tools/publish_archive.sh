cp -r "$testdata/qwen3-micro" m && mkdir m/sub && echo kept > m/sub/notes.txt
"$ckpt" publish m --sign "$testdata/publish/p256.pem" --archive m.tar.zst --quiet > said || exit 9
tail -n 1 said | sha256sum -c -
"$ckpt" verify m.tar.zst --public-key "$testdata/publish/p256.pub" --unpack x; echo $?
diff -r m x && echo "the same folder, sums and signature with it"
# the bytes depend on the content alone: not on threads, on memory, on times or on the folder's name
cp -r x other && find other -exec touch -d 2001-01-01 {} + && chmod 755 other/config.json
"$ckpt" publish other --archive again.tar.zst --threads 1 --memory 1M --quiet > /dev/null
cmp m.tar.zst again.tar.zst && echo the same archive
"$ckpt" publish m --archive m.tar.zst 2>&1; echo $?
tail -n 1 said > before
"$ckpt" publish m --archive m.tar.zst --force --quiet | tail -n 1 | cmp - before && echo the same again
"$ckpt" publish m --archive m/m.tar.zst 2>&1; echo $?
"$ckpt" publish m --archive m.tar 2>&1; echo $?
ls -d m*
