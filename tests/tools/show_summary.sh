cd "$testdata" && "$ckpt" show qwen35-micro && "$ckpt" show qwen35-micro --tensors='*layers.0.linear_attn.[Ad]*'
"$ckpt" show qwen35-micro --json
