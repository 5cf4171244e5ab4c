# what was made of an input that changed while it was read gets no name
cp -r "$testdata/llama-micro" in && chmod -R u+w in
# while_changing DOING COMMAND...: does that again and again until the command has ended
while_changing() {
  (while :; do eval "$1"; sleep 0.005; done) &
  changing=$!
  shift
  "$@" > /dev/null 2> said; echo "exit $?"
  kill $changing; wait $changing 2>/dev/null
  # A new file may have got the number of the one before it.
  sed 's/became another file/was written to/' said; rm said
}
echo '--- weights'
while_changing 'touch in/model.safetensors' "$ckpt" convert in out --quiet
while_changing 'touch in/model.safetensors' "$ckpt" convert in out.gguf --to q8_0 --quiet
echo '--- documents'
while_changing 'touch in/config.json' "$ckpt" convert in out --quiet
while_changing 'cp in/tokenizer.json t && mv t in/tokenizer.json' "$ckpt" convert in out.gguf --quiet
echo '--- a patch'
while_changing 'touch in/config.json' "$ckpt" patch in --step config:set=a=1 --quiet
while_changing 'touch in/config.json' "$ckpt" patch in --step config:set=a=1 --out patched --quiet
echo '--- links and modes are no writes'
while_changing 'ln -f in/model.safetensors link; chmod 600 in/config.json; chmod 644 in/config.json' \
  "$ckpt" convert in out --quiet
ls
