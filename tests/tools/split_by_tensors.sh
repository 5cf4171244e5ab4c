# files of at most so many tensors, as llama-gguf-split --split-max-tensors makes them; merged, they are the same bytes
exec 2>&1
"$ckpt" convert "$testdata/llama-micro" whole.gguf --tokenizer-pre llama-bpe -q > /dev/null
"$ckpt" convert whole.gguf parts.gguf --split-tensors 9 -q > /dev/null; ls
for part in parts-*; do od -An -tu8 -j8 -N8 "$part"; done
"$ckpt" convert parts-00001-of-00004.gguf again.gguf -q > /dev/null && cmp whole.gguf again.gguf && echo "the same bytes"
"$ckpt" convert whole.gguf one.gguf --split-tensors 1000 -q > /dev/null && cmp whole.gguf one.gguf && echo "one file"
for count in 0 -3 5GB; do "$ckpt" convert whole.gguf x.gguf --split-tensors $count || echo "exit $?"; done
"$ckpt" convert "$testdata/llama-micro" folder --split-tensors 9 || echo "exit $?"
"$ckpt" convert whole.gguf x.gguf --split-max-tensors 9 || echo "exit $?"
echo '{"split-tensors": "9"}' > r.json; "$ckpt" convert whole.gguf recipe.gguf --recipe r.json -q > /dev/null; ls recipe*
"$ckpt" convert whole.gguf planned.gguf --split-tensors 20 --plan-out plan.json -q && "$ckpt" execute plan.json -q > /dev/null; ls planned*
