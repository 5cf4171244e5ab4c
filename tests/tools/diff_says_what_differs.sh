cp -r "$testdata/qwen3-micro" b
printf '\377\177' | dd of=b/model.safetensors bs=1 seek=4000000 conv=notrunc 2>/dev/null
sed -i 's/"use_cache": true/"use_cache": false/' b/config.json
"$ckpt" diff "$testdata/qwen3-micro" b
