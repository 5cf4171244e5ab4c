# several types in one reading, and words for types that other programs have
m=$testdata/llama-micro
pre="--tokenizer-pre llama-bpe"
"$ckpt" convert $m one.gguf --to q5_k_m $pre -q > one
"$ckpt" convert $m 'out-{type}.gguf' --to q4_k_m,Q5_K_M,q8_0 $pre 2> said | sed 's/^[0-9a-f]*  //'
grep -c '^Next' said
cmp one.gguf out-q5_k_m.gguf && echo the same as alone
"$ckpt" convert $m 'up-{FTYPE}.gguf' --to q8_0 $pre -q > /dev/null && ls up-*
refused() { "$ckpt" convert "$@" 2>&1 > /dev/null; echo "exit $?"; }
refused $m two.gguf --to q4_k_m,q8_0 $pre
refused $m 'x-{type}.gguf' --to q4_k_m,q4km $pre
refused $m 'x-{type}.gguf' --to q4_k_m,q9 $pre
refused $m 'x-{type}.gguf' $pre
"$ckpt" convert $m float.gguf --to bf16 $pre -q > /dev/null; refused float.gguf Q4_K_M
refused $m q4km
for type in 15 17 COPY auto; do refused $m x.gguf --to $type $pre; done
refused $m x.gguf --to q8_0 --shard-size 5GB $pre
refused $m x.gguf --to q4_k_m --tensor-type 'atn_q=q8_0' $pre
"$ckpt" convert one.gguf ./Q4_K_M -q > /dev/null && ls Q4_K_M | head -1
