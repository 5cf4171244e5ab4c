"$ckpt" list types > /dev/full; echo $? >&2
"$ckpt" show "$testdata/qwen3-micro" --json > /dev/full; echo $? >&2
"$ckpt" convert "$testdata/llama-micro" out --quiet > /dev/full; echo $? >&2
ls out/model.safetensors >&2
