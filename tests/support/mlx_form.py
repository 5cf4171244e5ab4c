"""Saves a Hugging Face folder as mlx-lm 0.32.2 saves it: usage: mlx_form.py FOLDER MLX [SOURCE]

SOURCE gets FOLDER again with norms that survive MLX's rounding of 1 + w, and without what MLX leaves out.
"""
import json
import pathlib
import re
import shutil
import struct
import sys


def read(folder):
    raw = (folder / "model.safetensors").read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (entry["dtype"], entry["shape"], raw[8 + size:][slice(*entry["data_offsets"])])
            for name, entry in header.items()}


def write(folder, tensors, form):
    header, data = {"__metadata__": {"format": form}}, b""
    for name, (dtype, shape, raw) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


def swapped(tensor):
    """The last two axes exchanged; of BF16."""
    dtype, (*outer, rows, columns), raw = tensor
    matrix = rows * columns * 2
    turned = b"".join(raw[at + (r * columns + c) * 2:][:2] for at in range(0, len(raw), matrix)
                      for c in range(columns) for r in range(rows))
    return dtype, [*outer, columns, rows], turned


def halves(tensor, axis, is_paired=False):
    """Both halves of an axis, or its even and its odd entries; of BF16."""
    dtype, shape, raw = tensor
    axis %= len(shape)
    inner = 2
    for size in shape[axis + 1:]:
        inner *= size
    entries = [raw[at:at + inner] for at in range(0, len(raw), inner)]
    size, half = shape[axis], shape[axis] // 2
    is_first = (lambda i: i % 2 == 0) if is_paired else (lambda i: i % size < half)
    shape = [*shape[:axis], half, *shape[axis + 1:]]
    return [(dtype, shape, b"".join(e for i, e in enumerate(entries) if is_first(i) == first)) for first in (True, False)]


def bf16(value):
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def added(tensor, number):
    values = (struct.unpack("<f", b"\0\0" + tensor[2][i:i + 2])[0] for i in range(0, len(tensor[2]), 2))
    return tensor[0], tensor[1], b"".join(struct.pack("<H", bf16(value + number)) for value in values)


NORMS = (".input_layernorm.weight", ".post_attention_layernorm.weight", "model.norm.weight", ".q_norm.weight", ".k_norm.weight")
IS_SHIFTED = re.compile("qwen3_5|qwen3_next")
DROPPED = re.compile(r"(^|\.)mtp\.|visual\.|vision_model\.|multi_modal_projector\.")
WORDS = {"w1": "gate_proj", "w2": "down_proj", "w3": "up_proj"}


def split_stack(kind, name, tensor, out):
    """gate_up_proj and down_proj of all experts."""
    front, word = name.replace(".weight", "").rsplit(".", 1)
    is_turned = kind in ("llama4", "gpt_oss", "qwen3_vl_moe")
    where = front if kind in ("llama4", "gpt_oss") else front.replace(".experts", ".switch_mlp")
    if word.endswith("_bias"):
        pair = zip(("gate_proj", "up_proj"), halves(tensor, -1, True)) if "gate" in word else [("down_proj", tensor)]
        return out.update({f"{where}.{each}.bias": half for each, half in pair})
    if word in ("down_proj", "output_linear"):
        out[f"{where}.down_proj.weight"] = swapped(tensor) if is_turned else tensor
    else:
        for each, half in zip(("gate_proj", "up_proj"), halves(tensor, -1 if is_turned else -2, kind == "gpt_oss")):
            out[f"{where}.{each}.weight"] = swapped(half) if is_turned else half


def mlx_tensors(tensors, config):
    kind, text = config["model_type"], config.get("text_config", config)
    out, experts = {}, {}
    for name, tensor in tensors.items():
        expert = re.fullmatch(r"(.*)\.experts\.(\d+)\.(\w+)\.weight", name)
        if IS_SHIFTED.match(kind) and name.endswith(NORMS):
            tensor = added(tensor, 1.0)
        if kind == "gpt_neox":
            name = re.sub(r"^model\.(gpt_neox\.)?", "model.", "model." + name).replace(".layers.", ".h.")
        elif kind.startswith(("qwen3_5", "qwen3_vl", "qwen2_5_vl")):
            name = "language_model." + name.replace("language_model.", "")
        if expert:
            front, number, word = expert.groups()
            word = {"nemotron_h": {"up_proj": "fc1", "down_proj": "fc2"}}.get(kind, WORDS).get(word, word)
            experts.setdefault(f"{front}.switch_mlp.{word}.weight", {})[int(number)] = tensor
        elif re.search(r"\.conv(1d)?\.weight$", name):
            dtype, (channels, one, width), raw = tensor
            out[name] = dtype, [channels, width, one], raw
        elif name.endswith(".kv_b_proj.weight") and kind != "deepseek_v2":
            heads, keys = text["num_attention_heads"], text["qk_nope_head_dim"] * tensor[1][-1] * 2
            size = len(tensor[2]) // heads
            parts = [tensor[2][at:at + size] for at in range(0, len(tensor[2]), size)]
            for word, pieces in (("embed_q", [p[:keys] for p in parts]), ("unembed_out", [p[keys:] for p in parts])):
                made = tensor[0], [heads, len(pieces[0]) // tensor[1][-1] // 2, tensor[1][-1]], b"".join(pieces)
                out[name.replace("kv_b_proj", word)] = swapped(made) if word == "embed_q" else made
        elif kind == "lfm2_moe" and re.search(r"\.feed_forward\.w\d\.", name):
            out[re.sub(r"\.(w\d)\.", lambda word: f".{WORDS[word[1]]}.", name)] = tensor
        elif "shared_mlp." in name and not text.get("num_local_experts"):
            split_stack(kind, name.replace(".shared_mlp.", ".mlp."), tensor, out)
        elif re.search(r"\.experts\.(gate_up|down)_proj", name):
            split_stack(kind, name, tensor, out)
        elif ".block_sparse_moe." in name and "_linear." in name:
            split_stack(kind, name.replace("sparse_moe.", "sparse_moe.switch_mlp."), tensor, out)
        else:
            out[name] = tensor
    for name, parts in experts.items():
        first = parts[0]
        out[name] = first[0], [len(parts), *first[1]], b"".join(parts[i][2] for i in sorted(parts))
    return out


def main(folder, mlx, source=None):
    config = json.loads((folder / "config.json").read_text())
    layers = config.get("text_config", config)["num_hidden_layers"]
    beyond = re.compile(rf"layers\.{layers}\.")
    tensors = {name: tensor for name, tensor in read(folder).items() if not DROPPED.search(name) and not beyond.search(name)}
    if IS_SHIFTED.match(config["model_type"]):
        tensors = {name: added(added(tensor, 1.0), -1.0) if name.endswith(NORMS) else tensor for name, tensor in tensors.items()}
    for made, values, form in ((mlx, mlx_tensors(tensors, config), "mlx"), (source, tensors, "pt")):
        if made:
            shutil.copytree(folder, made, ignore=shutil.ignore_patterns("*.safetensors*"))
            write(made, values, form)


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
