# Types of 4 bits other than K-quants, as people write them; a model without experts has nothing for mxfp4.
exec 2>&1
for type in IQ4_XS iq4nl mxfp4 MXFP4_MOE; do
  echo "\$ qwen35moe-micro --to $type"
  "$ckpt" convert -q "$testdata/qwen35moe-micro" "$type.gguf" --to $type
done
echo "\$ qwen3-micro --to mxfp4"
"$ckpt" convert "$testdata/qwen3-micro" dense.gguf --to mxfp4 --tokenizer-pre qwen2 2>&1 | sed '/ read, /d'
echo "\$ a folder as OUT"
"$ckpt" convert "$testdata/qwen3-micro" folder --to iq4_xs
