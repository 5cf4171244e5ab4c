# model.fp16.safetensors next to model.safetensors is the same model again
cp -r "$testdata/qwen35-micro" qwen35-micro && cp qwen35-micro/model.safetensors qwen35-micro/model.fp16.safetensors
"$ckpt" convert qwen35-micro a.gguf --to q4_k_m
