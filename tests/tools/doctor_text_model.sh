# A text-only Qwen3.5 is known to newer vLLM alone; the mends come with it.
"$ckpt" doctor "$testdata/qwen35-micro" --for vllm && echo "loads in vllm"
"$ckpt" doctor "$testdata/qwen35-micro" --for vllm-0.17
