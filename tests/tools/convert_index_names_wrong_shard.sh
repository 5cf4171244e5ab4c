# an index that puts a tensor into a shard that has others is refused by whoever reads it
"$ckpt" convert "$testdata/llama-micro" m --shard-size 1MB -q > /dev/null || exit 9
index=m/model.safetensors.index.json
sed '/"model.norm.weight"/s/model-0000[0-9]/model-00001/' "$index" > new && mv new "$index"
"$ckpt" convert m out 2>&1; echo "exit $?"
"$ckpt" verify m 2>&1; echo "exit $?"
"$ckpt" show m 2>&1; echo "exit $?"
