# An archive that the disk has no room for is refused before anything is hashed or written.
cp -r "$testdata/qwen3-micro" m && truncate -s 8T m/notes.bin
timeout 20 "$ckpt" publish m --archive a.tar -q 2> said; code=$?
sed 's/need [0-9]* bytes and [0-9]* are/need N bytes and N are/' said; echo "exit $code"; rm said
timeout 20 "$ckpt" publish m --archive a.tar --dry-run 2>&1 > /dev/null | grep -c 'the disk is full'
ls -A . m
