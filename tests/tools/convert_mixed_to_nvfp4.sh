# NVFP4_AWQ to plain NVFP4: one algorithm in both documents, no scale of inputs left
in="$testdata/mixed/qwen35-micro-awq-lite" base="$testdata/qwen35-micro"
"$ckpt" convert "$in" plain --quiet --step "mixed-to-nvfp4:base=$base,report=all" >/dev/null
"$ckpt" show plain --tensors='*pre_quant_scale' | grep -c pre_quant_scale
grep -h '"quant_algo"' plain/config.json plain/hf_quant_config.json
"$ckpt" convert plain again --quiet --step mixed-to-nvfp4 >/dev/null && cmp plain/model.safetensors again/model.safetensors && echo same
"$ckpt" convert "$in" gated --quiet --step "mixed-to-nvfp4:base=$base,fail-below=40" || echo "exit $?"
"$ckpt" convert "$base" x --quiet --step mixed-to-nvfp4 || echo "exit $?"
