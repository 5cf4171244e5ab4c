# wrapped, unwrapped: the same files, shards and index too; only what wrapping made explicit stays
"$ckpt" convert -q "$testdata/qwen35moe-micro" in --shard-size 4M >/dev/null
"$ckpt" convert -q in wrapped --step vl-wrap >/dev/null
grep -c '"model.language_model.layers' wrapped/model.safetensors.index.json
ls wrapped
"$ckpt" convert -q wrapped again --step vl-wrap >/dev/null && diff -r wrapped again && echo "wrapping twice changes nothing"
"$ckpt" convert -q wrapped back --step vl-unwrap >/dev/null
diff -r in back
"$ckpt" convert -q "$testdata/qwen35-micro" w --step vl-wrap:with="$testdata/qwen35vl-micro" >/dev/null
"$ckpt" convert -q w u --step vl-unwrap >/dev/null && cmp u/model.safetensors "$testdata/qwen35-micro/model.safetensors" && echo "the same bytes"
