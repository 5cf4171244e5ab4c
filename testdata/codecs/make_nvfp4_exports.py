"""Rows of exported tensors beside the BF16 rows they came from: nvfp4_exports.tsv.

  make_nvfp4_exports.py FOLDER > nvfp4_exports.tsv

FOLDER holds MODEL/hf (BF16), MODEL/modelopt/KIND (nvidia-modelopt 0.47.0 on a GPU; from
MODEL/modelopt/qat-checkpoint where KIND is qat-export) and MODEL/compressed-tensors/nvfp4
(llm-compressor 0.14). A line: kind, codec, tensor, row, largest magnitude that the exporter used,
BF16 source, codes, block scales or -, tensor scale; all but the first four in hexadecimal.
"""
import json
import struct
import sys

import numpy as np

f4 = np.float32
FOLDER = sys.argv[1].rstrip('/') + '/'


class Safetensors:
    def __init__(self, path):
        self.path = path
        with open(path, 'rb') as file:
            size = struct.unpack('<Q', file.read(8))[0]
            self.entries = json.loads(file.read(size))
        self.entries.pop('__metadata__', None)
        self.start = 8 + size

    def raw(self, name):
        begin, end = self.entries[name]['data_offsets']
        return np.fromfile(self.path, np.uint8, end - begin, offset=self.start + begin)

    def rows(self, name, dtype):
        return self.raw(name).view(dtype).reshape(self.entries[name]['shape'][0], -1)


def round_to_bf16(x):
    bits = int(np.array([x], f4).view(np.uint32)[0])
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return np.array([bits], np.uint32).view(f4)[0]


PARTS = {'nvfp4_modelopt': ('', '_scale', '_scale_2'), 'fp8_tensor': ('', None, '_scale'),
         'nvfp4_ct': ('_packed', '_scale', '_global_scale')}


def add(kind, codec, base, export, names, rows, divisor):
    base = Safetensors(FOLDER + base + '/model.safetensors')
    export = Safetensors(FOLDER + export + '/model.safetensors')
    for name in names:
        name = f'model.layers.{name[0]}.{name[1]}.weight'
        codes, scales, whole = (None if s is None else name + s for s in PARTS[codec])
        source = base.rows(name, np.uint16)
        scale = export.raw(whole).view(f4)[0]
        if codec == 'nvfp4_ct':   # tensors whose scale is their own, not a group's
            amax = np.abs((source.astype(np.uint32) << 16).view(f4)).max()
            if round_to_bf16(round_to_bf16(f4(1) / amax) * f4(divisor)) != scale:
                continue
        else:   # magnitudes are bfloat16 numbers
            amax = round_to_bf16(scale * f4(divisor))
            assert amax * (f4(1) / f4(divisor)) == scale, name
        for row in rows:
            print(kind, codec, name, row, '%08x' % np.array([amax], f4).view(np.uint32)[0],
                  source[row].tobytes().hex(), export.rows(codes, np.uint8)[row].tobytes().hex(),
                  export.rows(scales, np.uint8)[row].tobytes().hex() if scales else '-',
                  np.array([scale], '<f4').tobytes().hex(), sep='\t')


add('modelopt gpu', 'nvfp4_modelopt', 'qwen35-micro/hf', 'qwen35-micro/modelopt/nvfp4',
    [(0, 'linear_attn.in_proj_qkv'), (0, 'linear_attn.in_proj_z'), (1, 'mlp.down_proj'),
     (3, 'self_attn.o_proj')],
    [0, 77, 255], 2688)
add('weights only', 'nvfp4_modelopt', 'qwen35-micro/hf', 'qwen35-micro/modelopt/w4a16-nvfp4',
    [(2, 'mlp.gate_proj')],
    [3, 500], 2688)
add('stored amax, weights moved', 'nvfp4_modelopt', 'qwen35-micro/modelopt/qat-checkpoint',
    'qwen35-micro/modelopt/qat-export',
    [(0, 'mlp.up_proj'), (3, 'self_attn.q_proj')],
    [5, 101, 333], 2688)
add('outliers', 'nvfp4_modelopt', 'llama-micro/hf', 'llama-micro/modelopt/nvfp4',
    [(0, 'mlp.down_proj'), (2, 'self_attn.k_proj')],
    [1, 60], 2688)
add('fp8', 'fp8_tensor', 'qwen35-micro/hf', 'qwen35-micro/modelopt/fp8',
    [(0, 'linear_attn.in_proj_qkv'), (3, 'mlp.down_proj')],
    [2, 100], 448)
add('fp8 in mixed', 'fp8_tensor', 'qwen3-micro/hf', 'qwen3-micro/modelopt/mixed-fp8-nvfp4',
    [(0, 'self_attn.q_proj')],
    [0, 9], 448)
add('llm-compressor', 'nvfp4_ct', 'qwen35-micro/hf', 'qwen35-micro/compressed-tensors/nvfp4',
    [(0, 'linear_attn.in_proj_z'), (0, 'mlp.down_proj'), (1, 'linear_attn.in_proj_qkv'),
     (3, 'self_attn.o_proj')],
    [0, 77, 255], 2688)
add('four over six', 'nvfp4_modelopt', 'qwen35-micro/hf',
    'qwen35-micro/modelopt/nvfp4-four-over-six',
    [(0, 'linear_attn.in_proj_qkv'), (1, 'mlp.down_proj'), (3, 'self_attn.o_proj')],
    [0, 77, 255], 1536)
