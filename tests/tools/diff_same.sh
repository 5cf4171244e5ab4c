"$ckpt" convert -q "$testdata/qwen35moe-micro" b --shard-size 3M >/dev/null
"$ckpt" diff "$testdata/qwen35moe-micro" b
