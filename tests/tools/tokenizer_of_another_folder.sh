# the same tokenizer is taken, another one refused with the first difference; of a GGUF file the keys are fixed
cp -r "$testdata/qwen3-micro" donor
"$ckpt" convert "$testdata/qwen35-micro" out --step tokenizer:from=donor -q >/dev/null && cmp donor/tokenizer_config.json out/tokenizer_config.json && echo taken
sed 's/"content": "<think>"/"content": "<thing>"/' "$testdata/qwen3-micro/tokenizer.json" > donor/tokenizer.json
"$ckpt" convert "$testdata/qwen35-micro" no --step tokenizer:from=donor; echo $?
ls no 2>/dev/null
"$ckpt" convert "$testdata/qwen35-micro" yes --step tokenizer:from=donor,accept=ids -q >/dev/null && cmp donor/tokenizer.json yes/tokenizer.json && echo insisted
"$ckpt" convert "$testdata/qwen35-micro" a.gguf --to bf16 -q >/dev/null
"$ckpt" convert a.gguf b.gguf --step "tokenizer:from=$testdata/qwen3-micro" -q >/dev/null && cmp a.gguf b.gguf && echo same
echo new > donor/chat_template.jinja && cp "$testdata/qwen3-micro/tokenizer.json" donor
"$ckpt" convert a.gguf c.gguf --step tokenizer:from=donor -q >/dev/null && "$ckpt" diff a.gguf c.gguf
