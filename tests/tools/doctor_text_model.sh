# A text-only Qwen3.5 is known to newer vLLM alone.
"$ckpt" doctor "$testdata/qwen35-micro" --for vllm && echo "loads in vllm"
said=$("$ckpt" doctor "$testdata/qwen35-micro" --for vllm-0.17)
code=$?
echo "$said" | grep -v '^    fix'
exit $code
