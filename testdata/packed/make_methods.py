#!/usr/bin/env python3
"""One small folder for each layout of quantized weights that is read. usage: make_methods.py OUT (numpy)

Codes, zero points and scales are drawn first. What a weight is worth is computed from them as they are, and they are
packed as the program of each layout packs them; nothing here unpacks. OUT/expected.tsv has, for every weight, the
SHA-256 of its values as F32.

Packing: GPTQModel gptqmodel/nn_modules/qlinear/__init__.py (pack), AutoAWQ awq/utils/packing_utils.py,
compressed-tensors compressors/pack_quantized/helpers.py (pack_to_int32).
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


def write(path, tensors, notes=None):
    header, parts, at = {"__metadata__": notes} if notes else {}, [], 0
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

    def add(self, name, quantization, tensors, values, dtype="float16", notes=None, **more):
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        tensors = {"model.norm.weight": np.ones(8, np.float16), **tensors}
        write(folder / "model.safetensors", tensors, notes)
        config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": dtype,
                  **more, "quantization_config": quantization}
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


# ---- compressed-tensors: q and z [outputs, inputs or groups], signed ------------------------------------------------
def packed_int32(numbers, bits):
    """Along the rows, plus 2^(bits - 1), the last word filled with zeros."""
    n, k = numbers.shape
    padded = np.zeros((n, -(-k // 32) * 32), np.int64)
    padded[:, :k] = numbers + (1 << bits - 1)
    return stream(padded.T, bits).T[:, :-(-k * bits // 32)]


def weights(bits, strategy, type_="int", group=None, symmetric=True, block=None):
    return {"num_bits": bits, "type": type_, "strategy": strategy, "group_size": group, "symmetric": symmetric,
            "block_structure": block, "dynamic": False, "actorder": None}


def groups_of(*lists):
    return {f"group_{i}": {"targets": [target], "weights": w, "input_activations": None, "output_activations": None}
            for i, (target, w) in enumerate(lists)}


def packed(stem, bits, group=None, symmetric=True, inputs=96, outputs=40, scale="BF16", act=False):
    """(tensors, values) of one pack-quantized layer."""
    count = 1 if group is None else -(-inputs // group)
    low, high = -(1 << bits - 1), 1 << bits - 1
    q = rng.integers(low, high, (outputs, inputs))
    z = np.zeros((outputs, count), int) if symmetric else rng.integers(low, high, (outputs, count))
    s = (rng.random((outputs, count)) * 0.02 + 0.001).astype(F32)
    s, stored = bf16(s) if scale == "BF16" else (s.astype(np.float16).astype(F32), s.astype(np.float16))
    g = np.arange(inputs) // (group or inputs)
    tensors = {}
    if act:
        g = rng.permutation(g)
        tensors[stem + "weight_g_idx"] = g.astype(np.int32)
    tensors |= {stem + "weight_packed": packed_int32(q, bits), stem + "weight_scale": stored,
                stem + "weight_shape": np.array([outputs, inputs], np.int64)}
    if not symmetric:
        tensors[stem + "weight_zero_point"] = packed_int32(z.T, bits).T
    return tensors, {stem + "weight": (q - z[:, g]).astype(F32) * s[:, g]}


def compressed(out, name, format_, groups, *layers, **more):
    tensors, values = {}, {}
    for own, worth_ in layers:
        tensors |= own
        values |= worth_
    out.add(name, {"quant_method": "compressed-tensors", "format": format_, "config_groups": groups, "ignore": ["lm_head"],
                   "quantization_status": "compressed", **more}, tensors, values, "bfloat16")


E4M3 = np.array([(-1) ** (c >> 7) * ((c & 7) * 2.0 ** -9 if c >> 3 & 15 == 0 else (8 + (c & 7)) * 2.0 ** ((c >> 3 & 15) - 10))
                 for c in range(256)], F32)


def codes8(stem, kind, shape_of_scale, symmetric=True, inputs=96, outputs=40, block=None, scale_type=np.float16, end="weight_scale"):
    """(tensors, values) of one layer of 8-bit codes."""
    if kind == "int":
        codes = rng.integers(-128, 128, (outputs, inputs)).astype(np.int8)
        numbers, stored = codes.astype(F32), codes
    else:
        codes = rng.integers(0, 256, (outputs, inputs)).astype(np.uint8)
        codes[(codes & 0x7F) == 0x7F] = 0x20
        numbers, stored = E4M3[codes], ("F8_E4M3", codes)
    s = (rng.random(shape_of_scale) * 0.02 + 0.001).astype(scale_type)
    full = s.astype(F32)
    if block:
        full = np.repeat(np.repeat(full, block[0], 0), block[1], 1)[:outputs, :inputs]
    elif len(shape_of_scale) == 2 and shape_of_scale[1] > 1:
        full = np.repeat(full, inputs // shape_of_scale[1], 1)
    elif full.size > 1:
        full = full.reshape(-1, 1)
    tensors = {stem + "weight": stored, stem + end: s, stem + "input_scale": np.ones(1, F32)}
    if not symmetric:
        z = rng.integers(-20, 20, shape_of_scale).astype(np.int8)
        tensors[stem + "weight_zero_point"] = z
        numbers = numbers - np.repeat(z.astype(F32), inputs // shape_of_scale[1], 1)
    return tensors, {stem + "weight": numbers * full}


P0, P1, P2 = (f"model.layers.{i}.mlp.down_proj." for i in range(3))


def compressed_tensors(out):
    pack, down = "pack-quantized", "Linear"
    int4 = weights(4, "group", group=32)
    compressed(out, "ct-int4", pack, groups_of((down, int4)), packed(P0, 4, 32))
    compressed(out, "ct-int4-asymmetric", pack, groups_of((down, weights(4, "group", group=32, symmetric=False))),
               packed(P0, 4, 32, symmetric=False), packed(P1, 4, 32, symmetric=False, outputs=36, scale="F16"))
    compressed(out, "ct-int4-g16-g-idx", pack, groups_of((down, weights(4, "group", group=16))), packed(P0, 4, 16, act=True))
    compressed(out, "ct-int3-padded", pack, groups_of((down, weights(3, "channel"))), packed(P0, 3, inputs=90), version="0.19.0")
    compressed(out, "ct-mixed-groups", "mixed-precision",
               groups_of(("re:.*0.*", int4), ("re:.*1.*", weights(8, "channel", symmetric=False)), ("re:.*2.*", weights(8, "channel", "float"))),
               packed(P0, 4, 32), packed(P1, 8, symmetric=False), codes8(P2, "float", (40, 1)))
    compressed(out, "ct-w8a8", "int-quantized", groups_of((down, weights(8, "channel"))), codes8(P0, "int", (40, 1), scale_type=F32))
    compressed(out, "ct-int8-asymmetric", "naive-quantized", groups_of((down, weights(8, "group", group=32, symmetric=False))),
               codes8(P0, "int", (40, 3), symmetric=False))
    compressed(out, "ct-fp8-tensor", "float-quantized", groups_of((down, weights(8, "tensor", "float"))), codes8(P0, "float", (1,)))
    compressed(out, "ct-fp8-block", "float-quantized", groups_of((down, weights(8, "block", "float", block=[16, 64]))),
               codes8(P0, "float", (3, 2), block=(16, 64)))


# ---- bitsandbytes, FP8 of Mistral, BitNet ---------------------------------------------------------------------------
def high_first(codes):
    return (codes[0::2] << 4 | codes[1::2]).astype(np.uint8)


def four_bits(stem, kind, nested, shape=(24, 48), block=64):
    """(tensors, values): codes of a flat weight."""
    count = shape[0] * shape[1]
    codes, name = rng.integers(0, 16, count), stem + "weight"
    table = np.sort(rng.normal(size=16)).astype(F32)
    blocks = count // block
    state = {"quant_type": kind, "blocksize": block, "dtype": "bfloat16", "shape": list(shape)}
    tensors = {name: high_first(codes).reshape(-1, 1), name + ".quant_map": table}
    absmax = (rng.random(blocks) * 0.1).astype(F32)
    if nested:
        state |= {"nested_blocksize": 4, "nested_dtype": "float32", "nested_offset": 0.04375}
        codes_of_absmax, map_ = rng.integers(0, 256, blocks), np.sort(rng.normal(size=256)).astype(F32)
        largest = (rng.random(-(-blocks // 4)) * 0.1).astype(F32)
        absmax = map_[codes_of_absmax] * np.repeat(largest, 4)[:blocks] + F32(0.04375)
        tensors |= {name + ".absmax": codes_of_absmax.astype(np.uint8), name + ".nested_absmax": largest,
                    name + ".nested_quant_map": map_}
    else:
        tensors[name + ".absmax"] = absmax
    text = json.dumps(state).encode()
    tensors[f"{name}.quant_state.bitsandbytes__{kind}"] = np.frombuffer(text, np.uint8)
    return tensors, {name: (table[codes] * np.repeat(absmax, block)).reshape(shape)}


def bitsandbytes(out):
    tensors, values = four_bits(P0, "nf4", True)
    more, also = four_bits(P1, "fp4", False)
    out.add("bitsandbytes-4", {"quant_method": "bitsandbytes", "load_in_4bit": True}, tensors | more, values | also, "bfloat16")
    codes = rng.integers(-127, 128, (40, 96)).astype(np.int8)
    scale = rng.random(40).astype(F32)
    worth8 = codes.astype(F32) * scale[:, None] * F32(7.874015718698502e-3)
    out.add("bitsandbytes-8", {"load_in_8bit": True, "load_in_4bit": False},
            {P0 + "weight": codes, P0 + "SCB": scale, P0 + "weight_format": np.zeros((), np.uint8)}, {P0 + "weight": worth8})


def others(out):
    first, values = codes8(P0, "float", (), end="qscale_weight")
    second, more = codes8(P1, "float", (3, 2), block=(16, 64), end="weight_scale_inv")
    first[P0 + "qscale_act"] = np.ones((), F32)
    out.add("fp8-mistral", {"quant_method": "fp8"}, first, values, "bfloat16")
    out.add("fp8-block", {"quant_method": "fp8", "weight_block_size": [16, 64]}, second, more, "bfloat16")
    codes, scale = rng.integers(0, 3, (4, 10, 96)), np.array([1.375], np.float16)
    packed_ = sum(codes[i] << 2 * i for i in range(4)).astype(np.uint8)
    out.add("bitnet", {"quant_method": "bitnet"}, {P0 + "weight": packed_, P0 + "weight_scale": scale},
            {P0 + "weight": ((codes.astype(F32) - 1) / scale.astype(F32)).reshape(40, 96)})


# ---- MXFP4 of gpt-oss and of DeepSeek-V4 ----------------------------------------------------------------------------
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], F32)


def mxfp4(shape):
    """Codes packed in pairs, the first low; exponents, one for 32; values."""
    codes = rng.integers(0, 16, shape).astype(np.uint8)
    exponents = rng.integers(100, 140, (*shape[:-1], shape[-1] // 32)).astype(np.uint8)
    exponents.flat[3] = 0
    worth_ = E2M1[codes] * np.repeat(np.exp2(exponents.astype(np.float64) - 127), 32, -1).astype(F32)
    return codes[..., 0::2] | codes[..., 1::2] << 4, exponents, worth_


def mxfp4_folders(out):
    tensors, values = {}, {}
    for name, shape in (("gate_up_proj", (3, 40, 96)), ("down_proj", (3, 96, 32))):
        stem = "model.layers.0.mlp.experts." + name
        packed_, exponents, worth_ = mxfp4(shape)
        tensors |= {stem + "_blocks": packed_.reshape(*exponents.shape, 16), stem + "_scales": exponents,
                    stem + "_bias": np.ones(shape[:2], np.float16)}
        values[stem] = worth_.swapaxes(1, 2)
    out.add("mxfp4-gpt-oss", {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}, tensors, values, "bfloat16")
    tensors, values = {}, {}
    for i in range(2):
        stem = f"layers.0.ffn.experts.{i}.w1."
        packed_, exponents, values[stem + "weight"] = mxfp4((40, 96))
        tensors |= {stem + "weight": packed_.view(np.int8), stem + "scale": ("F8_E8M0", exponents)}
    stem = "layers.0.attn.wq_a."
    codes = rng.integers(0, 0x7F, (40, 96)).astype(np.uint8)
    exponents = rng.integers(110, 130, (3, 2)).astype(np.uint8)
    scales = np.exp2(exponents.astype(F32) - 127)
    tensors |= {stem + "weight": ("F8_E4M3", codes), stem + "scale": ("F8_E8M0", exponents)}
    values[stem + "weight"] = E4M3[codes] * np.repeat(np.repeat(scales, 16, 0), 64, 1)[:40, :96]
    out.add("fp8-deepseek-v4", {"quant_method": "fp8", "fmt": "e4m3", "scale_fmt": "ue8m0", "activation_scheme": "dynamic",
                                "weight_block_size": [16, 64]}, tensors, values, "bfloat16", expert_dtype="fp4")


# ---- torchao 0.18, prototype/safetensors (flatten_tensor_state_dict) ------------------------------------------------
def torchao_folder(out):
    tensors, values, notes = {}, {}, {"format": "pt", "model.norm.weight": json.dumps({"_type": "Tensor"})}
    layers = (("float", (40, 1), None, [1, 96], True), ("float", (3, 2), (16, 64), [16, 64], True), ("int", (40, 3), None, [1, 32], False))
    for i, (kind, shape_of_scale, block, said, symmetric) in enumerate(layers):
        stem = f"model.layers.{i}.mlp.down_proj."
        own, worth_ = codes8(stem, kind, shape_of_scale, symmetric=symmetric, block=block, scale_type=F32)
        parts = {"weight": "_weight_qdata", "weight_scale": "_weight_scale", "weight_zero_point": "_weight_zero_point"}
        tensors |= {stem + parts[name.removeprefix(stem)]: array for name, array in own.items() if name.removeprefix(stem) in parts}
        values |= worth_
        notes[stem + "weight"] = json.dumps({"_type": "Float8Tensor" if kind == "float" else "IntxUnpackedToInt8Tensor",
                                             "_data": {"block_size": said}, "_tensor_data_names": ["qdata", "scale"]})
    notes["tensor_names"] = json.dumps([*values, "model.norm.weight"])
    out.add("torchao", {"quant_method": "torchao", "quant_type": {"default": {"_type": "Float8WeightOnlyConfig"}}}, tensors, values,
            "bfloat16", notes)


# ---- NVFP4 of stacks, ModelOpt 0.47 (rows and columns exchanged) ----------------------------------------------------
def stacked_nvfp4(out):
    tensors, values = {}, {}
    for name, (e, k, n) in (("gate_up_proj", (3, 64, 40)), ("down_proj", (3, 32, 64))):
        stem = "model.layers.0.mlp.experts." + name
        codes = rng.integers(0, 16, (e, k, n)).astype(np.uint8)
        scale, whole = rng.integers(1, 0x7F, (e, k // 16, n)).astype(np.uint8), F32(rng.random() * 1e-3 + 1e-5)
        tensors |= {stem: codes[:, 0::2] | codes[:, 1::2] << 4, stem + "_weight_scale": ("F8_E4M3", scale),
                    stem + "_weight_scale_2": np.array(whole), stem + "_input_scale": np.array(F32(1)),
                    stem + "_bias": np.ones((e, n), np.float16)}
        values[stem] = E2M1[codes] * np.repeat(E4M3[scale] * whole, 16, 1)
    out.add("modelopt-stacked-nvfp4", {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"],
                                       "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "float", "group_size": 16}}}},
            tensors, values, "bfloat16")


# ---- what fills no word, block or group -----------------------------------------------------------------------------
def in_words(numbers, bits):
    """Along the rows, plus 2^(bits - 1), as many to a word as it holds whole: compressed-tensors before 0.18."""
    of_word = 32 // bits
    n, k = numbers.shape
    padded = np.zeros((n, -(-k // of_word), of_word), np.uint64)
    padded.reshape(n, -1)[:, :k] = numbers + (1 << bits - 1)
    return (padded << (np.arange(of_word, dtype=np.uint64) * np.uint64(bits))).sum(2).astype(np.uint32).view(np.int32)


def packed_in_words(stem, bits, group, inputs, outputs):
    """(tensors, values) of one layer with zero points."""
    low, high, count = -(1 << bits - 1), 1 << bits - 1, -(-inputs // group)
    q, z = rng.integers(low, high, (outputs, inputs)), rng.integers(low, high, (outputs, count))
    s, stored = bf16((rng.random((outputs, count)) * 0.02 + 0.001).astype(F32))
    g = np.arange(inputs) // group
    return ({stem + "weight_packed": in_words(q, bits), stem + "weight_zero_point": in_words(z.T, bits).T, stem + "weight_scale": stored,
             stem + "weight_shape": np.array([outputs, inputs], np.int64)}, {stem + "weight": (q - z[:, g]).astype(F32) * s[:, g]})


def tiles_with_zeros(stem, rows, columns, inputs=96, outputs=48):
    """(tensors, values): 8 bits with a scale and a zero point for each tile, `rows` x `columns` of them."""
    codes, z = rng.integers(-128, 128, (outputs, inputs)).astype(np.int8), rng.integers(-20, 20, (rows, columns)).astype(np.int8)
    s = (rng.random((rows, columns)) * 0.02 + 0.001).astype(F32)
    wide = lambda x: np.repeat(np.repeat(x.astype(F32), outputs // rows, 0), inputs // columns, 1)
    shape = (1,) if rows * columns == 1 else (rows, columns)
    return ({stem + "weight": codes, stem + "weight_scale": s.reshape(shape), stem + "weight_zero_point": z.reshape(shape)},
            {stem + "weight": (codes.astype(F32) - wide(z)) * wide(s)})


def ragged_four_bits(stem, nested, shape, block=64):
    """The last block of a flat weight is shorter, and the last byte may be half full."""
    count = shape[0] * shape[1]
    whole = -(-count // block)
    tensors, values = four_bits(stem, "nf4", nested, (whole, block), block)
    name = stem + "weight"
    key = name + ".quant_state.bitsandbytes__nf4"
    tensors[key] = np.frombuffer(json.dumps(json.loads(tensors[key].tobytes()) | {"shape": list(shape)}).encode(), np.uint8)
    codes = tensors[name][:-(-count // 2)].copy()
    if count % 2:
        codes[-1] &= 0xF0
    tensors[name] = codes
    return tensors, {name: values[name].reshape(-1)[:count].reshape(shape)}


def unfilled(out):
    down = "Linear"
    for version, bits in (("0.13.0", 3), ("0.13.0", 5), ("0.15.0", 6), ("0.17.0", 7)):
        groups = groups_of((down, weights(bits, "group", group=32, symmetric=False)))
        compressed(out, f"ct-int{bits}-in-words", "pack-quantized", groups, packed_in_words(P0, bits, 32, 96, 44),
                   packed_in_words(P1, bits, 32, 160, 25), version=version)
    for name, strategy, rows, columns in (("block", "block", 3, 2), ("tensor", "tensor", 1, 1)):
        groups = groups_of((down, weights(8, strategy, symmetric=False, block=[16, 48] if strategy == "block" else None)))
        compressed(out, f"ct-int8-{name}-zeros", "int-quantized", groups, tiles_with_zeros(P0, rows, columns))
    tensors, values = codes8(P0, "int", (40, 3), symmetric=False)
    order = rng.permutation(np.arange(96) // 32)
    columns = np.argsort(np.argsort(order, kind="stable"), kind="stable")
    tensors[P0 + "weight"] = tensors[P0 + "weight"][:, columns]
    tensors[P0 + "weight_g_idx"] = order.astype(np.int32)
    values[P0 + "weight"] = values[P0 + "weight"][:, columns]
    compressed(out, "ct-int8-g-idx", "int-quantized", groups_of((down, weights(8, "group", group=32, symmetric=False))), (tensors, values))
    first, one = ragged_four_bits(P0, True, (7, 13))
    second, two = ragged_four_bits(P1, False, (5, 7))
    third, three = ragged_four_bits(P2, False, (30, 33), 32)
    out.add("bitsandbytes-4-ragged", {"quant_method": "bitsandbytes", "load_in_4bit": True}, first | second | third,
            one | two | three, "bfloat16")
    gptq_rules(out)


def gptq_rules(out):
    """A row of inputs that its groups do not fill, and rules for single layers."""
    q, z, s = draw(320, 32, 128, 4)
    p = "model.layers.0.mlp.down_proj."
    out.add("gptq-4-dynamic-no-g-idx", {"bits": 4, "group_size": 128, "desc_act": False, "sym": False, "quant_method": "gptq",
                                        "checkpoint_format": "gptq", "dynamic": {"-:.*lm_head.*": {}, "+:.*up_proj.*": {"group_size": 64}}},
            {p + "qweight": stream(q, 4), p + "qzeros": stream((z - 1).T, 4).T, p + "scales": s},
            {p + "weight": worth(q, z, s, np.arange(320) // 128)})


def main(folder):
    out = Out(folder)
    for bits in (2, 3, 4, 8):
        gptq(out, f"gptq-{bits}", bits)
    gptq(out, "gptq-4-desc-act", 4, act=True)
    gptq(out, "gptq-4-sym-v2", 4, symmetric=True, v2=True)
    gptq(out, "gptq-3-v2-desc-act", 3, act=True, v2=True)
    gptq(out, "gptq-4-one-group-no-g-idx", 4, group=96, g_idx=False)
    awq(out)
    compressed_tensors(out)
    bitsandbytes(out)
    others(out)
    mxfp4_folders(out)
    torchao_folder(out)
    stacked_nvfp4(out)
    unfilled(out)
    (folder / "expected.tsv").write_text("".join("\t".join(row) + "\n" for row in out.rows))


main(pathlib.Path(sys.argv[1]))
