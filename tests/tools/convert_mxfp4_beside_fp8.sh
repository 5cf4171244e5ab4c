# DeepSeek-V4's layout: MXFP4 experts become NVFP4 with the values they have, and FP8 becomes BF16 or keeps its bytes
cat >make.py <<'PY'
import json, os, random, struct
rng = random.Random(4)

def save(path, tensors):
    head, at = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(head).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))

def load(folder):
    out = {}
    for path in sorted(p for p in os.listdir(folder) if p.endswith(".safetensors")):
        data = open(f"{folder}/{path}", "rb").read()
        size = struct.unpack("<Q", data[:8])[0]
        for name, entry in json.loads(data[8:8 + size]).items():
            if name != "__metadata__":
                first, last = entry["data_offsets"]
                out[name] = (entry["dtype"], entry["shape"], data[8 + size:][first:last])
    return out

def mxfp4(out, stem, rows, groups, exponents):
    codes = bytearray(rng.randbytes(rows * groups * 16))
    codes[32:48] = bytes(16)  # the third block: zeros
    out[stem + ".weight"] = ("I8", [rows, groups * 16], bytes(codes))
    out[stem + ".scale"] = ("F8_E8M0", [rows, groups], bytes(rng.choice(exponents) for _ in range(rows * groups)))

