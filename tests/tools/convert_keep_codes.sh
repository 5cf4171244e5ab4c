# INT4 that stays INT4: codes move into Q4_0, and what does not fit is named
kimi=$testdata/families/kimi-int4/hf
convert() {
  echo "\$ $*" | sed "s#$testdata/##g"
  "$ckpt" convert "$@" --quiet 2>&1 >/dev/null; code=$?
  test $code = 0 || echo "exit $code"
}
convert $kimi kept.gguf --keep-codes --tokenizer-pre qwen2
"$ckpt" diff $kimi kept.gguf --values 2>&1 | sed "s#$testdata/##" | tail -1
convert $kimi q4_0.gguf --to q4_0 --keep-codes --tokenizer-pre qwen2
convert $kimi q4_k_m.gguf --to q4_k_m --keep-codes --tokenizer-pre qwen2
"$ckpt" diff q4_0.gguf q4_k_m.gguf --values 2>/dev/null | grep -c _exps
"$ckpt" convert $kimi x.gguf --to q4_0 --keep-codes --tokenizer-pre qwen2 --dry-run --json 2>&1 | grep -o '"moved_[a-z]*":[0-9]*'
convert $kimi x.gguf --to q4_k_m --keep-codes --tokenizer-pre qwen2 --tensor-type '*down_exps*=q6_k'
convert $testdata/qwen3-micro x.gguf --to q4_0 --keep-codes
convert $kimi x --to bf16 --keep-codes
echo "== without the option"
convert $kimi plain.gguf --to q4_0 --tokenizer-pre qwen2
"$ckpt" diff plain.gguf q4_0.gguf --values 2>/dev/null | grep -c _exps
