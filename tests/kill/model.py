"""Makes a checkpoint large enough to be interrupted: testdata/qwen3-micro with more and wider layers.

    make(target, testdata, layers, inner)    BF16; about 1.5 kB x layers x inner
    make_adapter(target, model, rank)        a LoRA adapter of its MLPs, BF16
"""
import json
import os
import pathlib
import random
import shutil
import struct

MODEL = "qwen3-micro"


def block(seed, size_bytes):
    """BF16 values between 2^-8 and 2^-4, of either sign: none is Inf or NaN."""
    rng = random.Random(seed)
    raw = bytearray(rng.randbytes(size_bytes))
    raw[1::2] = bytes(rng.choices((0x3B, 0x3C, 0x3D, 0xBB, 0xBC, 0xBD), k=size_bytes // 2))
    return bytes(raw)


def make(target, testdata, layers, inner):
    source, target = pathlib.Path(testdata) / MODEL, pathlib.Path(target)
    shutil.copytree(source, target)
    weights = target / "model.safetensors"
    with open(weights, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    config = json.loads((target / "config.json").read_text())
    old_inner = config["intermediate_size"]
    config.update(intermediate_size=inner, num_hidden_layers=layers, max_window_layers=layers,
                  layer_types=["full_attention"] * layers)
    (target / "config.json").write_text(json.dumps(config, indent=2) + "\n")

    shapes = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        shape = [inner if n == old_inner and ".mlp." in name else n for n in entry["shape"]]
        if ".layers." not in name:
            shapes[name] = shape
        elif ".layers.0." in name:
            for layer in range(layers):
                shapes[name.replace(".layers.0.", f".layers.{layer}.")] = shape
    at, entries = 0, {}
    for name in sorted(shapes):
        size = 2
        for n in shapes[name]:
            size *= n
        entries[name] = {"dtype": "BF16", "shape": shapes[name], "data_offsets": [at, at + size]}
        at += size
    text = json.dumps({"__metadata__": {"format": "pt"}, **entries}).encode()
    text += b" " * (-len(text) % 8)
    values = block(7, 8 << 20)
    with open(weights, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for number, entry in enumerate(entries.values()):
            left = entry["data_offsets"][1] - entry["data_offsets"][0]
            start = number * 6151 * 2 % (1 << 20)
            while left > 0:
                piece = values[start:start + left]
                file.write(piece)
                left -= len(piece)
                start = 0
    return os.path.getsize(weights)


def make_adapter(target, model, rank=16):
    target = pathlib.Path(target)
    target.mkdir()
    with open(pathlib.Path(model) / "model.safetensors", "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    at, entries = 0, {}
    for name, entry in header.items():
        if ".mlp." not in name:
            continue
        rows, columns = entry["shape"]
        for part, shape in (("A", [rank, columns]), ("B", [rows, rank])):
            size = 2 * shape[0] * shape[1]
            entries[f"base_model.model.{name.removesuffix('weight')}lora_{part}.weight"] = {
                "dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
            at += size
    text = json.dumps(entries).encode()
    values = block(11, 1 << 20)
    data = (values * (at // len(values) + 1))[:at]
    (target / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    (target / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": rank, "lora_alpha": 2 * rank}))
