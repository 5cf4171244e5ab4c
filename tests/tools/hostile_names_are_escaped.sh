# Every command on names with all that moves a cursor; with colors, as on a terminal.
cat > check.py <<'PYTHON'
import json, os, re, struct, subprocess, sys
HOSTILE = ["\x1b[31m\x1b]0;x\x07", "a\nb\rc\td\x08\x7f\x00", "\u202egnp\u2066\u2069\u202c", "\x85\x9b1m", "\u2028\u200f\u061c"]
name = "".join(HOSTILE)
file_name = name.replace("\0", "").replace("/", "").encode() + b"\xff\xfe"

def safetensors(path, tensors, metadata):
    header, data = {"__metadata__": metadata}, b""
    for key, shape in tensors.items():
        size = 2
        for n in shape: size *= n
        header[key] = {"dtype": "BF16", "shape": shape, "data_offsets": [len(data), len(data) + size]}
        data += bytes(size)
    text = json.dumps(header).encode()
    with open(path, "wb") as out: out.write(struct.pack("<Q", len(text)) + text + data)

def text(s):
    raw = s.encode() if isinstance(s, str) else s
    return struct.pack("<Q", len(raw)) + raw

def gguf(path, keys, tensors):
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    for key, value in keys: out += text(key) + struct.pack("<I", 8) + text(value)
    for i, key in enumerate(tensors): out += text(key) + struct.pack("<IQIQ", 1, 8, 0, 32 * i)
    out += bytes(-len(out) % 32) + bytes(32 * len(tensors))
    with open(path, "wb") as file: file.write(out)

for folder in (b"a", b"b", b"bad", file_name):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, b"config.json"), "w") as out:
        json.dump({"architectures": [name], "model_type": name, "dtype": name, "hidden_act": name, "rope_scaling": {name: name},
                   "quantization_config": {"quant_method": "modelopt", "quant_algo": name, "ignore": [name, "*" + name], "producer": {"name": name, "version": name}}}, out)
    with open(os.path.join(folder, b"tokenizer_config.json"), "w") as out: json.dump({"tokenizer_class": name, name: name}, out)
    with open(os.path.join(folder, b"README.md"), "w") as out: out.write("---\nlicense: &x " + name + "\n---\n")
    safetensors(os.path.join(folder, b"model.safetensors"), {name + ".weight": [16, 16], folder.decode(errors="replace") + name: [3]}, {"format": "pt", name: name})
with open(os.path.join(b"a", file_name), "w") as out: out.write("x")
gguf("a.gguf", [("general.architecture", name), (name, name), ("raw", b"\xff\x1b")], [b"\xff\x1b[2J\n", name[:8]])
gguf("b.gguf", [("general.architecture", "x"), (name, "other")], [b"\xff\x1b[2J\n", b"other\n"])
open("cut.gguf", "wb").write(open("a.gguf", "rb").read()[:150])
open("recipe.json", "w").write(json.dumps({"in": name, "out": name, name: name}))

ckpt = sys.argv[1]
word = name.replace("\0", "")
seen = 0
COLORS = re.compile(rb"\x1b\[[0-9;]*m")
BAD = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

def run(*words):
    global seen
    done = subprocess.run([ckpt, *words], stdin=subprocess.DEVNULL, capture_output=True)
    for stream in (done.stdout, done.stderr):
        try:
            found = BAD.search(COLORS.sub(b"", stream).decode())
        except UnicodeDecodeError as error:
            found = error
        assert not found, (words, found, stream)
        seen += len(re.findall(rb"\\x1b|\\u202e|\\u001b", stream))
    if "--json" in words:
        for line in done.stdout.splitlines(): json.loads(line)
    assert done.returncode in (0, 1, 2), (words, done)

LINES = [
    ["show", "a", "--tensors", "--metadata"], ["show", "a.gguf", "--tensors", "--metadata"], ["show", "cut.gguf"], ["show", file_name],
    ["show", "a", "--tensors=" + word], ["show", word], ["show", b"\xff"],
    ["doctor", "a"], ["doctor", "a.gguf"], ["doctor", "cut.gguf"], ["doctor", file_name], ["doctor", "a", "--for", word], ["doctor", "a", "--fix"],
    ["diff", "a", "b"], ["diff", "a", "b", "--values"], ["diff", "a.gguf", "b.gguf"], ["diff", "a", "b", "--fail-if", word], ["diff", file_name, "b"],
    ["convert", "a", "out.gguf", "--to", "q8_0"], ["convert", "a", "out", "--dry-run"], ["convert", "a", "out", "--shard-size", word],
    ["convert", "a", b"out" + file_name], ["convert", "a", b"out" + file_name], ["convert", file_name, "out2", "--step", "rename:from=model,to=" + word],
    ["convert", "--recipe", "recipe.json"], ["convert", "a", "o3", "--keep", word, "--to", "bf16"], ["convert", "a", "o4", "--plan-out", word], ["execute", word],
    ["patch", "a", "--step", "config:set=" + word + "=1", "--dry-run"], ["patch", "b", "--step", "config:set=" + word + "=1"], ["patch", "a", "--step", word],
    ["patch", b"out" + file_name, "--step", "metadata:set=" + word + "=" + word], ["patch", "a", "--step", "drop:tensors=" + word],
    ["publish", "a", "--card", "-"], ["publish", "b"], ["publish", b"out" + file_name, "--archive", word + ".tar.zst"], ["verify", word + ".tar.zst"],
    ["verify", "a"], ["verify", "b"], ["verify", b"out" + file_name], ["verify", word], ["list", word], ["completion", word], [word], ["show", "--" + word, "a"],
]
for words in LINES:
    run(*words)
    run(*words, "--color", "always")
    run(*words, "--json")
assert seen > 100, seen
PYTHON
python3 check.py "$ckpt"
