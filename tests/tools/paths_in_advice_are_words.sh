# A path that begins with "-" or holds a space is, in what the program says to type next, one word that means the file.
next() { sed -n "s#$testdata#TESTDATA#g; s/.*Next: //p"; }
for name in -g 'a b' "it's"; do
  cp -r "$testdata/qwen3-micro" "./$name"
  "$ckpt" convert -- "$name" "$name.gguf" 2>&1 | next
  "$ckpt" convert --plan-out "./$name.plan" -- "$name" o 2>&1 | next
  "$ckpt" patch --step config:set=a=1 --out "./$name.patched" -- "$name" 2>&1 | next
  "$ckpt" publish --sign "$testdata/publish/p256.pem" -- "$name" 2>&1 | next
  "$ckpt" publish -- "$name.patched" 2>&1 | next > line
  cat line
  sed -n "s#^ckpt#'$ckpt'#p" line | sh 2>&1 | tail -1
done
echo "-- in what to try"
"$ckpt" convert -- -g nofolder/o 2>&1
ln -s ./-g link; "$ckpt" convert --force -- 'a b' link 2>&1 | sed "s#$PWD/##g"
touch file; "$ckpt" publish -- -g.gguf 2>&1
"$ckpt" report -o -x.svg -- -g 2>&1
"$ckpt" report -o ./-x.svg -- -g 2>&1
true
