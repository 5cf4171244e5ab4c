# A folder shaped as DeepSeek-V3 in FP8, a quarter of its experts: 23 thousand tensors, 180 GB, sparse. Plans are made from
# headers alone, in memory that the tensors' number bounds.
cat > check.py <<'PYTHON'
import json, os, resource, shutil, struct, subprocess, sys
ckpt, testdata = sys.argv[1:3]
LAYERS, DENSE, EXPERTS, HIDDEN, INNER, WIDE, WORDS = 61, 3, 64, 7168, 2048, 18432, 129280
MAX_BYTES = 100 << 20
SIZES = {"BF16": 2, "F32": 4, "F8_E4M3": 1}

def tensors():
    def plain(name, *shape, dtype="BF16"): yield name, dtype, list(shape)
    def linear(name, rows, columns):
        yield name + ".weight", "F8_E4M3", [rows, columns]
        yield name + ".weight_scale_inv", "F32", [-(-rows // 128), -(-columns // 128)]
    def mlp(name, inner):
        yield from linear(name + "gate_proj", inner, HIDDEN)
        yield from linear(name + "up_proj", inner, HIDDEN)
        yield from linear(name + "down_proj", HIDDEN, inner)
    yield from plain("model.embed_tokens.weight", WORDS, HIDDEN)
    for layer in range(LAYERS):
        p = f"model.layers.{layer}."
        for name, rows, columns in (("q_a_proj", 1536, HIDDEN), ("q_b_proj", 128 * 192, 1536), ("kv_a_proj_with_mqa", 576, HIDDEN),
                                    ("kv_b_proj", 128 * 256, 512), ("o_proj", HIDDEN, 128 * 128)):
            yield from linear(p + "self_attn." + name, rows, columns)
        for name, size in (("self_attn.q_a_layernorm", 1536), ("self_attn.kv_a_layernorm", 512), ("input_layernorm", HIDDEN),
                           ("post_attention_layernorm", HIDDEN)):
            yield from plain(p + name + ".weight", size)
        if layer < DENSE:
            yield from mlp(p + "mlp.", WIDE)
            continue
        yield from plain(p + "mlp.gate.weight", EXPERTS, HIDDEN)
        yield from plain(p + "mlp.gate.e_score_correction_bias", EXPERTS, dtype="F32")
        for expert in range(EXPERTS): yield from mlp(f"{p}mlp.experts.{expert}.", INNER)
        yield from mlp(p + "mlp.shared_experts.", INNER)
    yield from plain("model.norm.weight", HIDDEN)
    yield from plain("lm_head.weight", WORDS, HIDDEN)

def write(folder):
    source = f"{testdata}/families/deepseek-v3/hf"
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.safetensors*"))
    config = json.load(open(f"{source}/config.json"))
    config.update(num_hidden_layers=LAYERS, n_routed_experts=EXPERTS, hidden_size=HIDDEN, intermediate_size=WIDE,
                  moe_intermediate_size=INNER, num_attention_heads=128, num_key_value_heads=128, q_lora_rank=1536, kv_lora_rank=512,
                  qk_nope_head_dim=128, qk_rope_head_dim=64, qk_head_dim=192, head_dim=64, v_head_dim=128,
                  first_k_dense_replace=DENSE, vocab_size=WORDS, num_nextn_predict_layers=0,
                  quantization_config={"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]})
    json.dump(config, open(f"{folder}/config.json", "w"))
    shards, at = [{}], 0
    for name, dtype, shape in tensors():
        size = SIZES[dtype]
        for axis in shape: size *= axis
        if at + size > 4_300_000_000: shards, at = shards + [{}], 0
        shards[-1][name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    places = {}
    for number, header in enumerate(shards, 1):
        file = f"model-{number:05d}-of-{len(shards):05d}.safetensors"
        text = json.dumps(header).encode()
        with open(f"{folder}/{file}", "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text)
            out.truncate(8 + len(text) + max(entry["data_offsets"][1] for entry in header.values()))
        places.update(dict.fromkeys(header, file))
    json.dump({"weight_map": places}, open(f"{folder}/model.safetensors.index.json", "w"))
    print(len(places), "tensors in", len(shards), "files")

write("in")
PRE = ("--tokenizer-pre", "deepseek-v3")
for out, *options in (("o.gguf", "--to", "q4_k_m", *PRE), ("o.gguf", "--to", "bf16", *PRE), ("o", "--to", "bf16"),
                      ("o", "--step", "dequantize", "--to", "nvfp4-w4a16")):
    done = subprocess.run([ckpt, "convert", "in", out, *options, "--dry-run", "--json"], capture_output=True, text=True)
    if done.returncode != 0: sys.exit(done.stderr)
    summary = json.loads(done.stdout.splitlines()[-1])
    print(*options, "->", *(f"{key} {summary[key]}" for key in ("tensors", "files", "tensor_bytes")))
# Sanitizers take several times as much.
is_sanitized = any(word in open(ckpt, "rb").read() for word in (b"__asan_init", b"__tsan_init"))
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10
if most > MAX_BYTES and not is_sanitized: print("memory:", most, "bytes; expected at most", MAX_BYTES)
PYTHON
python3 check.py "$ckpt" "$testdata"
