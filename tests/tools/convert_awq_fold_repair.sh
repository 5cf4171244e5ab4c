# norms that an exporter folded scales into wrongly: told without the base, fixed with it
in="$testdata/mixed/qwen35-micro-awq-lite"
"$ckpt" convert "$in" out --quiet --step awq-fold-repair || echo "exit $?"
"$ckpt" convert "$in" out --quiet --step "awq-fold-repair:base=$testdata/qwen35-micro" >/dev/null && ls out
echo "-- floats of them"
"$ckpt" convert "$in" floats --quiet --to bf16 || echo "exit $?"
"$ckpt" convert "$in" floats --quiet --step dequantize || echo "exit $?"
test -e floats || echo nothing was written
"$ckpt" convert "$in" floats --quiet --step "awq-fold-repair:base=$testdata/qwen35-micro" --to bf16 >/dev/null && ls floats
"$ckpt" convert "$in" kept --quiet --step dequantize:folds=keep >/dev/null && ls kept
