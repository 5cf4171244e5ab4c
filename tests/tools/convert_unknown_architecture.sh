cp -r "$testdata/qwen3-micro" in
sed -i 's/Qwen3ForCausalLM/MysteryForCausalLM/' in/config.json
"$ckpt" convert in a.gguf --to q4_k_m
