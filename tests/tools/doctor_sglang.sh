# Folders that SGLang 0.5.12 refuses, as the doctor must: fields that transformers 5 does not save, a name of a rope, a type of
# layers, classes that read no quantized attention; what --for sglang fixes; and classes that run by transformers' code.
families="$testdata/families"
verdict() { "$ckpt" doctor "$1" --for sglang | grep -E '^sglang|^[CQ][0-9]+ +error:|^C03|fix:' | sed 's/^ *//'; }
for name in deepseek-v2 deepseek-v3 gemma2 mistral3 glm-moe-dsa smollm3 qwen35-vl; do
  echo "--- $name"; verdict "$families/$name/hf"
done
for name in deepseek-v2 deepseek-v3 gemma2 mistral3 qwen35-vl; do
  "$ckpt" convert "$families/$name/hf" "$name" --for sglang --quiet > sums
  echo "--- $name --for sglang"; verdict "$name"
done
grep -hE 'moe_layer_freq|topk_method|"rope_type"' deepseek-v2/config.json deepseek-v3/config.json mistral3/config.json | sort | uniq -c
for name in cohere granite4 olmo stablelm phi3 glm4 lfm2; do
  "$ckpt" convert "$families/$name/hf" "$name-nvfp4" --to nvfp4 --preset default-input-scale1 --quiet > sums
  echo "--- $name as NVFP4"; verdict "$name-nvfp4"
done
"$ckpt" convert "$families/olmo/hf" kept --to nvfp4 --preset default-input-scale1 --keep '*.self_attn.*' --quiet > sums
echo "--- olmo, its attention kept"; verdict kept
