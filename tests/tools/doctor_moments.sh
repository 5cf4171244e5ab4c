# doctor --moments: whether second moments of inputs are of the layers of a folder
model="$testdata/qwen3-micro"
python3 - <<'EOF'
import json, struct
def write(path, shapes):
    header, at = {}, 0
    for name, shape in shapes.items():
        size = 4 * shape[0] * shape[1] * shape[2]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + bytes(at))
layers = {f"model.layers.{i}.{name}.input_moments": [runs, 16, 16] for i in range(3)
          for name, runs in (("self_attn.k_proj", 16), ("self_attn.o_proj", 16), ("mlp.up_proj", 16), ("mlp.down_proj", 32))}
write("whole.safetensors", layers)
first = {name: shape for name, shape in layers.items() if ".0." in name}
write("part.safetensors", {**first, "model.layers.9.mlp.up_proj.input_moments": [16, 16, 16], "other": [1, 1, 1]})
write("wrong.safetensors", {**layers, "model.layers.1.mlp.up_proj.input_moments": [8, 16, 16],
                            "model.layers.2.mlp.up_proj.input_moments": [16, 16, 15]})
write("other.safetensors", {"model.layers.7.mlp.up_proj.input_moments": [16, 16, 16]})
write("none.safetensors", {"weight": [1, 1, 1]})
EOF
for each in whole part wrong other none; do
  "$ckpt" doctor "$model" --for llama.cpp --moments $each.safetensors 2>&1 | grep -A9 "$each"
  "$ckpt" doctor "$model" --for llama.cpp --moments $each.safetensors --quiet >/dev/null 2>&1; echo "exit $?"
done
echo "-- one for all experts of a stack, as docs/collect_amax.py writes them"
python3 - <<'EOF'
import json, struct
header, at = {}, 0
for layer in range(4):
    for name, runs in (("gate_up_proj", 16), ("down_proj", 8)):
        header[f"model.layers.{layer}.mlp.experts.{name}.input_moments"] = {
            "dtype": "F32", "shape": [runs, 16, 16], "data_offsets": [at, at + runs * 1024]}
        at += runs * 1024
text = json.dumps(header).encode()
open("stacks.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + bytes(at))
EOF
"$ckpt" doctor "$testdata/qwen35moe-micro" --for vllm --moments stacks.safetensors 2>&1 | grep -A9 "stacks"
"$ckpt" doctor "$model" --for llama.cpp --moments part.safetensors --json | grep '"statistics"'
"$ckpt" convert -q "$model" x.gguf --to bf16 2>/dev/null >&2
"$ckpt" doctor x.gguf --moments whole.safetensors 2>&1 | tail -1
echo "-- what it says, a conversion finds"
"$ckpt" convert -q "$model" a --to nvfp4-w4a16 --search best --moments wrong.safetensors; echo "exit $?"
"$ckpt" convert -q "$model" b --to nvfp4-w4a16 --search best --moments part.safetensors >/dev/null; echo "exit $?"
