# --target-cache: what was measured for a target is measured once, and never believed where it may be wrong
cp -r "$testdata/qwen35-micro" m
pinned="--preset default-input-scale1"
said() { grep -E 'before|note' ; }
"$ckpt" convert -q m plain.gguf --target-size 2MB >/dev/null
"$ckpt" convert m a.gguf --target-size 2MB --target-cache kept 2>&1 >/dev/null | said
"$ckpt" convert m b.gguf --target-size 2MB --target-cache kept 2>&1 >/dev/null | said
cmp plain.gguf a.gguf && cmp plain.gguf b.gguf && echo "the same choice"
cp kept first
"$ckpt" convert m c.gguf --target-bits 4 --target-cache kept --dry-run 2>&1 >/dev/null | said
cmp kept first && echo "another target needs nothing new"
"$ckpt" convert m d.gguf --target-bits 4 --target-cache kept --search best --dry-run 2>&1 >/dev/null | said
"$ckpt" convert m d --target-bits 7 $pinned --target-cache kept --dry-run 2>&1 >/dev/null | said
"$ckpt" convert m e --target-bits 8 $pinned --target-cache kept --threads 1 --dry-run 2>&1 >/dev/null | said
"$ckpt" convert m f.gguf --target-bits 5 --target-cache kept --tensor-type ffn_down=q8_0 --dry-run 2>&1 >/dev/null | said
stat -c %a kept
echo "-- another file, another time: measured again"
cp kept before
python3 - <<'EOF'
import os
path = "m/model.safetensors"
old = os.stat(path)
with open(path, "r+b") as file:
    file.seek(old.st_size - 4096)
    file.write(bytes(4096))
EOF
"$ckpt" convert m changed.gguf --target-size 2MB --target-cache kept 2>&1 >/dev/null | said
"$ckpt" convert -q m fresh.gguf --target-size 2MB >/dev/null && cmp changed.gguf fresh.gguf && echo "the same choice as without"
echo "-- damaged: noted, and measured again"
for how in "s/=3/=4/" "s/^ckpt-measured 1/ckpt-measured 2/" '$d'; do
  sed "$how" before >kept; chmod 600 kept
  "$ckpt" convert m g.gguf --target-size 2MB --target-cache kept --force 2>&1 >/dev/null | said
  cmp g.gguf fresh.gguf
done
"$ckpt" convert m g.gguf --target-size 2MB --target-cache kept --force 2>&1 >/dev/null | said
echo "-- what is refused, and left as it is"
echo "my notes" >notes; chmod 600 notes; ln -s kept link; mkdir folder; cp kept shared; chmod 666 shared; mkfifo pipe
for file in notes link folder shared pipe missing/kept - ./h.gguf; do
  "$ckpt" convert m h.gguf --target-size 2MB --target-cache "$file"; echo "exit $?"
done
cat notes; readlink link
"$ckpt" convert m h.gguf --to q8_0 --target-cache kept; echo "exit $?"
test -e h.gguf || echo "nothing was written"
