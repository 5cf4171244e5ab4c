cp -r "$testdata/formats/good/folders/saved_in_shards" m
mkdir outside && cp m/model-00001-of-00006.safetensors outside/x.safetensors
index=m/model.safetensors.index.json
cp $index index
for name in ../outside/x.safetensors /etc/x.safetensors sub/../../x.safetensors; do
  sed "s|\"model-00001-of-00006.safetensors\"|\"$name\"|" index > $index
  "$ckpt" verify m --quiet; echo $?
  "$ckpt" convert m out --quiet 2>&1; echo $?
  "$ckpt" patch m --step config:set=a=1 --step rename:from=model.,to=m. 2>&1; echo $?
done
cp index $index
"$ckpt" convert m out --step config:set=a=1,file=../outside/x.json --quiet 2>&1; echo $?
"$ckpt" patch m --step config:set=a=1,file=../outside/x.json 2>&1; echo $?
ls -A . outside
