# Weights in layouts of other programs: read, or refused by name; or copied whole
P=$testdata/packed
tried() {
  said=$("$ckpt" convert "$@" --quiet 2>&1); code=$?
  if test $code = 0; then echo "made"; rm -rf o o.gguf b; return; fi
  echo "$said"; test $code = 2 || echo "exit $code"
  test -e o || test -e o.gguf || test -e b || return 0
  echo "something was written"; rm -rf o o.gguf b
}
for kind in awq gptq int4 gpt-oss-mxfp4 gpt-oss-nvfp4 bitsandbytes; do
  echo "== $kind"
  tried $P/$kind o --to bf16
  tried $P/$kind/model.safetensors o --to f16
  tried $P/$kind o --step dequantize
  tried $P/$kind o --step cast:type=f16
  tried $P/$kind o --to nvfp4-w4a16
  tried $P/$kind o --to fp8 --also b=bf16
  tried $P/$kind o.gguf --to q8_0
  tried $P/$kind o.gguf
  # A copy, resharded or renamed, keeps every byte.
  "$ckpt" convert $P/$kind copy-$kind --quiet >/dev/null && cmp $P/$kind/config.json copy-$kind/config.json
  "$ckpt" convert $P/$kind shards-$kind --shard-size 8K --quiet >/dev/null && ls shards-$kind | grep -c safetensors$
  "$ckpt" diff $P/$kind copy-$kind --values >/dev/null && "$ckpt" diff $P/$kind shards-$kind --values > /dev/null && echo same
  "$ckpt" convert $P/$kind renamed-$kind --step rename:from=model.,to=language_model.model. --quiet >/dev/null
  "$ckpt" convert renamed-$kind back-$kind --step rename:from=language_model.model.,to=model. --quiet >/dev/null
  cmp copy-$kind/model.safetensors back-$kind/model.safetensors && echo "same bytes"
done
echo "== without a statement, by the tensors alone"
for kind in awq gpt-oss-mxfp4 gpt-oss-nvfp4; do
  mkdir bare; cp $P/$kind/model.safetensors bare/; echo '{}' > bare/config.json
  tried bare o --to bf16
  rm -r bare
done
echo "== quantized weights whose scales are plain floats"
tried $testdata/nvfp4/qwen35-micro-ct o --step cast:type=f16
