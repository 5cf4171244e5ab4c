#!/usr/bin/env python3
"""Makes testdata/packed/mlx: weights that MLX quantized, and what mx.dequantize makes of them.

usage: make_mlx.py DIR     (pip install "mlx[cpu]" numpy; values by MLX 0.32.4 on a CPU)
"""
import hashlib
import json
import pathlib
import sys

import mlx.core as mx
import numpy as np

out = pathlib.Path(sys.argv[1])
mx.random.seed(7)
tensors, expected, modules = {}, [], {}


def add(name, weight, group, bits):
    codes, scales, biases = mx.quantize(weight, group, bits)
    for end, part in {"weight": codes, "scales": scales, "biases": biases}.items():
        tensors[f"{name}.{end}"] = part
    values = np.array(mx.dequantize(codes, scales, biases, group, bits).astype(mx.float32))
    shape = ",".join(map(str, values.shape))
    expected.append(f"{name}.weight\t{shape}\t{hashlib.sha256(values.tobytes()).hexdigest()}")
    modules[name] = {"group_size": group, "bits": bits}


for number, bits in enumerate((2, 3, 4, 5, 6, 8)):
    for group, dtype in ((32, mx.float32), (64, mx.bfloat16), (128, mx.float16)):
        name = f"model.layers.{number}.mlp.w{group}"
        add(name, mx.random.normal((3, 128)).astype(dtype), group, bits)
add("model.layers.0.mlp.switch.w", mx.random.normal((2, 3, 64)).astype(mx.bfloat16), 32, 4)
tensors["model.norm.weight"] = mx.ones(8).astype(mx.bfloat16)
del modules["model.layers.2.mlp.w64"]  # as declared for all
declared = {"group_size": 64, "bits": 4, **modules}
mx.save_safetensors(str(out / "model.safetensors"), tensors, {"format": "mlx"})
config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "quantization": declared,
          "quantization_config": declared}
(out / "config.json").write_text(json.dumps(config, indent=2) + "\n")
(out / "expected.tsv").write_text("\n".join(expected) + "\n")
