# Weights outside the folder's checkpoint are checked, too.
cp -r "$testdata/qwen3-micro" m && mkdir m/original
head -c 5000 m/model.safetensors > m/original/consolidated.safetensors
"$ckpt" publish m; echo $?
"$ckpt" verify m; echo $?
cp m/model.safetensors m/original/consolidated.safetensors
"$ckpt" publish m --quiet > /dev/null; echo $?
"$ckpt" verify m; echo $?
head -c 5000 "$testdata/qwen3-micro/model.safetensors" > m/model.safetensors
"$ckpt" publish m; echo $?
"$ckpt" publish m --force --quiet > /dev/null; echo $?
