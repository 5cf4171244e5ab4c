# --step lora: any output takes merged weights; several adapters follow one another; errors name the tensor
lora="$testdata/lora"
mkdir merged
"$ckpt" convert "$testdata/llama-micro" merged/llama-micro --step lora:from="$lora/rslora" --quiet >/dev/null
"$ckpt" convert "$testdata/llama-micro" one.gguf --to q4_k_m --step lora:from="$lora/rslora" --quiet >/dev/null
"$ckpt" convert merged/llama-micro two.gguf --to q4_k_m --quiet >/dev/null
"$ckpt" diff one.gguf two.gguf --quiet; echo "q4_k_m of both: $?"
"$ckpt" convert "$testdata/llama-micro" fp4 --to nvfp4-w4a16 --step lora:from="$lora/rslora" --quiet >/dev/null
"$ckpt" convert merged/llama-micro fp4-of-merged --to nvfp4-w4a16 --quiet >/dev/null
"$ckpt" diff fp4 fp4-of-merged --quiet; echo "nvfp4 of both: $?"
"$ckpt" convert merged/llama-micro twice --step lora:from="$lora/conventions" --quiet >/dev/null
"$ckpt" convert "$testdata/llama-micro" both --step lora:from="$lora/rslora" --step lora:from="$lora/conventions/mlx" --quiet >/dev/null
"$ckpt" diff both twice --quiet; echo "two adapters: $?"
"$ckpt" convert "$testdata/llama-micro" none --step lora:from="$lora/rslora",scale=0 --quiet >/dev/null
"$ckpt" diff "$testdata/llama-micro" none --quiet; echo "none of it: $?"
for wrong in conventions/refuse-b-missing conventions/refuse-rank-differs missing; do
  "$ckpt" convert "$testdata/llama-micro" out --step lora:from="$lora/$wrong" 2>&1; echo "exit $?"
done
"$ckpt" convert one.gguf out.gguf --step lora:from="$lora/rslora" 2>&1; echo "exit $?"
