"$ckpt" convert "$testdata/qwen35-micro" a.gguf --to q4_k_xxl
