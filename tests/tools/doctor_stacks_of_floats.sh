# Experts in stacks, where the class of the real vLLM 0.17.1 reads them single: reported, and fixed.
"$ckpt" convert "$testdata/families/qwen3-moe/hf" fused --step experts:to=fused --quiet > sums
"$ckpt" doctor fused --for vllm-0.17 --for transformers-4.57 | grep -A3 '^W12'; echo "exit $?"
"$ckpt" doctor fused --fix --rewrite-weights --for vllm-0.17 --quiet > fixed; echo "exit $?"
"$ckpt" doctor fused --for vllm-0.17 | head -3
for kept in qwen3-vl-moe gpt-oss llama4; do "$ckpt" doctor "$testdata/families/$kept/hf" | grep -c '^W12'; done
