# bad input: 2 where something cannot be done, 1 where the answer is no
head -c 1000 "$testdata/qwen35-micro/model.safetensors" > cut.safetensors
"$ckpt" show cut.safetensors 2>/dev/null; echo "show $?"
"$ckpt" convert cut.safetensors out 2>/dev/null; echo "convert $?"
"$ckpt" verify cut.safetensors >/dev/null; echo "verify $?"
"$ckpt" diff cut.safetensors "$testdata/qwen35-micro" 2>/dev/null; echo "diff $?"
"$ckpt" verify nowhere 2>/dev/null; echo "verify nothing $?"
"$ckpt" convert 2>/dev/null; echo "usage $?"
"$ckpt" bogus 2>/dev/null; echo "verb $?"
ls
