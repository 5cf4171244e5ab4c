# --archive onto a link, a folder or a file of another kind: said before anything is hashed, and what is advised works
mkdir m d.tar.zst && cp "$testdata/llama-micro/config.json" "$testdata/llama-micro/model.safetensors" m/
echo mine > real.tar.zst && ln -s real.tar.zst link.tar.zst
for name in link.tar.zst d.tar.zst; do
  "$ckpt" publish m --archive $name --quiet 2>&1 || echo "exit $?"
  "$ckpt" publish m --archive $name --force --quiet 2>&1 || echo "exit $?"
done
cat real.tar.zst; ls m
"$ckpt" publish m --archive real.tar.zst --quiet 2>&1 || echo "exit $?"
"$ckpt" publish m --archive real.tar.zst --force --quiet 2>&1 || echo "exit $?"
cat real.tar.zst && rm real.tar.zst
"$ckpt" publish m --archive real.tar.zst --quiet >/dev/null
"$ckpt" publish m --archive real.tar.zst --quiet 2>&1 || echo "exit $?"
"$ckpt" publish m --archive real.tar.zst --force --quiet >/dev/null && "$ckpt" verify link.tar.zst >/dev/null && echo verified
