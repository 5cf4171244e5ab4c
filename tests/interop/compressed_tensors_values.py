#!/usr/bin/env python3
"""ckpt decodes what compressed-tensors packs to the values that compressed-tensors itself decodes.

usage: PYTHON compressed_tensors_values.py CKPT TESTDATA      PYTHON has compressed_tensors, safetensors, torch

Layers of testdata's qwen3-micro are packed by the library in each of its float formats; `ckpt convert --to bf16`
then gives the library's values, computed in 32-bit floats and rounded once.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from make_exports import convert, peer_missing

try:
    import torch
    from compressed_tensors.compressors.base import BaseCompressor
    from compressed_tensors.compressors.nvfp4.helpers import unpack_fp4_from_uint8
    from compressed_tensors.quantization.lifecycle.forward import dequantize
    from compressed_tensors.quantization.quant_scheme import preset_name_to_scheme
    from safetensors.torch import load_file, save_file
except ImportError as error:
    peer_missing("compressed_tensors with torch and safetensors", error)

FORMATS = {"NVFP4": "nvfp4-pack-quantized", "NVFP4A16": "nvfp4-pack-quantized", "MXFP4A16": "mxfp4-pack-quantized",
           "FP8": "float-quantized", "FP8_DYNAMIC": "float-quantized", "FP8_BLOCK": "float-quantized"}
E4M3_MAX = 448.0


def scales(preset, weight):
    """A scale of the format's kind; which one does not matter, both sides decode the same bytes."""
    if preset.startswith("NVFP4"):
        global_scale = (E4M3_MAX * 6 / weight.abs().max().float()).reshape(1)
        block = weight.float().reshape(weight.shape[0], -1, 16).abs().amax(-1)
        scale = (global_scale * block / 6).clamp(2**-9, E4M3_MAX).to(torch.float8_e4m3fn)
        return {"weight_scale": scale.float(), "weight_global_scale": global_scale}
    if preset.startswith("MXFP4"):
        block = weight.float().reshape(weight.shape[0], -1, 32).abs().amax(-1)
        return {"weight_scale": torch.exp2(torch.floor(torch.log2(block.clamp(min=2**-100))) - 2).to(weight.dtype)}
    if preset == "FP8":
        return {"weight_scale": (weight.abs().max() / E4M3_MAX).reshape(1)}
    if preset == "FP8_DYNAMIC":
        return {"weight_scale": weight.abs().amax(1, keepdim=True) / E4M3_MAX}
    rows, columns = weight.shape
    blocks = weight.abs().reshape(rows // 128, 128, columns // 128, 128).amax((1, 3))
    return {"weight_scale": blocks / E4M3_MAX}


def decode(preset, scheme, packed):
    """The library's own decoding, in 32-bit floats."""
    scale, global_scale = packed["weight_scale"], packed.get("weight_global_scale")
    if "weight_packed" in packed:
        rows, half = packed["weight_packed"].shape
        codes = unpack_fp4_from_uint8(packed["weight_packed"], rows, 2 * half, dtype=torch.float32)
    else:
        codes = packed["weight"]
    if scale.dtype == torch.uint8:
        scale = torch.exp2(scale.float() - 127)
    return dequantize(codes.float(), scale.float(), args=scheme.weights, global_scale=global_scale,
                      dtype=torch.float32).to(torch.bfloat16)


def check(preset, ckpt, source, work):
    scheme = preset_name_to_scheme(preset, ["Linear"])
    compressor = BaseCompressor.get_value_from_registry(FORMATS[preset])
    plain, packed, expected = load_file(source / "model.safetensors"), {}, {}
    for name, value in plain.items():
        if not name.endswith("_proj.weight"):
            packed[name] = expected[name] = value
            continue
        parts = compressor.compress({"weight": value, **scales(preset, value)}, scheme)
        expected[name] = decode(preset, scheme, parts)
        packed.update({name[:-len("weight")] + part: each.contiguous() for part, each in parts.items()})
    folder, out = work / preset, work / f"{preset}-bf16"
    shutil.copytree(source, folder)
    save_file(packed, folder / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {
        "quant_method": "compressed-tensors", "format": FORMATS[preset], "ignore": ["lm_head"],
        "config_groups": {"group_0": json.loads(scheme.model_dump_json())}}
    (folder / "config.json").write_text(json.dumps(config))
    convert(ckpt, folder, out, "--to", "bf16")
    found = load_file(out / "model.safetensors")
    assert found.keys() == expected.keys(), found.keys() ^ expected.keys()
    for name, value in expected.items():
        assert found[name].dtype == value.dtype and found[name].shape == value.shape, name
        same = found[name].view(torch.uint16) == value.view(torch.uint16)
        assert same.all(), f"{preset}: {name}: {(~same).sum()} values of {same.numel()} differ"
    shown = subprocess.run([ckpt, "show", str(folder)], check=True, capture_output=True, text=True).stdout
    assert FORMATS[preset] in shown, shown
    print(f"{preset}: {len(plain)} tensors decode alike")


with tempfile.TemporaryDirectory() as folder:
    for name in FORMATS:
        check(name, sys.argv[1], pathlib.Path(sys.argv[2]) / "qwen3-micro", pathlib.Path(folder))
