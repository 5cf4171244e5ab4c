# --out is a new place outside PATH, however it is spelled
cp -r "$testdata/qwen3-micro" m && ln -s m link
step="config:set=max_position_embeddings=128"
for out in m m/ m/sub m/sub/ ./m/../m/sub link/sub "$PWD/m/a/b"; do
  "$ckpt" patch m --step "$step" --out "$out" 2>&1 > /dev/null; echo $?
done
ls -A m
mkdir d && touch d/notes && "$ckpt" patch m --step "$step" --out d 2>&1 > /dev/null; echo $?
"$ckpt" patch m/ --step "$step" --out e/ -q > /dev/null; echo $?
grep max_position m/config.json e/config.json
