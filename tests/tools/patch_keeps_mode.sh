# A patched file keeps its mode, whether it is rewritten or changed in place; a new one gets the umask's.
cp -r "$testdata/qwen3-micro" m && chmod -R u+w m
chmod 640 m/config.json && chmod 604 m/model.safetensors && chmod 600 m/tokenizer.json
"$ckpt" patch -q m --step config:set=a=1 --step rename:from=model.,to=language_model.a_longer_name. > /dev/null
stat -c '%a %n' m/config.json m/model.safetensors m/tokenizer.json
"$ckpt" publish -q m > /dev/null && chmod 660 m/SHA256SUMS && "$ckpt" publish -q m --rehash > /dev/null
stat -c '%a %n' m/SHA256SUMS
cp "$testdata/formats/good/gguf/types.gguf" m.gguf && chmod 620 m.gguf
"$ckpt" patch -q m.gguf --step "metadata:set=general.name=$(printf '%4000s' x)" > /dev/null
stat -c '%a %n' m.gguf
