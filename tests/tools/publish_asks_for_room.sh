# The copies for git that the disk has no room for are refused before anything is hashed; an archive, which may shrink, is warned of.
cp -r "$testdata/qwen3-micro" m && truncate -s 8T m/notes.bin
timeout 20 "$ckpt" publish m --archive a.tar.zst --dry-run 2>&1 > /dev/null | sed 's/need [0-9]* bytes and [0-9]* are/need N bytes and N are/'
ls -A . m
