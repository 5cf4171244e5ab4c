echo precious > a.gguf
"$ckpt" convert "$testdata/qwen35-micro" a.gguf --to q4_k_m
code=$?
cat a.gguf
exit $code
