# Each GGUF in a folder, at any depth, is checked by publish and by verify; a split counts as one.
good="$testdata/formats/good/gguf"
mkdir -p m/q8 && cp "$good/uncut.gguf" m && cp "$good"/cut_at_1000-* m/q8
"$ckpt" publish m --quiet > /dev/null; echo $?
"$ckpt" verify m; echo $?
tell() { "$ckpt" publish m 2>&1; echo $?; "$ckpt" verify m; echo $?; }
head -c 1200 "$good/uncut.gguf" > m/uncut.gguf; tell
"$ckpt" publish m --force --quiet > /dev/null; echo "with --force: $?"; "$ckpt" verify m; echo $?
cp "$good/uncut.gguf" m; rm m/q8/cut_at_1000-00002-of-00003.gguf; tell
cp "$good"/cut_at_1000-* m/q8; rm m/q8/cut_at_1000-00001-of-00003.gguf; tell
cp "$good"/cut_at_1000-* m/q8; mv m/q8/cut_at_1000-00003-of-00003.gguf m/q8/last.gguf; "$ckpt" publish m 2>&1; echo $?
