recipes="$testdata/../docs/recipes"
run() { "$ckpt" convert --quiet "$@" >/dev/null || echo "failed: $*"; }
run --recipe "$recipes/qat-to-vllm.json" "$testdata/export/qat-checkpoint" qat
"$ckpt" doctor qat --for vllm >/dev/null && echo a QAT checkpoint for vLLM
# what is left of this model has no tokenizer: written, and the answer is no
"$ckpt" convert --quiet --recipe "$recipes/mixed-to-sglang.json" "$testdata/mixed/qwen35-micro-awq-lite" plain --base "$testdata/qwen35-micro" >/dev/null; test $? = 1 || echo "another exit code"
grep -c '"quant_algo": "NVFP4"' plain/hf_quant_config.json
run --recipe "$recipes/release.json" "$testdata/qwen3-micro" out --also q4.gguf=q4_k_m
"$ckpt" doctor out --for vllm >/dev/null && "$ckpt" doctor q4.gguf --for llama.cpp >/dev/null && echo a fine-tune for vLLM and llama.cpp
"$ckpt" publish out --quiet --source "$testdata/qwen3-micro" --recipe "$recipes/release.json" >/dev/null && "$ckpt" verify out >/dev/null && echo with checksums
