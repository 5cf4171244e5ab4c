# Weights that are quantized are decoded first; a note says how much of the adapter would be left
lora="$testdata/lora/rslora"
"$ckpt" convert "$testdata/llama-micro" fp4 --to nvfp4-w4a16 --quiet >/dev/null
"$ckpt" convert fp4 out --step lora:from="$lora" 2>&1; echo "exit $?"
for scale in 1 0.01; do
  "$ckpt" convert fp4 "again$scale" --step dequantize --step lora:from="$lora",scale=$scale --to nvfp4-w4a16 2>&1 >/dev/null |
    grep 'lora: encoded'
done
