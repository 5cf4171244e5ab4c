# A number of a document is counted against what is there before anything is made of it: no command takes 100 MB or 5 s, whatever
# layers, experts, tokens or blocks a few bytes claim, and however long the lists are that layers are looked up in.
python3 - "$ckpt" "$testdata/families" <<'PY'
import json, os, pathlib, resource, shutil, struct, subprocess, sys
ckpt, families = sys.argv[1], pathlib.Path(sys.argv[2])
to_gguf = ["convert", "m", "o.gguf", "--dry-run", "-q"]
others = [["doctor", "m", "-q"], ["convert", "m", "o", "--to", "nvfp4-w4a16", "--dry-run", "-q"], ["show", "m"], ["diff", "m", "n"],
          ["patch", "m", "--step", "serving-config", "--dry-run", "-q"]]
documents = ["config.json", "generation_config.json", "preprocessor_config.json", "tokenizer_config.json", "added_tokens.json", "tokenizer.json"]
more = ["num_nextn_predict_layers", "mtp_num_hidden_layers", "num_experts", "n_routed_experts", "num_local_experts",
        "full_attention_interval", "decoder_sparse_step", "num_kv_shared_layers", "first_k_dense_replace"]
values = (10**7, 2**31 - 1, 10**12)
def numbers(json_value, at=()):
    items = json_value.items() if isinstance(json_value, dict) else enumerate(json_value[:2]) if isinstance(json_value, list) else ()
    for key, value in items:
        if isinstance(value, (dict, list)): yield from numbers(value, at + (key,))
        elif isinstance(value, int) and not isinstance(value, bool): yield at + (key,)
limits = lambda: resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
tried = 0
def attempt(what, *commands):
    global tried
    for command in commands:
        process = subprocess.Popen([ckpt, *command, "-j1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limits)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = 0
        tried += 1
        if used.ru_maxrss > 100_000 or os.waitstatus_to_exitcode(status) not in (0, 1, 2, 3):
            print(what, *command, f"{used.ru_maxrss // 1000} MB", status)
def start(family):
    for name in "mn":
        shutil.rmtree(name, ignore_errors=True)
        shutil.copytree(families / family / "hf", name)
def write(document, content): pathlib.Path("m", document).write_text(json.dumps(content))

# deepseek-v3: tokenizer.json; llama-spm: tokenizer.model; kimi-k2: tiktoken.model; gemma4: byte fallback
for family in ["deepseek-v3", "llama-spm", "kimi-k2", "gemma4", "qwen3-vl"]:
    start(family)
    for document in documents:
        if not pathlib.Path("m", document).exists(): continue
        content = json.loads(pathlib.Path("n", document).read_text())
        places = list(dict.fromkeys(numbers(content)))
        if document == "config.json": places += [place for place in dict.fromkeys((*p[:-1], key) for p in places[:1] for key in more) if place not in places]
        else: places = [place for place in places if place[0] != "model" or "merges" not in place][:6]
        for i, place in enumerate(places):
            for k in range(3 if place[-1] == "vocab_size" else 1):
                changed = json.loads(json.dumps(content))
                inner = changed
                for key in place[:-1]: inner = inner[key]
                inner[place[-1]] = values[(i + k) % 3]
                write(document, changed)
                attempt(f"{family} {document} {place} {inner[place[-1]]}", to_gguf, *([others[i % 5]] if document == "config.json" else []))
        write(document, content)

# No embedding says how many tokens there may be.
start("granite4-h")
data = pathlib.Path("m/model.safetensors").read_bytes()
size = struct.unpack("<Q", data[:8])[0]
header = {name: entry for name, entry in json.loads(data[8:8 + size]).items() if "embed_tokens" not in name}
kept, bytes_kept = {}, b""
for name, entry in header.items():
    if name == "__metadata__": continue
    piece = data[8 + size:][slice(*entry["data_offsets"])]
    kept[name] = {**entry, "data_offsets": [len(bytes_kept), len(bytes_kept) + len(piece)]}
    bytes_kept += piece
text = json.dumps(kept).encode()
pathlib.Path("m/model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + bytes_kept)
config = json.loads(pathlib.Path("m/config.json").read_text())
write("config.json", config | {"vocab_size": 10**7})
attempt("no embedding", to_gguf)

# Layers are looked up in lists in one pass.
for family, key in [("qwen3-moe", "mlp_only_layers"), ("lfm2-moe", "full_attn_idxs")]:
    start(family)
    config = json.loads(pathlib.Path("m/config.json").read_text())
    config.pop("layer_types", None)
    write("config.json", config | {"num_hidden_layers": 10**4, key: list(range(200_000))})
    attempt(f"{family} {key}", to_gguf, others[0])
print("numbers were tried" if tried > 250 else tried)
PY
