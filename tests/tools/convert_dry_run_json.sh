"$ckpt" convert "$testdata/qwen3-micro" a.gguf --to q4_k_m --tokenizer-pre qwen2 --dry-run --json | head -2
