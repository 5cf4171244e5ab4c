# A plan as a file, its shares, and what is refused.
cp -r "$testdata/qwen35-micro" m
"$ckpt" convert m a.gguf --to q8_0 --quiet > /dev/null
"$ckpt" convert m a.gguf --to q8_0 --plan-out plan.json --quiet; echo $?
"$ckpt" execute plan.json --part 1/2; echo $?
"$ckpt" execute plan.json --part 3/2; echo $?
mv a.gguf before.gguf
"$ckpt" execute plan.json --part 1/2; echo $?
ls
"$ckpt" convert m a.gguf --to q4_k_m; echo $?
"$ckpt" execute plan.json --part 2/2 --quiet; echo $?
"$ckpt" execute plan.json --part 2/2; echo $?
cmp a.gguf before.gguf; ls
touch -d @1000000000 m/model.safetensors
"$ckpt" execute plan.json; echo $?
"$ckpt" convert "$testdata/qwen35-micro" "$(printf 'a\377.gguf')" --to q8_0 --plan-out other.json; echo $?
