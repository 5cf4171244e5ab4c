"$ckpt" convert --quiet "$testdata/qwen3-micro" copy >/dev/null
