# Layers that servers handle, and cannot: vLLM 0.32 loaded each of these folders.
families="$testdata/families"
found() { "$ckpt" doctor "$1" --for vllm | grep -E "^(C40|C41|Q07|Q35|vllm)|fix: |^Fix all" | sed "s|$families/||"; }
echo "--- dense layers that are counted and listed differently, and a list without a count"
found "$families/glm-moe-dsa/hf"
cp -r "$families/glm4-moe-lite/hf" uncounted
cp -r "$families/glm4-moe-lite/hf" behind
python3 - << 'END'
import json
for name, types in (("uncounted", ["dense", "sparse"]), ("behind", ["sparse", "dense"])):
    config = json.load(open(f"{name}/config.json"))
    del config["first_k_dense_replace"]
    json.dump({**config, "mlp_layer_types": types}, open(f"{name}/config.json", "w"), indent=2)
END
found uncounted
"$ckpt" doctor behind --for vllm | grep -A3 "^C40"
for name in "$families/glm-moe-dsa/hf" uncounted behind; do
  "$ckpt" convert "$name" fixed --for vllm --quiet > sums; echo "exit $?"
  grep first_k_dense_replace fixed/config.json
  "$ckpt" doctor fixed --for vllm | head -1
  rm -r fixed
done
echo "--- a layer that shares keys and values with none before it, and with one"
found "$families/gemma4/hf"
cp -r "$families/gemma4/hf" shared
python3 - << 'END'
import json
config = json.load(open("shared/config.json"))
config["layer_types"][1] = "full_attention"
json.dump(config, open("shared/config.json", "w"), indent=2)
END
found shared
echo "--- blocks of FP8 that end within a part"
found "$families/deepseek-v3-fp8/hf"
"$ckpt" doctor "$families/deepseek-v3-fp8/hf" --for vllm-0.17 --for sglang | grep -A1 "^Q35"
python3 - << 'END'
import json, os, shutil, struct
# tinyllama's, its MLP of other widths: codes and scales of zeros.
source = os.path.join(os.environ["testdata"], "families/tinyllama/hf")
raw = open(f"{source}/model.safetensors", "rb").read()
size = struct.unpack("<Q", raw[:8])[0]
names = json.loads(raw[8:8 + size])
for rows in (64, 96, 128):
    folder = f"rows-{rows}"
    shutil.copytree(source, folder)
    config = json.load(open(f"{folder}/config.json"))
    config["intermediate_size"] = rows
    config["quantization_config"] = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128],
                                     "modules_to_not_convert": ["self_attn"]}
    json.dump(config, open(f"{folder}/config.json", "w"), indent=2)
    header, data = {"__metadata__": {"format": "pt"}}, b""
    def add(name, dtype, shape, content):
        global data
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    for name, entry in names.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        if ".mlp." not in name:
            add(name, entry["dtype"], entry["shape"], raw[8 + size + begin:8 + size + end])
            continue
        shape = [256, rows] if "down" in name else [rows, 256]
        blocks = [-(-one // 128) for one in shape]
        add(name, "F8_E4M3", shape, bytes(shape[0] * shape[1]))
        add(f"{name}_scale_inv", "F32", blocks, struct.pack("<f", 1) * (blocks[0] * blocks[1]))
    text = json.dumps(header).encode()
    open(f"{folder}/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)
END
for rows in 64 96 128; do echo "$rows rows"; found rows-$rows; done
echo "--- a head that the list calls by its name on the disk"
"$ckpt" convert "$families/gpt-neox/hf" neox --to nvfp4 --preset default-input-scale1 --quiet > sums
found neox
"$ckpt" doctor neox --for vllm-0.17 | head -1
"$ckpt" patch neox --step serving-config --quiet > sums
grep -A4 exclude_modules neox/hf_quant_config.json
found neox
"$ckpt" patch neox --step serving-config --dry-run | tail -1
echo "--- modules that vLLM calls otherwise, and stacked experts, when parts stay as they are"
while read -r name kept; do
  "$ckpt" convert "$families/$name/hf" kept --to nvfp4 --preset default-input-scale1 --keep "$kept" --quiet > sums
  found kept
  "$ckpt" patch kept --step serving-config --quiet > sums
  found kept
  grep -E "layers\.0|lm_head" kept/hf_quant_config.json
  rm -r kept
done << 'END'
granite4-h *.mamba.*
minimax-m2 *block_sparse_moe*
lfm2-moe *.feed_forward.w1
END
"$ckpt" convert "$families/granite4-h/hf" kept --to nvfp4 --preset default-input-scale1 --fp8 '*attn*' --quiet > sums
found kept
rm -r kept
echo "--- classes that join q, k and v in silence, and lists of whole names"
for name in stablelm starcoder2; do
  "$ckpt" convert "$families/$name/hf" whole --to nvfp4 --preset default-input-scale1 --keep '*self_attn*' --quiet > sums
  "$ckpt" doctor whole --for vllm --for vllm-0.17 | head -1
  python3 - << 'END'
import json
for file, part, field in (("config.json", "quantization_config", "ignore"), ("hf_quant_config.json", "quantization", "exclude_modules")):
    document = json.load(open(f"whole/{file}"))
    document[part][field] = ["lm_head"] + [f"model.layers.{i}.self_attn.{word}_proj" for i in range(2) for word in "qkvo"]
    json.dump(document, open(f"whole/{file}", "w"), indent=2)
END
  "$ckpt" doctor whole --for vllm --for vllm-0.17 | grep -E -A1 "^whole|^Q07"
  "$ckpt" patch whole --step serving-config --quiet > sums
  "$ckpt" doctor whole --for vllm --for vllm-0.17 | head -1
  rm -r whole
done
echo "--- matrices that are joined on the disk and run as several"
for name in granite4-h lfm2-moe; do
  "$ckpt" convert "$families/$name/hf" joined --to nvfp4 --preset default-input-scale1 --quiet > sums
  "$ckpt" doctor joined --for vllm-0.17 --for sglang --for vllm | grep -E -A3 "^Q34"
  rm -r joined
done
echo "--- the indexer of sparse attention"
"$ckpt" convert "$families/glm-moe-dsa/hf" indexer --to nvfp4 --preset default-input-scale1 --for vllm --quiet > sums; echo "exit $?"
"$ckpt" doctor indexer --for vllm | grep -A3 "^Q14"
