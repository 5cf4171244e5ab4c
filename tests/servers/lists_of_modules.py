#!/usr/bin/env python3
"""Compares the doctor with releases of vLLM for lists of modules: each form, part of a model and quantization method.

usage: lists_of_modules.py CKPT ROOT

The model is testdata/qwen35vl-micro. Its text layers are quantized, one part is in floats, and the list names this
part in one form. lists_of_modules.txt has the behavior of each release: "floats" if it reads all modules of the part
as floats, "codes" if it reads some of them as quantized, "stops" if it rejects the list. The doctor has to report the
list in the last two cases only.

The values in lists_of_modules.txt come from a script that ran functions of each release. The file names these
functions.
"""
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

PROGRAMS = ("vllm-0.17", "vllm-0.32", "vllm-0.33")
CODED = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
TEXT = "model.language_model.layers."
# Text that is in the names of the part's modules, as they are on disk.
PARTS = {"tower": "model.visual.", "head": "lm_head", "linear": ".linear_attn.", "attention": "layers.3.self_attn.",
         "mlp": "layers.3.mlp."}
KEYS = {"fp8": "modules_to_not_convert", "awq": "modules_to_not_convert", "modelopt": "ignore", "compressed-tensors": "ignore"}
NUMBERS = {"num_bits": 8, "type": "float", "symmetric": True}
STATEMENTS = {
    "fp8": {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]},
    "awq": {"quant_method": "awq", "bits": 4, "group_size": 32, "zero_point": True, "version": "gemm"},
    "modelopt": {"quant_method": "modelopt", "quant_algo": "FP8", "producer": {"name": "modelopt", "version": "0.40.0"}},
    "compressed-tensors": {
        "quant_method": "compressed-tensors", "format": "float-quantized", "quantization_status": "compressed",
        "config_groups": {"group_0": {
            "targets": ["Linear"], "weights": {**NUMBERS, "strategy": "channel", "dynamic": False},
            "input_activations": {**NUMBERS, "strategy": "token", "dynamic": True}}}},
}


def tensors(folder):
    with open(folder / "model.safetensors", "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        return {name: (each["dtype"], each["shape"]) for name, each in json.loads(file.read(size)).items()
                if name != "__metadata__"}


def modules_of(part, names):
    """The modules of a part that have a weight with at least two axes."""
    return sorted(name.removesuffix(".weight") for name, (_, shape) in names.items() if name.endswith(".weight")
                  and len(shape) > 1 and "conv" not in name and "embed" not in name
                  and PARTS[part] in name and not name.startswith("mtp."))


def forms_of(part, modules):
    """Returns the entries of the list for each form, by the name of the form."""
    first = modules[0]
    above = {"tower": "model.visual", "head": "lm_head"}.get(part) or first.rpartition(".")[0]
    served = {"tower": "visual", "head": "language_model.lm_head"}.get(part) or above.replace(
        "model.language_model.", "language_model.model.")
    word = {"tower": "visual", "head": "lm_head", "linear": "linear_attn", "attention": "self_attn", "mlp": "layers.3.mlp"}[part]
    forms = {"every name": modules, "first name": modules[:1], "last name": modules[-1:], "module above": [above],
             "server's module above": [served], "star behind": [above + "*"], "dot and star": [above + ".*"],
             "stars around": [f"*{word}*"], "word": [word], "expression": [f"re:.*{word}.*"],
             "expression of disk": ["re:" + above.replace(".", r"\.") + ".*"], "nothing": []}
    if part in ("attention", "mlp"):
        joined = first.rpartition(".")[0] + {"attention": ".qkv_proj", "mlp": ".gate_up_proj"}[part]
        others = [name for name in modules if name.endswith(("o_proj", "down_proj"))]
        forms |= {"joined name": others + [joined], "joined name of the server": others + [joined.replace(
            "model.language_model.", "language_model.model.")]}
    return forms


