# CKPT_SIMD forces the instructions; the bytes stay the same, and nonsense is refused
CKPT_SIMD=scalar "$ckpt" convert "$testdata/qwen35-micro" qwen.gguf --to q4_k_m -q
CKPT_SIMD=mmx "$ckpt" convert "$testdata/qwen35-micro" b.gguf --to q4_k_m -q; echo $?
