# Every kind of option that steps declare is shown, with its choices, its default and its range.
"$ckpt" list steps --json | grep -o '"kind":"[a-z-]*"' | sort -u
"$ckpt" list steps | grep -A 3 '^graft'
"$ckpt" list steps | grep 'fail-below\|preset=\|type=NAME'
"$ckpt" list steps --json | grep -o '{[^{}]*"name":"\(fail-below\|rounding\)"[^{}]*}' | sort -u
echo "wrong values, and options that are not there"
for step in cast:type=bf61 cast:tpye=bf16 cast cast:type=f16,type=bf16 graft:from=x quantize:type=q4_k_x \
  vl-unwrap:mtp=maybe graft:from=x,tensors=y,replace=perhaps tokenizer:for=transformers-5 metadata:set=a \
  mixed-to-nvfp4:fail-below=loud quantize:type=q8_0,output-tensor-type=q6_j rename:from=,to=a dequantize:folds=; do
  "$ckpt" convert "$testdata/llama-micro" out --step "$step" || echo "exit $?"
done 2>&1
"$ckpt" convert "$testdata/llama-micro" out --to nvfp4 --preset mlponly 2>&1 || echo "exit $?"
"$ckpt" convert "$testdata/llama-micro" out.gguf --to q8_0 --tensor-type q6_k 2>&1 || echo "exit $?"
"$ckpt" convert "$testdata/llama-micro" out.gguf --to q8_0 --output-tensor-type q9 2>&1 || echo "exit $?"