def write(folder, source, names, method, floats, entries):
    for file in source.iterdir():
        if file.suffix != ".safetensors" and not (folder / file.name).exists():
            shutil.copy(file, folder)
    out, end = {}, 0
    sizes = {"BF16": 2, "F16": 2, "F32": 4, "I32": 4, "F8_E4M3": 1}

    def put(name, dtype, shape):
        nonlocal end
        size = sizes[dtype]
        for length in shape:
            size *= length
        out[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size

    for name, (dtype, shape) in sorted(names.items()):
        module = name.removesuffix(".weight")
        if not (name.startswith(TEXT) and module.endswith(CODED)) or module in floats:
            put(name, dtype, shape)
            continue
        if method == "awq":
            rows, columns = shape
            put(module + ".qweight", "I32", [columns, rows // 8])
            put(module + ".qzeros", "I32", [columns // 32, rows // 8])
            put(module + ".scales", "F16", [columns // 32, rows])
            continue
        put(name, "F8_E4M3", shape)
        if method == "fp8":
            put(name + "_scale_inv", "F32", [-(-length // 128) for length in shape])
        elif method == "modelopt":
            put(name + "_scale", "F32", [])
            put(module + ".input_scale", "F32", [])
        else:
            put(name + "_scale", "BF16", [shape[0], 1])
    header = json.dumps({"__metadata__": {"format": "pt"}, **out}).encode()
    with open(folder / "model.safetensors", "wb") as file:  # values stay zero, because these checks do not read them
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + end)
    config = json.loads((source / "config.json").read_text())
    config["quantization_config"] = {**STATEMENTS[method], KEYS[method]: entries}
    (folder / "config.json").write_text(json.dumps(config))


def answers(ckpt, folder):
    """Returns for each profile whether the doctor reports the list."""
    done = subprocess.run([ckpt, "doctor", folder, "--json", *(word for name in PROGRAMS for word in ("--for", name))],
                          capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    names = {each["profile"] for each in lines if each["type"] == "verdict"}
    assert len(names) == len(PROGRAMS), (done.stdout, done.stderr)
    bad = {each["profile"] for each in lines if each["type"] == "check" and each["severity"] in ("unloaded", "unsound")
           and each["check"].startswith("Q") and each["check"] != "Q24"}  # Q24 reports the zero scales
    unclear = {each["profile"] for each in lines if each["type"] == "verdict" and each["not_checked"]}
    return {name: "unclear" if shown in unclear and shown not in bad else shown in bad
            for name in PROGRAMS for shown in ([name] if name in names else ["vllm"])}


def cells(names):
    for method in STATEMENTS:
        for part in PARTS:
            modules = modules_of(part, names)
            for form, entries in forms_of(part, modules).items():
                if not (form.startswith("expression") and method != "compressed-tensors"):
                    yield method, part, form, modules, entries


def main(ckpt, root):
    source = pathlib.Path(root) / "testdata/qwen35vl-micro"
    names = tensors(source)
    others = {part: [module for each in PARTS if each != part and each in ("tower", "head", "linear")
                     for module in modules_of(each, names)] for part in PARTS}
    expected = {}
    for line in (pathlib.Path(__file__).parent / "lists_of_modules.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            key, *outcomes = line.split(" | ")
            expected[key] = outcomes[0].split()
    wrong, unclear, count = [], 0, 0
    with tempfile.TemporaryDirectory() as made:
        for method, part, form, modules, entries in cells(names):
            write(pathlib.Path(made), source, names, method, modules, entries + others[part])
            said = answers(ckpt, made)
            for program, outcome in zip(PROGRAMS, expected.pop(f"{method}, {part}, {form}")):
                count += 1
                unclear += said[program] == "unclear"
                if said[program] not in ("unclear", outcome != "floats"):
                    wrong.append(f"{method}, {part}, {form} {entries[:2]}: {program}: {outcome}, "
                                 f"but the doctor {'reports it' if said[program] else 'says nothing'}")
    print("\n".join(wrong + sorted(expected)))
    print(f"{count} cells: {len(wrong)} wrong, {unclear} not checked")
    sys.exit(bool(wrong or expected) or unclear * 20 > count)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
