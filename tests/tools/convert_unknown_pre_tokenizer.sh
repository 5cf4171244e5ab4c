# The pre-tokenizer comes from tokenizer.json's own rules, never from the architecture.
cp -r "$testdata/qwen3-micro" in
sed -i 's/\\\\p{N}/\\\\p{Nd}/g' in/tokenizer.json
"$ckpt" convert in a.gguf --to q4_k_m
code=$?
ls
exit $code
