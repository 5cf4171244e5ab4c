# Options that change nothing: refused where nothing has a use for them, noted where they make no difference
m=$testdata/llama-micro
convert() { echo "\$ $*" | sed "s|$testdata/||g"; "$ckpt" convert "$@" --dry-run 2>&1 >/dev/null | grep -v '^ckpt: note: for '; }
pre="--tokenizer-pre llama-bpe"
echo '{}' > amax.json
echo "== refused"
convert $m x.gguf $pre --to bf16 --search best
convert $m x.gguf $pre --to q4_k_m --preset mlp-only --amax-from amax.json
convert $m out --to f16 --preset mlp-only
convert $m x.gguf $pre --to q4_k_m --only '*mlp*'
convert $m x.gguf $pre --tensor-type '*=q8_0' --output-tensor-type q6_k
convert $m out --keep '*norm*'
convert $testdata/nvfp4/qwen35-micro-ct out --to bf16 --keep '*mlp*'
convert $m out --tokenizer-pre llama-bpe --model-name X
convert $m x.gguf --step to-gguf:tokenizer-pre=llama-bpe --model-name X
convert $m x.gguf --step to-gguf:tokenizer-pre=llama-bpe --step quantize:type=q8_0 --output-tensor-type q6_k
convert $m out --step export:type=nvfp4-w4a16 --keep 'a,b'
convert $m out --dry-run --plan-out plan.json
"$ckpt" convert $m m.gguf $pre --to bf16 --quiet > sums
convert m.gguf x.gguf --to q8_0 --tokenizer $m --tokenizer-pre gpt-4o --model-name X --no-mtp
convert $m out --to nvfp4-w4a16 --only 'typo*'
convert $m out --to nvfp4-w4a16 --preset experts-only
ls
echo "== noted"
convert $m x.gguf $pre --to q4_k_m --search best
convert $m out --to nvfp4-w4a16 --also x.gguf=q8_0 $pre --preset mlp-only
convert $m out --to f16 --keep 'typo*' --keep '*norm*'
convert $m out --to bf16 --keep '*norm*'
convert $m out --to nvfp4-w4a16 --keep 'typo*' --only '*mlp*'
convert $m x.gguf $pre --to q8_0 --pure --no-mtp --allow-requantize
convert $m out --to bf16 --base $m
convert $m out --to bf16 --tokenizer $m
convert $m out --step cast:type=bf16
convert $m x.gguf --step metadata:set=general.name=X $pre
convert $m out --for vllm-0.17
cat > recipe.json <<R
{"in": "$m", "out": "out", "to": "bf16", "preset": "mlp-only"}
R
convert --recipe recipe.json
"$ckpt" convert "$testdata/qwen3-micro" half.gguf --to nvfp4 --preset default-input-scale1 --fp8 '*down_proj' --tokenizer-pre qwen2 2>&1
