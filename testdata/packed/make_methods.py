#!/usr/bin/env python3
"""One small folder for each layout of quantized weights that is read. usage: make_methods.py OUT (numpy)

Codes, zero points and scales are drawn first. What a weight is worth is computed from them as they are, and they are
packed as the program of each layout packs them; nothing here unpacks. OUT/expected.tsv has, for every weight, the
SHA-256 of its values as F32.

Packing: GPTQModel gptqmodel/nn_modules/qlinear/__init__.py (pack), AutoAWQ awq/utils/packing_utils.py.
"""
import hashlib
import json
import pathlib
import struct
import sys

import numpy as np

F32 = np.float32
rng = np.random.default_rng(7)
DTYPES = {"float32": "F32", "float16": "F16", "int32": "I32", "uint8": "U8", "int8": "I8", "int64": "I64"}


def bf16(values):
    """F32 numbers rounded to BF16, and their codes."""
    u = np.ascontiguousarray(values, F32).view(np.uint32).astype(np.uint64)
    codes = ((u + 0x7FFF + ((u >> 16) & 1)) >> 16).astype(np.uint16)
    return (codes.astype(np.uint32) << 16).view(F32), ("BF16", codes)


def write(path, tensors):
    header, parts, at = {}, [], 0
    for name, array in tensors.items():
        dtype, array = array if isinstance(array, tuple) else (DTYPES[array.dtype.name], array)
        data = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


class Out:
    def __init__(self, folder):
        self.folder, self.rows = folder, []

    def add(self, name, quantization, tensors, values, dtype="float16"):
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        tensors = {"model.norm.weight": np.ones(8, np.float16), **tensors}
        write(folder / "model.safetensors", tensors)
        config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": dtype,
                  "quantization_config": quantization}
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
        for weight, array in values.items():
            array = np.ascontiguousarray(array, F32)
            shape = ",".join(map(str, array.shape))
            self.rows.append((name, weight, shape, hashlib.sha256(array.tobytes()).hexdigest()))


def stream(numbers, bits):
    """Numbers [n, m] packed down each column: bit after bit into words of 32."""
    n, m = numbers.shape
    out = np.zeros((n * bits // 32, m), np.uint32)
    for i in range(n):
        for bit in range(bits):
            at = i * bits + bit
            out[at // 32] |= ((numbers[i].astype(np.uint32) >> bit) & 1) << np.uint32(at % 32)
    return out.view(np.int32)


# ---- GPTQ, AWQ: q and z [inputs or groups, outputs] ----------------------------------------------------------------
def draw(inputs, outputs, group, bits, symmetric=False):
    groups = -(-inputs // group)
    q = rng.integers(0, 1 << bits, (inputs, outputs))
    z = np.full((groups, outputs), 1 << bits - 1) if symmetric else rng.integers(1, 1 << bits, (groups, outputs))
    return q, z, (rng.random((groups, outputs)) * 0.02 + 0.001).astype(np.float16)


def worth(q, z, s, g):
    return ((q - z[g]).astype(F32) * s[g].astype(F32)).T


def gptq(out, name, bits, inputs=96, outputs=64, group=32, symmetric=False, v2=False, act=False, g_idx=True):
    q, z, s = draw(inputs, outputs, group, bits, symmetric)
    g = np.arange(inputs) // group
    if act:
        g = rng.permutation(g)
    p = "model.layers.0.mlp.down_proj."
    tensors = {p + "qweight": stream(q, bits), p + "qzeros": stream((z - (0 if v2 else 1)).T, bits).T, p + "scales": s,
               p + "bias": np.zeros(outputs, np.float16)}
    if g_idx:
        tensors[p + "g_idx"] = g.astype(np.int32)
    out.add(name, {"bits": bits, "group_size": -1 if group == inputs else group, "desc_act": act, "sym": symmetric,
                   "quant_method": "gptq", "checkpoint_format": "gptq_v2" if v2 else "gptq"},
            tensors, {p + "weight": worth(q, z, s, g)})


def awq(out, inputs=96, outputs=40, group=32):
    def pack(x):
        words = np.zeros((x.shape[0], x.shape[1] // 8), np.uint32)
        for i, column in enumerate((0, 2, 4, 6, 1, 3, 5, 7)):
            words |= x[:, column::8].astype(np.uint32) << np.uint32(4 * i)
        return words.view(np.int32)
    q, z, s = draw(inputs, outputs, group, 4)
    p = "model.layers.0.mlp.down_proj."
    out.add("awq", {"quant_method": "awq", "bits": 4, "group_size": group, "zero_point": True, "version": "gemm"},
            {p + "qweight": pack(q), p + "qzeros": pack(z), p + "scales": s},
            {p + "weight": worth(q, z, s, np.arange(inputs) // group)})


def main(folder):
    out = Out(folder)
    for bits in (2, 3, 4, 8):
        gptq(out, f"gptq-{bits}", bits)
    gptq(out, "gptq-4-desc-act", 4, act=True)
    gptq(out, "gptq-4-sym-v2", 4, symmetric=True, v2=True)
    gptq(out, "gptq-3-v2-desc-act", 3, act=True, v2=True)
    gptq(out, "gptq-4-one-group-no-g-idx", 4, group=96, g_idx=False)
    awq(out)
    (folder / "expected.tsv").write_text("".join("\t".join(row) + "\n" for row in out.rows))


main(pathlib.Path(sys.argv[1]))
