# Ten times as many tensors, keys, documents, list entries, options or steps take ten times the processor's time, and no
# more than thirty times; what looks for each among all takes a hundred times as long.
cat > check.py <<'PYTHON'
import json, os, resource, shutil, struct, subprocess, sys
ckpt, testdata = sys.argv[1:3]
FEW, MANY = 3_000, 30_000

def safetensors(path, tensors, metadata={}):
    header, at = {"__metadata__": metadata}, 0
    for name, shape in tensors:
        size = 2 * shape[0] * shape[1]
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        out.truncate(8 + len(text) + at)

def folder(path, tensors, config={}, metadata={}, files={}):
    os.makedirs(path)
    safetensors(f"{path}/model.safetensors", tensors, metadata)
    for name, text in {"config.json": json.dumps(config), **files}.items():
        os.makedirs(os.path.dirname(f"{path}/{name}"), exist_ok=True)
        with open(f"{path}/{name}", "w") as out: out.write(text)

def text(s): return struct.pack("<Q", len(s)) + s.encode()

def gguf(path, value, count):
    keys = [("general.architecture", "llama")] + [(f"k.{i}", value) for i in range(count)]
    out = bytearray(b"GGUF") + struct.pack("<IQQ", 3, 1, len(keys))
    for key, value in keys: out += text(key) + struct.pack("<I", 8) + text(value)
    out += text("w") + struct.pack("<IQIQ", 1, 8, 0, 0)
    with open(path, "wb") as file: file.write(out + bytes(-len(out) % 32 + 32))

def imatrix(path, prefix, count):
    keys = [("general.type", 8, text("imatrix")), ("imatrix.datasets", 9, struct.pack("<IQ", 8, 1) + text("w"))]
    keys += [("imatrix.chunk_count", 4, b"\x01\0\0\0"), ("imatrix.chunk_size", 4, b"\0\x02\0\0")]
    keys += [(f"{prefix}.{i}", 8, text("v")) for i in range(count)]
    tensors = [(f"blk.{i}.ffn_up.weight.{kind}", 64 * i + at) for i in range(count) for kind, at in (("in_sum2", 0), ("counts", 32))]
    out = bytearray(b"GGUF") + struct.pack("<IQQ", 3, len(tensors), len(keys))
    for key, kind, value in keys: out += text(key) + struct.pack("<I", kind) + value
    for name, at in tensors: out += text(name) + struct.pack("<IQQIQ", 2, 1, 1, 0, at)
    with open(path, "wb") as file: file.write(out + bytes(-len(out) % 32) + (struct.pack("<f", 512) + bytes(28)) * len(tensors))

def make(d, n):
    os.makedirs(d)
    plain = [(f"model.layers.{i // 10}.mlp.x{i % 10}.weight", [16, 16]) for i in range(n)]
    quantized = lambda ignored: {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ignored}}
    folder(f"{d}/tensors", plain)
    folder(f"{d}/others", [(f"m{i}.weight", [16, 16]) for i in range(n)])
    folder(f"{d}/globs", plain, quantized([f"*layers.{i}.*zz{i}*" for i in range(n)]))
    folder(f"{d}/names", plain, quantized([name[:-7] for name, _ in plain]))
    folder(f"{d}/config", plain[:1], {f"k{i}": i for i in range(n)})
    folder(f"{d}/a", plain[:1], metadata={f"k{i}": "v" for i in range(n)}, files={f"additional_chat_templates/a{i}.jinja": "" for i in range(n // 10)})
    folder(f"{d}/b", plain[:1], metadata={f"k{i}": "w" for i in range(n)}, files={f"additional_chat_templates/b{i}.jinja": "" for i in range(n // 10)})
    shutil.copytree(f"{testdata}/qwen3-micro", f"{d}/card")
    with open(f"{d}/card/README.md", "w") as out:
        out.write("---\ntags: [\n" + "".join(f"  t{i},\n" for i in range(n)) + "]\nbase_model:\n" + "".join(f"- a/b{i}\n" for i in range(n)) + "---\n")
    gguf(f"{d}/a.gguf", "v", n)
    gguf(f"{d}/b.gguf", "w", n)
    imatrix(f"{d}/i.gguf", "a", n)
    imatrix(f"{d}/j.gguf", "b", n)
    rename = ",".join(f"from=model.layers.{i}.,to=l{i}." for i in range(n // 10))
    drop = ",".join(f"tensors=*layers.{i}.*x3*" for i in range(n // 10))
    recipe = {"in": "tensors", "out": "out", "steps": ["rename:" + rename, "drop:" + drop.replace("model.layers.", "l").replace("*layers.", "l")]}
    with open(f"{d}/recipe.json", "w") as out: json.dump(recipe, out)
    with open(f"{d}/keys.json", "w") as out: json.dump({"in": "a.gguf", "steps": ["metadata:" + ",".join(f"set=n{i}=v,remove=k.{i}" for i in range(n // 2))]}, out)
    with open(f"{d}/steps.json", "w") as out:
        json.dump({"in": "others", "out": "out", "steps": [f"metadata:set=k{i}=v" for i in range(n // 30)]}, out)

LINES = """show D/tensors --tensors
show D/globs
doctor D/globs
doctor D/names
show D/config
doctor D/config
show D/a --metadata
show D/a.gguf --metadata
diff D/tensors D/others
diff D/a D/b
diff D/a.gguf D/b.gguf
convert D/tensors D/out --dry-run --step cast:type=f32
convert D/tensors D/out --dry-run --to nvfp4-w4a16
convert D/tensors D/out --dry-run --to nvfp4-w4a16 --target-bits 8 --json
patch D/names --dry-run --step rename:from=model.,to=x.
patch D/globs --dry-run --step serving-config
patch D/a.gguf --dry-run --step metadata:set=a=b
convert D/card D/out.gguf --dry-run --tokenizer-pre qwen2
patch --recipe D/keys.json --dry-run
imatrix show D/i.gguf --tensors
imatrix merge D/i.gguf D/j.gguf -o D/merged.gguf --force
doctor D/a.gguf --imatrix D/i.gguf
report D/tensors -o D/report.html --force
convert --recipe D/recipe.json --dry-run
convert --recipe D/steps.json --dry-run""".splitlines()

def seconds(line, folder, more):
    words = line.replace("D/", folder + "/").split() + more
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([ckpt, *words], stdin=subprocess.DEVNULL, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in (0, 1), (line, done.returncode, done.stderr[-500:])
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

# A machine that does other things as well may be slow for a while: what is in proportion is so in one of three attempts.
def is_in_proportion(line, more=lambda n: []):
    for attempt in range(3):
        few, many = (seconds(line, d, more(n)) for d, n in (("few", FEW), ("many", MANY)))
        if len(sys.argv) > 3: print(f"{few:7.3f} {many:7.3f} {many / few:6.1f}  {line}")
        if many <= 30 * max(few, 0.05): return True
    return False

make("few", FEW), make("many", MANY)
bad = [line for line in LINES if not is_in_proportion(line)]
keep = lambda n: [w for i in range(n // 3) for w in ("--keep", f"*layers.{i}.*")]
if not is_in_proportion("convert D/tensors D/out --to bf16 --dry-run", keep): bad.append("--keep")
assert not bad, bad
PYTHON
python3 check.py "$ckpt" "$testdata" ${show_times:-}