def fp8(out, stem, rows, columns):
    blocks = [-(-rows // 128), -(-columns // 128)]
    out[stem + ".weight"] = ("F8_E4M3", [rows, columns], bytes(rng.randrange(0x7f) for _ in range(rows * columns)))
    out[stem + ".scale"] = ("F8_E8M0", blocks, bytes(rng.randint(110, 125) for _ in range(blocks[0] * blocks[1])))

def model():
    t = {"embed.weight": ("BF16", [8, 96], bytes(8 * 96 * 2))}
    for block in ("layers.0", "mtp.0"):
        fp8(t, block + ".attn.wq_a", 160, 96)
        t[block + ".ffn.gate.weight"] = ("BF16", [2, 96], bytes(2 * 96 * 2))
        t[block + ".ffn.gate.scale"] = ("BF16", [2], bytes(4))  # of a name like theirs, and no part of a weight
        for layer, (rows, groups) in {"w1": (33, 3), "w2": (96, 2), "w3": (33, 3)}.items():
            for expert in range(2):
                # w1 and w3 share K; of the second expert's w2 some blocks are too small
                exponents = {"w1": range(104, 119), "w2": range(90 if expert else 101, 119), "w3": range(107, 121)}[layer]
                mxfp4(t, f"{block}.ffn.experts.{expert}.{layer}", rows, groups, exponents)
            fp8(t, f"{block}.ffn.shared_experts.{layer}", rows, groups * 32)
    return t

CONFIG = {"architectures": ["DeepseekV4ForCausalLM"], "model_type": "deepseek_v4", "num_hidden_layers": 1,
          "num_nextn_predict_layers": 1, "expert_dtype": "fp4",
          "quantization_config": {"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8",
                                  "scale_fmt": "ue8m0", "weight_block_size": [128, 128]}}

def folder(name, shards):
    os.makedirs(name)
    json.dump(CONFIG, open(name + "/config.json", "w"))
    where = {}
    for i, tensors in enumerate(shards):
        file = "model.safetensors" if len(shards) == 1 else f"model-{i + 1:05}-of-{len(shards):05}.safetensors"
        save(f"{name}/{file}", tensors)
        where |= {tensor: file for tensor in tensors}
    if len(shards) > 1:
        json.dump({"metadata": {}, "weight_map": where}, open(name + "/model.safetensors.index.json", "w"))
PY
python3 - <<'PY'
from make import *
t = model()
folder("one", [t])
folder("split", [{n: v for n, v in t.items() if n.endswith(".weight")}, {n: v for n, v in t.items() if n.endswith(".scale")}])
PY
"$ckpt" show one | sed -n 2p
to="--to nvfp4 --preset experts-only-input-scale1"
"$ckpt" convert one bf16 $to --json 2>said | grep -o '"moved_[a-z]*":[0-9]*'
grep note: said
"$ckpt" convert one fp8 $to --rest fp8 2>&1 >/dev/null | grep note:
for rest in bf16 fp8; do
  "$ckpt" convert -q split s-$rest $to --rest $rest >/dev/null
  cmp $rest/model.safetensors s-$rest/model.safetensors && cmp $rest/config.json s-$rest/config.json && echo "$rest: the same from two shards"
done
cat >compare.py <<'PY'
import math
from make import *
E2M1 = [0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6]

def e4m3(byte):
    exponent, fraction = byte >> 3 & 15, byte & 7
    return math.ldexp(8 + fraction, exponent - 10) if exponent else math.ldexp(fraction, -9)

def codes(data):
    return [E2M1[code] for byte in data for code in (byte & 15, byte >> 4)]

def compare(source, made, stem):
    """How many blocks of 32 are the same, of how many."""
    old = [c * 2. ** (e - 127) for c, e in zip(codes(source[stem + ".weight"][2]), (e for e in source[stem + ".scale"][2] for _ in range(32)))]
    scale_2 = struct.unpack("<f", made[stem + ".weight_scale_2"][2])[0]
    new = [c * e4m3(s) * scale_2 for c, s in zip(codes(made[stem + ".weight"][2]), (s for s in made[stem + ".weight_scale"][2] for _ in range(16)))]
    assert len(old) == len(new)
    return sum(old[i:i + 32] == new[i:i + 32] for i in range(0, len(old), 32)), len(old) // 32, scale_2
PY
python3 - <<'PY'
from compare import *
one = load("one")
for name in ("bf16", "fp8"):
    made = load(name)
    for stem in sorted(n[:-7] for n in one if n.startswith("layers.0.ffn.experts.") and n.endswith(".weight")):
        parts = {n[len(stem):]: made[n][:2] for n in made if n.startswith(stem + ".")}
        exact, blocks, scale_2 = compare(one, made, stem)
        print(name, stem, f"{exact} of {blocks} blocks exact, scale_2 2^{math.log2(scale_2):g}", *parts if stem.endswith("0.w1") else "")
    same = [n for n in one if made.get(n) == one[n]]
    print(name, "kept bit for bit:", len(same), "of", len(one), "; scales that stay:", sum(n.endswith(".scale") for n in made))
print(json.load(open("fp8/config.json"))["quantization_config"])
print([json.load(open(folder + "/config.json")).get("expert_dtype") for folder in ("one", "fp8", "bf16")])
print(sorted(json.load(open("fp8/hf_quant_config.json"))["quantization"]["quantized_layers"]))
PY
echo "== and back: what stays and what was moved has the source's values"
"$ckpt" convert -q one floats --to bf16 >/dev/null
"$ckpt" convert fp8 back --to bf16 2>&1 >/dev/null | grep note:
"$ckpt" convert one f16 --step dequantize:type=f16 --json 2>&1 | grep -o 'note: .*\|"second_error":[0-9.e-]*' | sort | uniq -c
"$ckpt" diff floats back --values 2>/dev/null | grep -E '^ *(layers|mtp|embed)|differ|same'
echo "== NVIDIA's recipe for it, whose experts have quantizers by the names w1_weight_quantizer"
cat >recipe.yaml <<'YAML'
imports:
  base_disable_all: configs/ptq/units/base_disable_all
  nvfp4: configs/numerics/nvfp4
metadata:
  recipe_type: ptq
quantize:
  algorithm:
    method: max
  quant_cfg:
    - $import: base_disable_all
    - quantizer_name: "*ffn.experts.*.w*_weight_quantizer"
      enable: true
      cfg:
        $import: nvfp4
    - quantizer_name: "*ffn.experts.*.w*_input_quantizer"
      enable: true
      cfg:
        $import: nvfp4
    - quantizer_name: "*shared_experts*"
      enable: false
    - quantizer_name: "*mtp.*"
      enable: false
YAML
"$ckpt" convert one r --to nvfp4 --preset recipe.yaml --rest fp8 2>&1 | grep -v note:
"$ckpt" convert -q one r --to nvfp4 --preset recipe.yaml --rest fp8 --amax-from fp8 >/dev/null
cmp fp8/model.safetensors r/model.safetensors && cmp fp8/config.json r/config.json && echo "as the preset, with maxima of an earlier export"
echo "== what does not fit"
cat >change.py <<'PY'
import sys
from make import *
P = "layers.0.ffn.experts.1.w1"
t = load("one")
W, S = t[P + ".weight"], t[P + ".scale"]
changes = {
    "codes called U8": {P + ".weight": ("U8", *W[1:])},
    "no scale": {P + ".scale": None},
    "scale of fewer rows": {P + ".scale": ("F8_E8M0", [32, 3], S[2][:96])},
    "scale of floats": {P + ".scale": ("F32", S[1], bytes(4 * len(S[2])))},
    "scale that is NaN": {P + ".scale": (*S[:2], b"\xff" + S[2][1:])},
    "scale of 2^127": {P + ".scale": (*S[:2], b"\xfe" * len(S[2]))},
    "rows of 80 values": {P + ".weight": ("I8", [33, 40], W[2][:33 * 40])},
    "nothing but zeros": {P + ".weight": (*W[:2], bytes(len(W[2]))), P + ".scale": (*S[:2], bytes(len(S[2])))}}
for i, (what, change) in enumerate(changes.items()):
    folder(f"c{i}", [{n: v for n, v in (t | change).items() if v}])
    print(what)
PY
python3 change.py >changes
i=0
while read -r what; do
  echo "-- $what"
  "$ckpt" convert -q c$i x$i $to --rest fp8 2>&1 >/dev/null; echo "exit $?"
  i=$((i + 1))
done <changes
cmp x0/model.safetensors fp8/model.safetensors && echo "U8: the same bytes"
"$ckpt" convert one x $to --rest fp8 --keep '*layers.0.ffn.experts.1.*' 2>&1
"$ckpt" convert one x --to nvfp4 --preset mlp-only-input-scale1 --rest fp8 --only '*w1' 2>&1 | grep -v note:
test -e x || echo "nothing was written"
echo "== to FP8 with a scale a tensor"
"$ckpt" convert one e4m3 --to fp8 --only '*.experts.*' --amax-from fp8 --json 2>said | grep -o '"moved_[a-z]*":[0-9]*'
grep -v "B read" said
"$ckpt" convert -q one requantized --step dequantize --to fp8 --only '*.experts.*' --amax-from fp8 >/dev/null
cmp -s e4m3/model.safetensors requantized/model.safetensors || echo "not what is made of the floats' largest magnitudes"
echo "== an expert without one of its matrices"
python3 - <<'PY'
from make import *
t = model()
for end in ("weight", "scale"): del t["layers.0.ffn.experts.1.w3." + end]
folder("part", [t])
PY
"$ckpt" convert part x $to 2>&1
"$ckpt" convert -q part x --to nvfp4-w4a16 --only 'layers.0.attn.wq_a' >/dev/null && echo "that are not quantized are copied"
