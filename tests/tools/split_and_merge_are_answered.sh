# the line that is answered to `split` and `merge` is typed as it stands, and the bytes come back
m=$testdata/llama-micro
"$ckpt" convert "$m" whole.gguf --tokenizer-pre llama-bpe -q >/dev/null
typed() {
  line=$("$ckpt" "$@" 2>&1 | sed -n 's/.*Try: ckpt //p')
  echo "ckpt $line" | sed "s#$testdata#TESTDATA#"
  eval "\"\$ckpt\" $line -q" >/dev/null
}
typed split whole.gguf parts --split-max-size 2M
ls parts*
typed merge parts-*.gguf -o again.gguf
cmp whole.gguf again.gguf && echo the same bytes
typed split whole.gguf by-count.gguf --split-max-tensors 9
ls by-count*
typed split "$m" shards --max-shard-size=2MB
ls shards/*.safetensors
typed merge shards joined
ls joined/*.safetensors
"$ckpt" diff "$m" joined | tail -1
