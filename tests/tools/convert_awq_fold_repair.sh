# norms that an exporter folded scales into wrongly: told without the base, mended with it
in="$testdata/mixed/qwen35-micro-awq-lite"
"$ckpt" convert "$in" out --quiet --step awq-fold-repair || echo "exit $?"
"$ckpt" convert "$in" out --quiet --step "awq-fold-repair:base=$testdata/qwen35-micro" >/dev/null && ls out
