# a file that belongs to others stands for all of them, and every part has its line in the sums
"$ckpt" convert "$testdata/qwen3-micro" out/m.gguf --to q8_0 --split-size 1M --quiet > /dev/null 2>&1 || { mkdir -p out; "$ckpt" convert "$testdata/qwen3-micro" out/m.gguf --to q8_0 --split-size 1M --quiet > /dev/null || exit 9; }
cd out && ls && sha256sum * > SHA256SUMS
try() { echo "-- $*"; "$ckpt" verify "$@" 2>&1; echo "exit $?"; }
try m-00001-of-00003.gguf
cp m-00003-of-00003.gguf kept
printf X | dd of=m-00003-of-00003.gguf bs=1 seek=600000 conv=notrunc 2> /dev/null
try m-00001-of-00003.gguf
try ./m-00001-of-00003.gguf --json
mv kept m-00003-of-00003.gguf
mv m-00002-of-00003.gguf away
try m-00001-of-00003.gguf
ln -s away m-00002-of-00003.gguf
try m-00001-of-00003.gguf
rm m-00002-of-00003.gguf && mv away m-00002-of-00003.gguf
grep -v 00002 SHA256SUMS > fewer && mv fewer SHA256SUMS
try m-00001-of-00003.gguf
cd ..
"$ckpt" convert "$testdata/qwen3-micro" hf --shard-size 2M --quiet > /dev/null || exit 9
cd hf && ls *.safetensors* && sha256sum * > SHA256SUMS
try model-00002-of-00003.safetensors
printf X | dd of=model-00003-of-00003.safetensors bs=1 seek=600000 conv=notrunc 2> /dev/null
try model-00002-of-00003.safetensors
rm model-00003-of-00003.safetensors
try model-00002-of-00003.safetensors
# sums that speak of other files say nothing about this one
mkdir alone && cp "$testdata/qwen3-micro/model.safetensors" alone && echo x > alone/x
(cd alone && sha256sum x > SHA256SUMS)
try alone/model.safetensors
