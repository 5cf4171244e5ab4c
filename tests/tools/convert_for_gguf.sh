# --for PROFILE with a GGUF as OUT: the verdict of ckpt doctor on it, what is not checked, and the exit code
for profile in llama.cpp vllm vllm-0.17 tensorrt-llm sglang transformers-5; do
  echo "== $profile"
  "$ckpt" convert "$testdata/qwen3-micro" m.gguf --to q4_k_m --for $profile --force --json >out.json 2>err; echo "exit $?"
  grep -E '^ckpt: |^[a-z].*: llama-server' err
  grep '"type":"verdict"' out.json
  "$ckpt" doctor m.gguf --for $profile >said; echo "doctor: exit $?, $(head -1 said)"
done
echo "== an architecture and a type that the program does not read"
"$ckpt" convert "$testdata/qwen35-micro" n.gguf --to q4_k_m --for sglang 2>&1 >/dev/null | grep -E '^(ckpt: note: sglang|ckpt: n\.gguf|n\.gguf)'
"$ckpt" convert "$testdata/qwen3-micro" f.gguf --to nvfp4-ggml --for vllm-0.17 --dry-run 2>&1 >/dev/null | grep -E 'vllm-0.17'
"$ckpt" convert "$testdata/qwen3-micro" f.gguf --to nvfp4-ggml --for vllm-0.17 --dry-run >/dev/null 2>&1; echo "exit $?"
echo "== from a GGUF"
"$ckpt" convert m.gguf again.gguf --to q4_0 --allow-requantize --for vllm 2>&1 >/dev/null | grep vllm
echo "== a folder and a GGUF of one reading"
"$ckpt" convert "$testdata/qwen3-micro" served --to nvfp4-w4a16 --also beside.gguf=q8_0 --for vllm --dry-run 2>&1 >/dev/null
"$ckpt" convert "$testdata/qwen3-micro" served --to nvfp4-w4a16 --also beside.gguf=q8_0 --for vllm --for llama.cpp --dry-run 2>&1 >/dev/null
