# files that were replaced by links to elsewhere, and whole folders, are named; a link is never followed
cp -r "$testdata/qwen3-micro" m && mkdir m/sub && echo kept > m/sub/notes.txt
"$ckpt" publish m -q > /dev/null || exit 9
mv m/config.json elsewhere.json && ln -s ../elsewhere.json m/config.json
mv m/sub elsewhere && ln -s ../elsewhere m/sub
ln -s /etc/passwd m/extra
"$ckpt" verify m | grep -v 'as listed'
"$ckpt" verify m -q > /dev/null; echo "exit $?"
"$ckpt" publish m --rehash 2>&1; echo "exit $?"
