# --index 0/2 and 1/2 are --part 1/2 and 2/2
"$ckpt" convert $testdata/llama-micro a.gguf --to q8_0 --tokenizer-pre llama-bpe --plan-out plan.json -q > /dev/null
"$ckpt" execute plan.json --index 2/2; echo $?
"$ckpt" execute plan.json --index 0/0; echo $?
"$ckpt" execute plan.json --index x/2; echo $?
"$ckpt" execute plan.json --index 0/2 --part 1/2 | cat
"$ckpt" execute plan.json --index 1/2 -q
"$ckpt" execute plan.json --index 0/2 -q > /dev/null; echo $?
"$ckpt" convert $testdata/llama-micro b.gguf --to q8_0 --tokenizer-pre llama-bpe -q > /dev/null; cmp a.gguf b.gguf && echo the same
