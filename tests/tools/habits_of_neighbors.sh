# Lines typed by users of other programs
m=$testdata/llama-micro
pre="--tokenizer-pre llama-bpe"
sum() { tail -1 | sed 's/ .*//' | cut -c1-64; }
reference=$("$ckpt" convert $m a.gguf --to q4_k_m $pre --quiet | sum)
same() { test "$(sum)" = "$reference" && echo "the same: $1" || echo "ANOTHER FILE: $1"; }
"$ckpt" convert $m -o b.gguf --to Q4_K_M $pre -q -j 2 | same "-o, Q4_K_M, -j"
"$ckpt" convert $m --outfile c.gguf --outtype q4km $pre -q -t 1 | same "--outfile, --outtype q4km, -t"
"$ckpt" quantize $m d.gguf Q4_K_M $pre -q | same "quantize IN OUT TYPE"
"$ckpt" --quiet quantize $m e.gguf --to q4-k-m $pre | same "--quiet before the verb"
"$ckpt" --threads 2 -q convert $m f.gguf --to q4_k $pre | same "--threads N before the verb, q4_k"
for type in fp16 float16 F16; do "$ckpt" convert $m half --to $type --dry-run -q | tail -1; done
for verb in info inspect dump; do "$ckpt" $verb a.gguf | head -1; done
"$ckpt" --json show a.gguf | head -1 | cut -c1-40
"$ckpt" version | cut -d' ' -f1
"$ckpt" convert $m x --for vLLM --dry-run 2>&1 | grep -c "for vllm:"
"$ckpt" convert $m x --for llamacpp,transformers-5.17.0 --dry-run 2>&1 | grep -o "for llama.cpp, transformers-5"
echo "-- as llama-quantize takes it"
"$ckpt" convert a.gguf g.gguf --to q8_0 --allow-requantize --tensor-type ffn_down=q5_0 --tensor-type attn_v.weight=q4_0 --dry-run -q --json | grep -oE '"tensor":"blk.0.(ffn_down|attn_v|ffn_up).weight".*"to":"[^"]*"'
"$ckpt" convert $m h.gguf --to q8_0 $pre --tensor-type '*ffn_down*=q5_0' --tensor-type '*v_proj*=q4_0' --dry-run -q --json | grep -oE '"tensor":"blk.0.(ffn_down|attn_v|ffn_up).weight".*"to":"[^"]*"'
echo "-- metadata"
"$ckpt" gguf-set-metadata a.gguf general.name 'My model' 2>&1
printf "{{ messages }}" > t.jinja
"$ckpt" gguf_new_metadata.py a.gguf new.gguf --general-name 'My model' --chat-template-file t.jinja --remove-metadata general.url 2>&1
"$ckpt" set-metadata a.gguf general.name=x 2>&1
"$ckpt" set a.gguf --chat-template t.jinja 2>&1
"$ckpt" patch a.gguf --set general.name=x 2>&1
"$ckpt" convert a.gguf x.gguf --chat-template t.jinja 2>&1
true  # each of these is refused
