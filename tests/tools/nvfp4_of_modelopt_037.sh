# The shape that ModelOpt 0.37 left: in_proj_a and in_proj_b quantized, only lm_head excluded, mixed precision said
# in hf_quant_config.json alone, input scales of shape [1]. The GGUF digests are those of llama.cpp v0.5.0's converter.
python3 - "$testdata/nvfp4/qwen35-micro-mixed/model.safetensors" > amax.json <<'END'
import json, re, struct, sys
file = open(sys.argv[1], "rb")
header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
names = [name[:-7] for name in header if re.search(r"(proj|in_proj_(a|b|z|qkv))\.weight$", name)]
print(json.dumps({name: 6.0 for name in names}))
END
"$ckpt" convert -q "$testdata/qwen35-micro" new --to nvfp4 --amax-from amax.json --only '*.mlp.*' --only '*_proj.weight' \
  --only '*.in_proj_qkv*' --only '*.in_proj_z*' $(seq 0 2 | sed 's/.*/--only model.layers.&.linear_attn.in_proj_a --only model.layers.&.linear_attn.in_proj_b/') >/dev/null
python3 - "$testdata/nvfp4/qwen35-micro-mixed" <<'END'
import json, os, shutil, struct, sys
def load(path):
    file = open(path, "rb")
    header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    data = file.read()
    return {k: (v["dtype"], v["shape"], data[slice(*v["data_offsets"])]) for k, v in header.items() if k != "__metadata__"}
def save(path, tensors):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))
def old(tensors):
    return {k: (t, [1] if k.endswith("input_scale") else s, d) for k, (t, s, d) in tensors.items()}
new, mixed = load("new/model.safetensors"), load(sys.argv[1] + "/model.safetensors")
added = {k: v for k, v in new.items() if "in_proj_a." in k or "in_proj_b." in k}
assert len(added) == 24
mixed = {k: v for k, v in mixed.items() if k not in added} | added
os.rename("new", "old-nvfp4")
shutil.copytree(sys.argv[1], "old-mixed")
os.system("chmod -R u+w old-mixed")
save("old-nvfp4/model.safetensors", old(new))
save("old-mixed/model.safetensors", old(mixed))
for folder in "old-nvfp4", "old-mixed":
    quant = json.load(open(folder + "/hf_quant_config.json"))
    config = json.load(open(folder + "/config.json"))
    quant["producer"]["version"] = "0.37.0"
    if folder == "old-nvfp4":
        quant["quantization"]["exclude_modules"] = ["lm_head"]
        config["quantization_config"]["ignore"] = ["lm_head"]
        config["quantization_config"]["producer"]["version"] = "0.37.0"
    else:
        del config["quantization_config"]
        for name in added:
            if name.endswith(".weight"):
                quant["quantization"]["quantized_layers"][name[:-7]] = {"quant_algo": "NVFP4", "group_size": 16}
    json.dump(quant, open(folder + "/hf_quant_config.json", "w"), indent=4)
    json.dump(config, open(folder + "/config.json", "w"), indent=2)
END
for shape in nvfp4 mixed; do
  echo "== $shape"
  "$ckpt" show "old-$shape" | grep 'quantization:\|layers:\|note:'
  "$ckpt" convert -q "old-$shape" "$shape.gguf" --no-mtp --tokenizer-pre qwen35
  "$ckpt" convert -q "old-$shape" "bf16-$shape" --to bf16 >/dev/null
  "$ckpt" diff "bf16-$shape" "old-$shape" --fail-if 'total.sqnr<50' >/dev/null 2>&1; echo "bf16 is near: $?"
  "$ckpt" convert -q "old-$shape" "all-$shape" --step mixed-to-nvfp4 >/dev/null && "$ckpt" show "all-$shape" | grep 'NVFP4\|FP8'
  "$ckpt" doctor "old-$shape" --for vllm | grep '^[A-Z][0-9]' || echo 'nothing for vllm'
done
