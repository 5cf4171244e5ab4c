# What was asked for and changes nothing is said, beside the output that it is not for
convert() { "$ckpt" convert "$testdata/llama-micro" "$@" --tokenizer-pre llama-bpe --dry-run 2>&1 >/dev/null | grep effect; echo "--"; }
echo '{}' > amax.json
convert x.gguf --to bf16 --search best
convert x.gguf --to q4_k_m --preset mlp-only --amax-from amax.json
convert x.gguf --to q4_k_m --search best
convert out --to f16 --preset mlp-only
convert out --to nvfp4-w4a16 --also x.gguf=q8_0 --preset mlp-only
cat > recipe.json <<R
{"in": "$testdata/llama-micro", "out": "out", "to": "bf16", "preset": "mlp-only"}
R
"$ckpt" convert --recipe recipe.json --dry-run 2>&1 >/dev/null | grep effect
