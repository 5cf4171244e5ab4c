# sha256sum -c takes what convert prints
"$ckpt" convert "$testdata/qwen35-micro" a.gguf --to q4_k_m | tee sums
sha256sum -c --quiet sums && echo agreed
