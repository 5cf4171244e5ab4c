# --for fixes what a server needs, and keeps the types and the cache that were asked for; codes that are still to be made have no values.
model="$testdata/qwen35-micro"
pinned="--preset default-input-scale1"
layers() { python3 -c 'import collections, json; q = json.load(open("'$1'/hf_quant_config.json"))["quantization"]
print(sorted(collections.Counter(layer["quant_algo"] for layer in q.get("quantized_layers", {}).values()).items()), q["kv_cache_quant_algo"])'; }
echo "-- a target, whose layers have other names behind vl-wrap"
"$ckpt" convert -q "$model" plain --target-bits 8 $pinned >/dev/null && layers plain
for profile in vllm vllm-0.17; do
  "$ckpt" convert "$model" $profile --target-bits 8 $pinned --for $profile 2>&1 | grep "for $profile:\|no layer\|effective bits"; layers $profile
done
"$ckpt" convert "$model" x --target-bits 8 $pinned --for vllm-0.17 --plan-out plan.json -q >/dev/null  # Q34: exit code 1
"$ckpt" execute plan.json -q >/dev/null; layers x
python3 - <<'END'
import hashlib, json, struct
def tensors(folder):
    file = open(folder + "/model.safetensors", "rb")
    header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    data = file.read()
    return {k.replace("model.language_model.", "model."): hashlib.sha256(data[slice(*v["data_offsets"])]).digest() for k, v in header.items() if k != "__metadata__"}
print("the same weights" if tensors("plain") == tensors("vllm-0.17") == tensors("x") else "other weights")
END
echo "-- a cache that is declared FP8"
for profile in vllm vllm-0.17 sglang; do
  "$ckpt" convert -q "$testdata/qwen3-micro" cache-$profile --to nvfp4 $pinned --kv-cache fp8 --for $profile >/dev/null; layers cache-$profile
done
"$ckpt" convert -q "$testdata/qwen3-micro" recipe --to nvfp4-w4a16 --preset nvfp4_weight_only-kv_fp8_cast --for vllm >/dev/null; layers recipe
"$ckpt" patch cache-vllm --step serving-config 2>&1 | grep note:; layers cache-vllm
echo "-- codes that are still to be made"
for words in "--step export:type=nvfp4-w4a16 --step dequantize" "--step export:type=nvfp4-w4a16 --to bf16" \
  "--step export:type=nvfp4,preset=default-input-scale1 --to f32"; do
  "$ckpt" convert "$testdata/qwen3-micro" y $words 2>&1; echo "exit $?"
done
"$ckpt" convert "$testdata/qwen3-micro" y.gguf --to q8_0 --allow-requantize --step export:type=nvfp4-w4a16 2>&1; echo "exit $?"
