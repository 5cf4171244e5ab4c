# The same model in other forms: a folder and GGUF, text and wrapped, experts in stacks and one by one, two layouts of
# NVFP4. The verdict comes first, what is worst after it.
T=$testdata
"$ckpt" convert -q "$T/qwen3-micro" same.gguf --tokenizer-pre qwen2 >/dev/null
"$ckpt" convert -q "$T/qwen3-micro" q.gguf --to q4_k_m --tokenizer-pre qwen2 >/dev/null
"$ckpt" convert -q "$T/qwen35vl-micro" text --step vl-unwrap >/dev/null
"$ckpt" convert -q "$T/qwen35moe-micro" experts --to nvfp4-w4a16 >/dev/null
"$ckpt" convert -q "$T/qwen3-micro" n --to nvfp4-w4a16 >/dev/null
"$ckpt" convert -q n ct --step nvfp4-layout:to=compressed-tensors >/dev/null
python3 - "$T/qwen35moe-micro" stacks <<'PYTHON'
import json, re, shutil, struct, sys
source, out = sys.argv[1:]
shutil.copytree(source, out)
data = open(f"{source}/model.safetensors", "rb").read()
size = struct.unpack_from("<Q", data)[0]
header = json.loads(data[8:8 + size])
found, stacks = {}, {}
for name, entry in header.items():
    if name == "__metadata__": continue
    first, last = entry["data_offsets"]
    found[name] = (entry["dtype"], entry["shape"], data[8 + size + first:8 + size + last])
    if at := re.fullmatch(r"(.*\.experts)\.(\d+)\.(gate|up|down)_proj\.weight", name):
        stacks.setdefault(at[1], {})[int(at[2]), at[3]] = found.pop(name)
assert stacks
for name, parts in stacks.items():
    count = max(expert for expert, _ in parts) + 1
    for stack, words in (("gate_up_proj", ("gate", "up")), ("down_proj", ("down",))):
        dtype, shape, _ = parts[0, words[0]]
        joined = b"".join(parts[expert, word][2] for expert in range(count) for word in words)
        found[f"{name}.{stack}"] = (dtype, [count, shape[0] * len(words), shape[1]], joined)
header, body = {}, b""
for name, (dtype, shape, raw) in found.items():
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(raw)]}
    body += raw
text = json.dumps(header).encode()
open(f"{out}/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + body)
PYTHON
say() { echo "-- diff $*"; "$ckpt" diff "$@"; echo "exit $?"; }
say "$T/qwen3-micro" same.gguf
say q.gguf "$T/qwen3-micro" --top 2
say "$T/qwen35vl-micro" text
say "$T/qwen35moe-micro" experts --top 1
say "$T/qwen35moe-micro" stacks
say experts stacks --top 1
say n ct --values --top 1
say n ct --top 1
say "$T/qwen3-micro" n --top 3
"$ckpt" diff "$T/qwen3-micro" n --values 2>&1 | awk 'length($0) > 200'
