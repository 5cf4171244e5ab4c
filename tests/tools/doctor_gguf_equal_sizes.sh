# sizes that the graphs of llama.cpp take to be equal: heads of latent attention, linear attention, windows
made() {  # FAMILY KEY=VALUE: the verdict on its GGUF with that key
  "$ckpt" convert "$testdata/families/$1/hf" m.gguf --force -q --tokenizer-pre llama-bpe >/dev/null 2>&1 || exit 9
  "$ckpt" patch m.gguf -q --step "metadata:set=$2" >/dev/null 2>&1 || exit 9
  echo "$1 $2"
  "$ckpt" doctor m.gguf --for llama.cpp | grep -E '^G02|^llama.cpp'
}
made deepseek-v2 deepseek2.attention.head_count_kv=1
made deepseek-v2 deepseek2.attention.head_count_kv=4
made qwen3-next qwen3next.ssm.inner_size=0
made gpt-oss gpt-oss.attention.key_length_swa=8
