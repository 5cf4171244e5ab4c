# How far a quantized folder is from its source; gates; what only one side has; digits that no thread count changes.
"$ckpt" convert -q "$testdata/qwen3-micro" b --to nvfp4-w4a16 --keep 'model.layers.[12].*' >/dev/null
"$ckpt" diff "$testdata/qwen3-micro" b --values; echo "exit $?"
"$ckpt" diff "$testdata/qwen3-micro" b --fail-if 'sqnr<15' --fail-if 'total.cosine<0.99'; echo "exit $?"
"$ckpt" diff "$testdata/qwen3-micro" b --tensors '*.0.mlp.*' --fail-if 'sqnr < 99' --fail-if 'total.rmse>=0.5'; echo "exit $?"
"$ckpt" diff "$testdata/qwen3-micro" "$testdata/qwen3-micro" --values; echo "exit $?"
"$ckpt" diff "$testdata/qwen3-micro" "$testdata/llama-micro" --values --tensors 'model.layers.0.self_attn.q_norm*'; echo "exit $?"
"$ckpt" diff "$testdata/qwen3-micro" b --values --json --threads 1 > one
"$ckpt" diff "$testdata/qwen3-micro" b --values --json --threads 5 --memory 1M > five
cmp one five && tail -n 1 one
"$ckpt" diff "$testdata/qwen3-micro" b --fail-if 'sqrn<15'; echo "exit $?"
"$ckpt" diff "$testdata/qwen3-micro" b --fail-if 'sqnr<'; echo "exit $?"
