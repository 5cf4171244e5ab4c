# FP8 with scales for blocks of 128 rows to NVFP4, sparse: as many threads as 16 cores would have stay below --memory, and
# write the bytes that two threads write with more.
cat > check.py <<'PYTHON'
import json, os, shutil, struct, subprocess, sys
ckpt, testdata = sys.argv[1:3]
HIDDEN, INNER, MEMORY_MIB = 16384, 6144, 160

def tensors(vocabulary):
    yield "model.embed_tokens.weight", "BF16", [vocabulary, HIDDEN]
    yield "lm_head.weight", "BF16", [vocabulary, HIDDEN]
    yield "model.norm.weight", "BF16", [HIDDEN]
    for name in ("input_layernorm", "post_attention_layernorm"): yield f"model.layers.0.{name}.weight", "BF16", [HIDDEN]
    for name, rows, columns in (("self_attn.q_proj", 256, HIDDEN), ("self_attn.k_proj", 256, HIDDEN), ("self_attn.v_proj", 256, HIDDEN),
                                ("self_attn.o_proj", HIDDEN, 256), ("mlp.gate_proj", INNER, HIDDEN), ("mlp.up_proj", INNER, HIDDEN),
                                ("mlp.down_proj", HIDDEN, INNER)):
        yield f"model.layers.0.{name}.weight", "F8_E4M3", [rows, columns]
        yield f"model.layers.0.{name}.weight_scale_inv", "F32", [rows // 128, columns // 128]

def write(folder):
    os.mkdir(folder)
    for file in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"): shutil.copy(f"{testdata}/llama-micro/{file}", folder)
    config = json.load(open(f"{testdata}/llama-micro/config.json"))
    config.update(hidden_size=HIDDEN, intermediate_size=INNER, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2,
                  head_dim=128, tie_word_embeddings=False, dtype="bfloat16", quantization_config={
                      "quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]})
    json.dump(config, open(f"{folder}/config.json", "w"))
    header, at = {}, 0
    for name, dtype, (rows, *columns) in tensors(config["vocab_size"]):
        size = rows * (columns or [1])[0] * {"BF16": 2, "F8_E4M3": 1, "F32": 4}[dtype]
        header[name] = {"dtype": dtype, "shape": [rows, *columns], "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    codes = bytes(0x20 + i * 7 % 0x50 | (i % 3 == 0) << 7 for i in range(4096))
    with open(f"{folder}/model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        start = file.tell()
        file.truncate(start + at)
        for entry in header.values():  # real scales, each block another; of the codes one page in 64
            begin, end = (start + offset for offset in entry["data_offsets"])
            if entry["dtype"] == "F32":
                file.seek(begin)
                file.write(b"".join(struct.pack("<f", (1 + i % 17) * 2.0 ** -9) for i in range((end - begin) // 4)))
            if entry["dtype"] == "F8_E4M3":
                for place in range(begin, end - 4096, 64 * 4096): os.pwrite(file.fileno(), codes, place)

def convert(*options):
    done = subprocess.Popen([ckpt, "convert", "in", "out", "--to", "nvfp4-w4a16", "--force", *options], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    sums = done.stdout.read()
    _, status, used = os.wait4(done.pid, 0)
    if status != 0: sys.exit(f"{options}: ended with {status}")
    return sums, used.ru_maxrss << 10

write("in")
few, _ = convert("-j", "2")
many, most = convert("-j", "16", "--memory", f"{MEMORY_MIB}M")
print("the same bytes" if many == few and "model" in few else "other bytes:\n" + few + many)
# Sanitizers take several times as much.
is_sanitized = any(word in open(ckpt, "rb").read() for word in (b"__asan_init", b"__tsan_init"))
if most > MEMORY_MIB << 20 and not is_sanitized: print("memory:", most >> 20, "MiB; expected at most", MEMORY_MIB)
shutil.rmtree("in")
shutil.rmtree("out")
PYTHON
python3 check.py "$ckpt" "$testdata"
