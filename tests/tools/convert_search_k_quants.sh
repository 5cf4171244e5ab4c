# --search best for K-quants: the same size, less error; the default untouched; what has no search says so
"$ckpt" convert -q "$testdata/llama-micro" plain.gguf --to q4_k_m --tokenizer-pre llama-bpe >/dev/null
"$ckpt" convert -q "$testdata/llama-micro" best.gguf --to q4_k_m --tokenizer-pre llama-bpe --search best >/dev/null
"$ckpt" convert -q "$testdata/llama-micro" none.gguf --to q4_k_m --tokenizer-pre llama-bpe --search none --threads 3 >/dev/null
"$ckpt" convert -q "$testdata/llama-micro" again.gguf --to q4_k_m --tokenizer-pre llama-bpe --search best --threads 3 --memory 1M >/dev/null
cmp plain.gguf none.gguf && cmp best.gguf again.gguf && echo "none is plain, best is always the same"
test "$(wc -c < plain.gguf)" = "$(wc -c < best.gguf)" && echo "as large"
"$ckpt" convert -q "$testdata/llama-micro" all.gguf --to bf16 --tokenizer-pre llama-bpe >/dev/null
"$ckpt" diff all.gguf plain.gguf --values | grep total
"$ckpt" diff all.gguf best.gguf --values | grep total
"$ckpt" convert "$testdata/llama-micro" x.gguf --to q4_k_m --tokenizer-pre llama-bpe --search sweep; echo "exit $?"
"$ckpt" convert "$testdata/llama-micro" x.gguf --to q8_0 --tokenizer-pre llama-bpe --search best --dry-run 2>&1 | grep effect
