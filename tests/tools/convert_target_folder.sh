# --target-size and --target-bits of a folder: groups of layers become NVFP4, FP8 or stay
micro="$testdata/qwen35-micro"
pinned="--preset default-input-scale1"
bytes() { cat "$1"/* | wc -c; }
"$ckpt" convert -q "$micro" nvfp4 --to nvfp4 $pinned >/dev/null
size=$(($(bytes nvfp4) + 200000))
"$ckpt" convert "$micro" a --target-size "$size" $pinned --threads 1 2>a.said >/dev/null
"$ckpt" convert -q "$micro" b --to nvfp4 --target-size "$size" $pinned --threads 3 --json >b.json
cmp a/model.safetensors b/model.safetensors && echo "the same with any number of threads"
test "$(bytes a)" -le "$size" && test $((size - $(bytes a))) -lt 30000 && echo "within, and near"
grep -E 'role|predicted' a.said
grep -o '"quant_algo": "MIXED_PRECISION"' a/config.json a/hf_quant_config.json
grep -c exclude_modules a/hf_quant_config.json
python3 - <<'EOF'
import json
chosen = next(json.loads(line) for line in open("b.json") if '"chosen_types"' in line)
layers = json.load(open("a/hf_quant_config.json"))["quantization"]["quantized_layers"]
algos = {name + ".weight": layer["quant_algo"].lower() for name, layer in layers.items()}
print("documents say what was chosen:", algos == {n: t for n, t in chosen["types"].items() if t != "bf16"})
for joined in (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"), ("in_proj_qkv", "in_proj_z")):
    kinds = [{t for n, t in chosen["types"].items() if n.split(".")[-2] in joined and f".{layer}." in n} for layer in range(4)]
    print(*joined, "have one type:", all(len(kind) <= 1 for kind in kinds))
json.dump({"in": chosen and "IN", "out": "c", "to": "nvfp4", "preset": "default-input-scale1",
           "fp8": chosen["fp8"], "keep": chosen["keep"]}, open("r.json", "w"))
EOF
"$ckpt" convert -q --recipe r.json "$micro" c >/dev/null
cmp a/model.safetensors c/model.safetensors && cmp a/config.json c/config.json && echo "what --fp8 and --keep make"
"$ckpt" convert -q "$micro" planned --target-size "$size" $pinned --plan-out plan.json >/dev/null
"$ckpt" execute -q plan.json >/dev/null && cmp a/model.safetensors planned/model.safetensors && echo "a plan holds the types"
echo "-- bits as ModelOpt counts them"
"$ckpt" convert -q "$micro" bits --target-bits 8 $pinned --json | grep -o '"effective_bits":7.9[0-9]*'
"$ckpt" convert -q "$micro" weights --to nvfp4-w4a16 --target-bits 10 --json | grep -o '"fp8":\[\]'
grep -o '"quant_algo": "W4A16_NVFP4"' weights/hf_quant_config.json
echo "-- weights of NVFP4 alone next to FP8"
small="$testdata/qwen3-micro"
maxima="--amax-from $testdata/export/collect_amax/qwen3-micro.json"
"$ckpt" convert -q "$small" both --to nvfp4-w4a16 --target-bits 9 $maxima --json >both.json
python3 - <<'EOF'
import json
chosen = next(json.loads(line) for line in open("both.json") if '"chosen_types"' in line)
layers = json.load(open("both/hf_quant_config.json"))["quantization"]["quantized_layers"]
print(sorted({layer["quant_algo"] for layer in layers.values()}), sorted(set(chosen["types"].values())))
json.dump({"to": "nvfp4-w4a16", "fp8": chosen["fp8"], "keep": chosen["keep"]}, open("r2.json", "w"))
EOF
"$ckpt" convert -q --recipe r2.json "$small" typed $maxima >/dev/null
cmp both/model.safetensors typed/model.safetensors && cmp both/config.json typed/config.json && echo "what --fp8 and --keep make"
"$ckpt" convert -q "$small" recipe --to nvfp4 --preset w4a16_nvfp4-fp8_attn-kv_fp8_cast $maxima >/dev/null
"$ckpt" convert -q "$small" words --to nvfp4-w4a16 --only lm_head --only '*mlp*' --fp8 '*self_attn*' --kv-cache fp8 $maxima >/dev/null
for file in model.safetensors config.json hf_quant_config.json; do cmp recipe/$file words/$file && echo "$file as ModelOpt's recipe has it"; done
"$ckpt" convert "$small" x --to nvfp4-w4a16 --fp8 '*self_attn*' 2>&1 | grep -o "12 of 21 layers have no activation maximum"
"$ckpt" convert -q "$small" six --to nvfp4-w4a16 --fp8 '*self_attn*' --preset default-input-scale1 --json >/dev/null && echo "input scales of 6"
"$ckpt" convert "$small" x --to nvfp4-w4a16 --preset default-input-scale1; echo "exit $?"
echo "-- what is refused"
for words in "--target-bits 3" "--target-bits 16" "--target-size 1KB" "--target-size 1GB" "--to fp8 --target-bits 6" "--to q4_k_m --target-bits 6" "--pure --target-bits 6"; do
  "$ckpt" convert "$micro" x $pinned $words; echo "exit $?"
done
"$ckpt" convert -q "$small" small.gguf --to bf16 >/dev/null
"$ckpt" convert small.gguf x --target-bits 8; echo "exit $?"
"$ckpt" convert "$micro" x --target-bits 6 2>&1 | grep -o "have no activation maximum"
test -e x || echo "nothing was written"
echo "-- an OUT that is there is refused before anything is measured"
mkdir full empty && echo > full/a && echo > y.gguf
"$ckpt" convert "$small" full --to nvfp4-w4a16 --target-bits 8 --target-cache c; echo "exit $?"
"$ckpt" convert "$small" y.gguf --target-bits 5 --target-cache c; echo "exit $?"
test -e c || echo "nothing was measured"
"$ckpt" convert "$small" full --to nvfp4-w4a16 --target-bits 8 --dry-run -q >/dev/null && echo "may be there where nothing is written"
"$ckpt" convert "$small" empty/ --to nvfp4-w4a16 --target-bits 8 -q >/dev/null && cat empty/hf_quant_config.json | head -3
