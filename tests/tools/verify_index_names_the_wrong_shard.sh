# every entry of an index is compared with what its shard holds
"$ckpt" convert "$testdata/qwen3-micro" m --shard-size 2M --quiet > /dev/null || exit 9
cp m/model.safetensors.index.json kept
tell() { "$ckpt" verify m | head -n 2; cp kept m/model.safetensors.index.json; }
sed -i '/"lm_head.weight"/s/00001-of/00002-of/' m/model.safetensors.index.json; tell
sed -i '/"lm_head.weight"/d' m/model.safetensors.index.json; tell
sed -i 's/"lm_head.weight"/"lm_head.bias"/' m/model.safetensors.index.json; tell
sed -i '/"lm_head.weight"/s/00001-of-00003/00004-of-00004/' m/model.safetensors.index.json; tell
tell
