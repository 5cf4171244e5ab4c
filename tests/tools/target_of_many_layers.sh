# A target for a folder of four times as many layers takes about four times as long, not sixteen.
cat > check.py <<'PYTHON'
import json, os, resource, struct, subprocess, sys
ckpt = sys.argv[1]

def write(folder, layers):
    os.makedirs(folder)
    header, at = {}, 0
    for layer in range(layers):
        for expert in range(64):
            for name, shape in (("gate_proj", [16, 32]), ("up_proj", [16, 32]), ("down_proj", [32, 16])):
                header[f"model.layers.{layer}.mlp.experts.{expert}.{name}.weight"] = {
                    "dtype": "BF16", "shape": shape, "data_offsets": [at, at + 1024]}
                at += 1024
    text = json.dumps(header).encode()
    with open(f"{folder}/model.safetensors", "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + bytes(range(32, 96)) * (at // 64))
    json.dump({"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "num_hidden_layers": layers, "num_experts": 64},
              open(f"{folder}/config.json", "w"))

def seconds(folder, layers):
    write(folder, layers)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([ckpt, "convert", folder, "out", "--to", "nvfp4-w4a16", "--target-bits", "8", "--dry-run", "-q"], check=True,
                   stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

few, many = seconds("few", 20), seconds("many", 80)
print("in proportion" if many < 8 * few else f"{few:.1f} s, and {many:.1f} s for four times as many")
PYTHON
python3 check.py "$ckpt"
