# a checkpoint of more files than a process may have open, on both sides: the same bytes
"$ckpt" convert "$testdata/qwen35-micro" many --shard-size 1KB -q > /dev/null || exit 9
"$ckpt" convert "$testdata/qwen35-micro" q.gguf -q > /dev/null || exit 9
"$ckpt" convert many free --shard-size 1KB -q > /dev/null || exit 9
test "$(ls many/*.safetensors | wc -l)" -gt 40 || exit 8
(
  ulimit -n 36
  "$ckpt" convert many limited --shard-size 1KB --threads 2 -q > /dev/null; echo "exit $?"
  "$ckpt" convert q.gguf s.gguf --split-size 1KB --threads 2 -q > /dev/null; echo "exit $?"
  "$ckpt" convert "$(echo s-00001-of-*.gguf)" merged.gguf --threads 2 -q > /dev/null; echo "exit $?"
  "$ckpt" patch many --step config:set=x=1 -q > /dev/null; echo "exit $?"
  "$ckpt" verify many > /dev/null; echo "exit $?"
)
cmp q.gguf merged.gguf && diff -r free limited; echo "same $?"
