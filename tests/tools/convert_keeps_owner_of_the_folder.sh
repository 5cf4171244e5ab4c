# outputs belong to whoever owns the folder they are put into, also when root runs the conversion
mkdir mine && { [ "$(id -u)" -ne 0 ] || chown 1234:1235 mine; }
"$ckpt" convert -q "$testdata/qwen3-micro" mine/out >/dev/null
"$ckpt" convert -q "$testdata/qwen35-micro" mine/a.gguf --to q4_k_m >/dev/null
wanted=$(stat -c '%u:%g' mine)
for path in mine/out mine/out/config.json mine/out/model.safetensors mine/a.gguf; do
  [ "$(stat -c '%u:%g' $path)" = "$wanted" ] && stat -c '%a %n' $path
done
