# a folder without tokenizer is refused with the way out; the way out gives the usual file
cp -r "$testdata/qwen35-micro" qwen35-micro && mkdir tok
mv qwen35-micro/tokenizer* qwen35-micro/chat_template.jinja tok/
"$ckpt" convert qwen35-micro a.gguf --to q4_k_m; echo $?
"$ckpt" convert qwen35-micro a.gguf --to q4_k_m --tokenizer tok
"$ckpt" convert qwen35-micro b.gguf --to q4_k_m --tokenizer tok --model-name 'Another One' -q >/dev/null
"$ckpt" show b.gguf --metadata | grep general.name
