# a GGUF is llama.cpp's: what the other programs would make of it, by architecture and type
"$ckpt" convert "$testdata/qwen3-micro" q.gguf --to q4_k_m -q >/dev/null || exit 9
"$ckpt" doctor q.gguf | sed '/^$/q'
"$ckpt" convert "$testdata/qwen35-micro" n.gguf --to q4_k_m -q >/dev/null || exit 9
"$ckpt" doctor n.gguf --for vllm-0.17 --for tensorrt-llm; echo "exit $?"
