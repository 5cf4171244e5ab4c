# An option that may repeat takes one value each time; IN and OUT may stand behind it
m=$testdata/llama-micro
run() { "$ckpt" convert "$@" --dry-run 2>&1 | tail -1; }
run --keep '*norm*' --to f16 $m out
run --to f16 --keep '*norm*' $m out
run --step drop:tensors=lm_head.weight $m out
run --also two.gguf=f32 --tokenizer-pre llama-bpe $m out
run --to nvfp4-w4a16 --only '*mlp*' $m out
run --to q8_0 --tokenizer-pre llama-bpe --tensor-type 'out:*ffn_up*=q4_0' $m out.gguf
cp -r $m model
"$ckpt" patch --step config:set=a=1 model --dry-run | tail -1
"$ckpt" doctor --for llama.cpp model >/dev/null 2>&1; test $? -lt 2 && echo "model was checked"
