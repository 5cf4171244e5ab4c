# what was made of an input that changed while it was read gets no name
cp -r "$testdata/llama-micro" in && chmod -R u+w in
# while_changing DOING COMMAND...: does that again and again until the command has ended. On a busy machine a
# run may see none of it, so that there are ten, of which the first that fails is shown.
while_changing() {
  (while :; do eval "$1"; sleep 0.005; done) &
  changing=$!
  shift
  for run in 1 2 3 4 5 6 7 8 9 10; do
    "$@" > /dev/null 2> said; code=$?
    [ $code -eq 0 ] || break
    rm -rf out out.gguf patched
  done
  echo "exit $code"
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
echo '--- changes of links and modes are not writes'
while_changing 'ln -f in/model.safetensors link; chmod 600 in/config.json; chmod 644 in/config.json' \
  "$ckpt" convert in out --quiet
ls -d in link
