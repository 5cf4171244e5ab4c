#!/usr/bin/env python3
"""Small folders of weights that are stored as packed codes. usage: make_packed.py SOURCES OUT (numpy)

SOURCES holds small checkpoints that the programs of each kind wrote:
  awq, gptq           layouts of AutoAWQ (gemm) and GPTQ (v1), group 64, asymmetric
  int4                compressed-tensors 0.19.0 pack-quantized, group 32, as Kimi K2 Thinking
  gpt-oss-mxfp4       transformers' GptOssForCausalLM, experts as _blocks and _scales
  gpt-oss-nvfp4       ModelOpt 0.47.0's export of that, experts in three axes
Of each the tensors named below are taken, bytes and configurations as they are.
bitsandbytes is laid out here: NF4 with nested scales, as bitsandbytes 0.48 saves a Linear4bit.
"""
import json
import pathlib
import struct
import sys

import numpy

KEPT = {
    "awq": ["model.layers.0.mlp.down_proj.", "model.layers.0.input_layernorm."],
    "gptq": ["model.layers.0.mlp.down_proj.", "model.layers.0.input_layernorm."],
    "int4": ["model.layers.1.mlp.experts.0.down_proj.", "model.layers.0.input_layernorm."],
    "gpt-oss-mxfp4": ["model.layers.0.mlp.experts.down_proj", "model.layers.0.input_layernorm."],
    "gpt-oss-nvfp4": ["model.layers.0.mlp.experts.down_proj", "model.layers.0.input_layernorm."],
}


def read(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {n: (e["dtype"], e["shape"], data[8 + size:][slice(*e["data_offsets"])]) for n, e in header.items()}


def write(path, tensors):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(t[2] for t in tensors.values()))


def bitsandbytes():
    rng = numpy.random.default_rng(1)
    name, state = "model.layers.0.mlp.down_proj.weight", json.dumps(
        {"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [64, 128],
         "nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": 0.04})
    u8 = lambda n: rng.integers(0, 256, n, numpy.uint8).tobytes()
    f32 = lambda n: rng.normal(size=n).astype("<f4").tobytes()
    return {
        "model.layers.0.input_layernorm.weight": ("BF16", [64], u8(64) + bytes(64)),
        name: ("U8", [4096, 1], u8(4096)),
        name + ".absmax": ("U8", [128], u8(128)),
        name + ".nested_absmax": ("F32", [1], f32(1)),
        name + ".nested_quant_map": ("F32", [256], f32(256)),
        name + ".quant_map": ("F32", [16], f32(16)),
        name + ".quant_state.bitsandbytes__nf4": ("U8", [len(state)], state.encode()),
    }


def main(sources, out):
    for kind, starts in KEPT.items():
        folder = out / kind
        folder.mkdir(parents=True, exist_ok=True)
        tensors = read(sources / kind / "model.safetensors")
        kept = {n: t for n, t in tensors.items() if any(n.startswith(s) for s in starts)}
        write(folder / "model.safetensors", kept)
        for name in ("config.json", "hf_quant_config.json"):
            if (sources / kind / name).exists():
                (folder / name).write_bytes((sources / kind / name).read_bytes())
    folder = out / "bitsandbytes"
    folder.mkdir(exist_ok=True)
    write(folder / "model.safetensors", bitsandbytes())
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16",
              "quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4",
                                      "bnb_4bit_use_double_quant": True, "bnb_4bit_compute_dtype": "bfloat16"}}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
