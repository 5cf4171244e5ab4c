# a size without a unit counts bytes, and a small one says so
"$ckpt" convert "$testdata/llama-micro" a --shard-size 5 -q --dry-run > /dev/null
"$ckpt" convert "$testdata/llama-micro" a --shard-size 5 --dry-run > /dev/null
"$ckpt" convert "$testdata/llama-micro" a --shard-size 5KB --dry-run > /dev/null
"$ckpt" convert "$testdata/llama-micro" a --shard-size 2000000 --dry-run > /dev/null
"$ckpt" convert "$testdata/qwen35-micro" a.gguf --split-size 100 --dry-run > /dev/null
