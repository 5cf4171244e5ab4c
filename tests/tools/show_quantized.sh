# The algorithm of every layer, what the documents say, and where the two disagree.
"$ckpt" convert -q "$testdata/qwen3-micro" q --to nvfp4-w4a16 --keep 'model.layers.1.*' >/dev/null
"$ckpt" show q
"$ckpt" show q --tensors='*layers.0.mlp.up*'
sed -i 's/"quant_algo": "W4A16_NVFP4"/"quant_algo": "NVFP4"/' q/config.json
"$ckpt" show q --json
"$ckpt" show "$testdata/export/qat-checkpoint"
"$ckpt" convert -q "$testdata/qwen3-micro" q.gguf --to q4_k_m --tokenizer-pre qwen2 >/dev/null
"$ckpt" show q.gguf
