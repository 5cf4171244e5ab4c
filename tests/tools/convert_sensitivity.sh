# --sensitivity: what single tensors cost, from another program's file, moves the choice of a target
micro="$testdata/qwen3-micro"
csv="$testdata/sensitivity/kld_results.csv"
pinned="--preset default-input-scale1"
type_of() { "$ckpt" show "$1" --tensors | awk -v name="$2" '$1 == name { print $4, $5 }'; }
"$ckpt" convert -q "$micro" roles.gguf --target-bits 4.6 --tokenizer-pre qwen2 >/dev/null
"$ckpt" convert "$micro" measured.gguf --target-bits 4.6 --tokenizer-pre qwen2 --sensitivity "$csv" 2>&1 >/dev/null | grep note
for file in roles measured; do echo "$file: $(type_of $file.gguf blk.0.ffn_up.weight)"; done
echo "-- a folder, whose layers have the names of the file or its own"
"$ckpt" convert -q "$micro" roles --target-bits 6.6 $pinned --json | grep -o '"fp8":[^]]*'
"$ckpt" convert "$micro" gguf-names --target-bits 6.6 $pinned --sensitivity "$csv" --json 2>said | grep -o '"fp8":[^]]*'
grep note said
printf 'name,kl\nmodel.layers.0.mlp.up_proj,0.15\nmodel.layers.0.mlp.down_proj,0.002\nmodel.layers.1.mlp.gate_proj.weight,0.002\n' > own.csv
"$ckpt" convert -q "$micro" own --target-bits 6.6 $pinned --sensitivity own.csv --json | grep -o '"fp8":[^]]*'
echo "-- a recipe has it, a plan does not need it"
echo "{\"in\": \"$micro\", \"out\": \"r\", \"target-bits\": \"6.6\", \"preset\": \"default-input-scale1\", \"sensitivity\": \"own.csv\"}" > r.json
"$ckpt" convert -q --recipe r.json >/dev/null && cmp r/model.safetensors own/model.safetensors && echo "the same"
"$ckpt" convert -q "$micro" planned --target-bits 6.6 $pinned --sensitivity own.csv --plan-out plan.json >/dev/null
rm own.csv
"$ckpt" execute -q plan.json >/dev/null && cmp planned/model.safetensors own/model.safetensors && echo "the same"
echo "-- what is refused"
printf 'QTYPE,group0\nbf16,0\nq4_K,0.047219\n' > kld_results.csv
printf 'QTYPE,blk.0.attn_k.weight,blk.0.attn_q.weight\nq4_K,9.5,9.25\n' > ppl_results.csv
for file in kld_results.csv ppl_results.csv missing.csv "$micro/config.json"; do
  "$ckpt" convert "$micro" x --target-bits 6.6 $pinned --sensitivity "$file"; echo "exit $?"
done
"$ckpt" convert "$micro" x --to nvfp4 $pinned --sensitivity "$csv"; echo "exit $?"
test -e x || echo "nothing was written"
