# show and verify take several files; what is wrong with one keeps none of the others
"$ckpt" convert "$testdata/llama-micro" a.gguf --to bf16 --tokenizer-pre llama-bpe -q
"$ckpt" convert a.gguf b.gguf --to q8_0 -q
echo broken > bad.gguf
"$ckpt" show *.gguf 2>&1 | cut -c1-60; "$ckpt" show *.gguf > /dev/null 2>&1; echo "exit $?"
"$ckpt" show a.gguf b.gguf --json | cut -c1-60
"$ckpt" verify a.gguf b.gguf; echo "exit $?"
"$ckpt" verify a.gguf bad.gguf b.gguf 2>&1; echo "exit $?"
"$ckpt" verify a.gguf b.gguf --json | cut -c1-60
"$ckpt" verify a.gguf b.gguf --unpack new 2>&1; echo "exit $?"
echo "-- the order of tensors"
"$ckpt" show b.gguf --tensors='blk.0.*' --sort bytes | tail -9 | cut -c1-24
"$ckpt" show b.gguf --tensors='blk.0.*' --sort name --json | sed -n 's/.*"type":"tensor".*"name":"\([^"]*\)".*/\1/p' | sort -c && echo by name
"$ckpt" show b.gguf --sort name 2>&1; echo "exit $?"
"$ckpt" show b.gguf --tensors --sort size 2>&1; echo "exit $?"
