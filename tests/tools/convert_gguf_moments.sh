# --search best --moments for GGUF: K-quants rounded with error feedback
model="$testdata/qwen3-micro"
python3 - <<'EOF'
import json, struct
# Inputs that go up and down together in part, in runs of 64 columns; of all layers but the last.
def write(path, shapes):
    header, data = {}, b""
    for name, runs, n in shapes:
        block = struct.pack(f"<{n * n}f", *(2.0 + i % 5 if i == j else 1.0 for i in range(n) for j in range(n)))
        header[name + ".input_moments"] = {"dtype": "F32", "shape": [runs, n, n], "data_offsets": [len(data), len(data) + runs * len(block)]}
        data += runs * block
    text = json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)
layers = [(f"model.layers.{i}.{name}", columns // 64, 64) for i in range(2)
          for name, columns in (("self_attn.q_proj", 256), ("self_attn.o_proj", 256), ("mlp.up_proj", 256), ("mlp.down_proj", 512))]
write("m.safetensors", layers)
write("wrong.safetensors", [("model.layers.0.mlp.up_proj", 3, 64)])
write("other.safetensors", [("model.layers.0.mlp.gone", 4, 64)])
EOF
"$ckpt" convert -q "$model" best.gguf --to q4_k_m --search best >/dev/null
"$ckpt" convert "$model" fed.gguf --to q4_k_m --search best --moments m.safetensors 2>&1 >/dev/null | grep note:
cmp -s best.gguf fed.gguf || echo "other bytes"
for given in "-j 1" "-j 3 --memory 64MB"; do
  "$ckpt" convert -q "$model" again.gguf --force --to q4_k_m --search best --moments m.safetensors $given >/dev/null
  cmp fed.gguf again.gguf && echo "the same with $given"
done
"$ckpt" convert -q "$model" bf16.gguf --to bf16 >/dev/null
"$ckpt" convert -q "$model" step.gguf --step to-gguf --step quantize:type=q4_k_m,search=best,moments=m.safetensors >/dev/null && cmp fed.gguf step.gguf && echo "the same by a step"
"$ckpt" show best.gguf --json | sed -n 1p | grep -o '"types".*' >best.types; "$ckpt" show fed.gguf --json | sed -n 1p | grep -o '"types".*' | cmp - best.types && echo "of the same types"
"$ckpt" convert "$model" both.gguf --to q6_k --search best --moments m.safetensors --also both=nvfp4 --preset default-input-scale1 2>&1 >/dev/null | grep note:
echo "-- what is refused or has no effect"
for options in "--to q4_k_m --moments m.safetensors" "--to q4_k_m --search best --moments wrong.safetensors" \
  "--to q4_k_m --search best --moments missing.safetensors" "--to q4_k_m --search best --moments $model" "--to q8_0 --search best --moments m.safetensors" \
  "--to bf16 --search best --moments m.safetensors"; do
  "$ckpt" convert "$model" x.gguf --force $options 2>&1 >/dev/null | grep -v "B read\|^Next\|MB/s"
done
"$ckpt" convert "$model" y.gguf --to q4_k_m --search best --moments other.safetensors 2>&1 >/dev/null | grep note:
cmp best.gguf y.gguf && echo "as without"
