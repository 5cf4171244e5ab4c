# a folder of transformers 5 becomes one that 4.57 reads too; nothing but tokenizer_config.json changes
"$ckpt" convert "$testdata/qwen35-micro" out --step tokenizer:for=transformers-4.57 -q >/dev/null
for file in config.json tokenizer.json chat_template.jinja generation_config.json model.safetensors; do
  cmp "$testdata/qwen35-micro/$file" "out/$file" && echo "$file stays"
done
grep -e tokenizer_class -e special_tokens -e backend -e merges_file out/tokenizer_config.json
"$ckpt" convert "$testdata/qwen35vl-micro" vl --step tokenizer:for=transformers-4.57 -q >/dev/null
grep -e tokenizer_class -e trust vl/tokenizer_config.json
"$ckpt" convert "$testdata/qwen35-micro" slow --step tokenizer:for=transformers-4.57,slow=yes -q >/dev/null
head -c 30 slow/vocab.json && echo && head -n 3 slow/merges.txt
