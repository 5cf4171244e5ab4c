# a GGUF holds only the language model: a note counts the rest and says where it goes
"$ckpt" convert "$testdata/qwen35vl-micro" a.gguf --to q8_0 2>&1 | grep -v "read,"
"$ckpt" convert "$testdata/qwen35vl-micro" b.gguf --to q8_0 --json --dry-run 2>&1 >/dev/null | grep -c "33 tensors of the vision tower are left out"
echo "-- nothing is left out of these"
"$ckpt" convert "$testdata/qwen35-micro" c.gguf --to q8_0 --dry-run 2>&1 | grep -c "left out"
"$ckpt" convert "$testdata/qwen35vl-micro" d.gguf --step vl-unwrap --to q8_0 2>&1 | grep -c "left out"
cmp a.gguf d.gguf && echo the same file
echo "-- once for several outputs"
"$ckpt" convert "$testdata/qwen35vl-micro" e.gguf --to q8_0 --also f.gguf=f16 --dry-run 2>&1 | grep -c "left out"
