# Of a word that is not known: one line, and the one that was probably meant
m=$testdata/llama-micro
tried() { "$ckpt" "$@" 2>&1; echo "exit $?"; }
tried convrt a b
tried split a.gguf
tried split a.gguf parts --split-max-size 2G
tried --json split 'my model.gguf' | grep -o '"try":.*'
tried split $m sharded --max-shard-size=1GB
tried split
tried merge a-00001-of-00002.gguf whole.gguf
tried merge a-00002-of-00002.gguf a-00001-of-00002.gguf -o whole.gguf
tried merge $m whole
tried merge
tried frobnicate
tried convert $m o --too q8_0
tried convert $m o --shardsize 5GB
tried convert $m o --dtype bf16
tried convert $m o -v
tried convert $m o --verbose
tried convert $m o --frobnicate
tried convert $m o extra words
tried convert $m o.gguf q4_k_m
tried show $m --tensor
tried convert $m o.gguf --to q4_k_x
tried convert $m o --also two.gguf=q8
tried convert $m o --for vlm
tried doctor $m --for sglan
tried convert $m o --step dropp:tensors=a
tried convert $m o --step drop:tensor=a
tried convert $m o --to ''
echo '{"in": "a", "otu": "b"}' > r.json && tried convert --recipe r.json
echo '{"in": "a", "out": "b", "steps": ["dequantise"]}' > r.json && tried convert --recipe r.json
tried convert Qwen/Qwen3.5-9B o.gguf
tried show Qwen/Qwen3.5-9B
tried --frobnicate convert a b
echo "-- a variable that was not set"
cp -r "$m" copy
tried publish copy --sign ''
tried doctor copy --moments ''
tried report copy -o ''
tried verify ''
tried convert copy ''
tried diff copy ''
tried imatrix show ''
test -e copy/SHA256SUMS || test -e report.html || echo "nothing was written"
echo "-- values"
tried convert $m o --to
tried convert $m o --to q8_0 --to q4_0
tried convert $m o -j 0
tried convert $m o -j many
tried convert $m o --pure=maybe
tried diff $m $m --top 0
tried diff $m
tried convert $m o -j ''
tried convert $m o --shard-size 0
tried convert $m o --step export:type
echo '{"in": "a", "out": "b", "out": "c"}' > r.json && tried convert --recipe r.json
printf '{"in": "a", "out": "b\\u0000c"}' > r.json && tried convert --recipe r.json
ln -s nowhere link && tried convert $m link --step cast:type=f32
