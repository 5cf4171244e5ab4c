# An archive that the disk has no room for is refused before anything is hashed or written.
cp -r "$testdata/qwen3-micro" m && truncate -s 8T m/notes.bin
timeout 20 "$ckpt" publish m --archive a.tar.zst -q 2>&1 | sed 's/need [0-9]* bytes and [0-9]* are/need N bytes and N are/'; echo "exit ${PIPESTATUS[0]}"
timeout 20 "$ckpt" publish m --archive a.tar.zst --dry-run 2>&1 > /dev/null | grep -c 'the disk is full'
ls -A . m
