cp -r "$testdata/qwen3-micro" m
"$ckpt" publish m --lfs git --card card.md --quiet >/dev/null || exit 9
cat git/model.safetensors git/.gitattributes
cmp m/config.json git/config.json && cmp m/SHA256SUMS git/SHA256SUMS && echo small files are copied
head -8 card.md
