#!/usr/bin/env python3
"""Makes good/: small files written by the packages that define the formats.

Needs: torch, safetensors, huggingface_hub, transformers, gguf, numpy.
Usage: make_good.py [PATH OF libggml-base.so]   (for gguf/ggml_writer.gguf)
"""
import ctypes
import json
import pathlib
import shutil
import struct
import sys

import gguf
import numpy as np
import torch
from huggingface_hub import split_torch_state_dict_into_shards
from safetensors.torch import save_file

GOOD = pathlib.Path(__file__).parent / "good"


def pattern(count):
    return bytes((i * 37 + 11) % 251 for i in range(count))


def bf16(*shape):
    count = int(np.prod(shape))
    return torch.frombuffer(bytearray(pattern(count * 2)), dtype=torch.bfloat16).reshape(shape)


def make_safetensors(out):
    out.mkdir(parents=True)
    tensors = {}
    for name in ("bool uint8 int8 float8_e5m2 float8_e4m3fn float8_e8m0fnu float8_e4m3fnuz "
                 "float8_e5m2fnuz int16 uint16 float16 bfloat16 int32 uint32 float32 complex64 "
                 "float64 int64 uint64 float4_e2m1fn_x2").split():
        dtype = getattr(torch, name)
        size = 24 * torch.empty([], dtype=dtype).element_size()
        data = bytearray(pattern(size)) if name != "bool" else bytearray([1, 0] * 12)
        tensors[f"of.{name}"] = torch.frombuffer(data, dtype=torch.uint8).view(dtype).reshape(2, 3, 4)
        tensors[f"another.{name}"] = tensors[f"of.{name}"][:1].clone()
    save_file(tensors, out / "dtypes.safetensors", {"format": "pt"})
    save_file({"scalar": torch.tensor(1.5), "empty": torch.zeros(0, 3), "empty_rows": torch.zeros(4, 0),
               "matrix": torch.ones(2, 3)}, out / "ranks.safetensors")
    save_file({'\u00e9 "quoted" \\ \n \u0001 / \x7f \U0001f999': torch.zeros(3)},
              out / "escapes.safetensors", {"why": 'tab\t "\u00e9" \U0001f999'})
    save_file({}, out / "no_tensors.safetensors")
    # No package can make six-bit tensors yet; written out: four values take three bytes.
    header = (b'{"word":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},'
              b'"six.b":{"dtype":"F6_E3M2","shape":[1,8],"data_offsets":[4,10]},'
              b'"six.a":{"dtype":"F6_E2M3","shape":[2,4],"data_offsets":[10,16]}}')
    header += b" " * (-len(header) % 8)
    (out / "six_bits.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + pattern(16))
    save_file({"layers.0.weight": torch.frombuffer(bytearray(pattern(4 * 16)), dtype=torch.uint8).reshape(4, 16),
               "layers.0.weight_scale": torch.frombuffer(bytearray(pattern(4 * 2)), dtype=torch.uint8)
               .view(torch.float8_e4m3fn).reshape(4, 2),
               "layers.0.weight_scale_2": torch.tensor(0.125),
               "layers.0.input_scale": torch.tensor(0.5),
               "layers.1.weight": torch.frombuffer(bytearray(pattern(4 * 16)), dtype=torch.uint8).reshape(4, 16),
               "layers.1.weight_scale": torch.frombuffer(bytearray(pattern(4 * 3)), dtype=torch.uint8)
               .view(torch.float8_e4m3fn).reshape(4, 3),
               "layers.1.weight_scale_2": torch.tensor(0.125),
               "norm.weight": bf16(32)}, out / "three_parts.safetensors", {"format": "pt"})


def make_folders(out):
    """A model saved whole and in shards, the latter with an index."""
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.manual_seed(1)
    config = LlamaConfig(vocab_size=32, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
                         num_attention_heads=2, num_key_value_heads=1)
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    model.save_pretrained(out / "saved_whole")
    model.save_pretrained(out / "saved_in_shards", max_shard_size="2KB")

    # The same cut of one file's tensors, in that file's order, as huggingface_hub makes it.
    state = {name: bf16(rows, 8) for name, rows in
             [("a", 10), ("b", 30), ("c", 5), ("d", 200), ("e", 5), ("f", 40), ("g", 1), ("h", 3)]}
    (out / "uncut").mkdir()
    save_file(state, out / "uncut" / "model.safetensors", {"format": "pt"})
    (out / "cut_at_1000").mkdir()
    split = split_torch_state_dict_into_shards(state, max_shard_size=1000)
    for file, names in split.filename_to_tensors.items():
        save_file({name: state[name] for name in names}, out / "cut_at_1000" / file, {"format": "pt"})
    index = {"metadata": {"total_parameters": sum(t.numel() for t in state.values()), **split.metadata},
             "weight_map": split.tensor_to_filename}
    (out / "cut_at_1000" / "model.safetensors.index.json").write_text(
        json.dumps(index, indent=2, sort_keys=True) + "\n")


def add_types(writer):
    for kind in gguf.GGMLQuantizationType:
        if kind.name in ("Q8_1", "Q8_K"):
            continue   # never stored in a model file
        block, size = gguf.GGML_QUANT_SIZES[kind]
        data = np.frombuffer(pattern(3 * 2 * size), dtype=np.uint8).reshape(3, 2 * size)
        writer.add_tensor(f"of.{kind.name.lower()}", data, raw_dtype=kind)


def write(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def make_gguf(out, library):
    out.mkdir(parents=True)
    kinds = gguf.GGUFValueType
    writer = gguf.GGUFWriter(out / "types.gguf", "llama")
    add_types(writer)
    write(writer)

    writer = gguf.GGUFWriter(out / "values.gguf", "llama")
    for kind, low, high in [(kinds.UINT8, 0, 255), (kinds.INT8, -128, 127), (kinds.UINT16, 0, 65535),
                            (kinds.INT16, -2**15, 2**15 - 1), (kinds.UINT32, 0, 2**32 - 1),
                            (kinds.INT32, -2**31, 2**31 - 1), (kinds.UINT64, 0, 2**64 - 1),
                            (kinds.INT64, -2**63, 2**63 - 1), (kinds.FLOAT32, -0.0, 1e-45),
                            (kinds.FLOAT64, -1e308, 5e-324), (kinds.BOOL, False, True)]:
        name = kind.name.lower()
        writer.add_key_value(f"{name}.low", low, kind)
        writer.add_key_value(f"{name}.high", high, kind)
        writer.add_key_value(f"{name}.array", [low, high, high], kinds.ARRAY, sub_type=kind)
    writer.add_string("text", "caf\u00e9 \x00 zero inside")
    writer.add_array("texts", ["a", "", "\u00e9"])
    writer.add_array("bytes", b"\x00\xff")
    writer.add_key_value("nested", [[1, 2], [3]], kinds.ARRAY)
    write(writer)

    writer = gguf.GGUFWriter(out / "ranks.gguf", "llama")
    for rank, shape in enumerate([(5,), (1, 5), (2, 3, 5), (2, 1, 3, 5), (7, 0)]):
        writer.add_tensor(f"rank{rank}.weight", np.arange(np.prod(shape), dtype=np.float32).reshape(shape))
    write(writer)

    writer = gguf.GGUFWriter(out / "alignment_64.gguf", "llama")
    writer.add_custom_alignment(64)
    for name in "abc":
        writer.add_tensor(name, np.arange(5, dtype=np.int8))
    write(writer)
    write(gguf.GGUFWriter(out / "no_tensors.gguf", "llama"))

    version_2 = bytearray((out / "types.gguf").read_bytes())
    version_2[4] = 2
    (out / "version_2.gguf").write_bytes(version_2)

    for name, limit in [("uncut.gguf", 0), ("cut_at_1000.gguf", 1000)]:
        writer = gguf.GGUFWriter(out / name, "llama", split_max_size=limit)
        writer.add_uint32("llama.block_count", 1)
        for tensor, rows in [("a", 10), ("b", 30), ("c", 5), ("d", 200), ("e", 5), ("f", 40), ("g", 2), ("h", 4)]:
            writer.add_tensor(tensor, np.arange(rows * 8, dtype=np.int16).reshape(rows, 8))
        write(writer)

    if library:
        rewrite_with_ggml(ctypes.CDLL(library), out / "types.gguf", out / "ggml_writer.gguf")


def rewrite_with_ggml(ggml, source, target):
    """The same keys and tensors, written by ggml's own writer."""
    class Params(ctypes.Structure):
        _fields_ = [("no_alloc", ctypes.c_bool), ("ctx", ctypes.POINTER(ctypes.c_void_p))]
    pointer = ctypes.c_void_p
    for function, result, arguments in [
            ("gguf_init_from_file", pointer, [ctypes.c_char_p, Params]),
            ("gguf_init_empty", pointer, []),
            ("gguf_set_kv", None, [pointer, pointer]),
            ("gguf_add_tensor", None, [pointer, pointer]),
            ("ggml_get_first_tensor", pointer, [pointer]),
            ("ggml_get_next_tensor", pointer, [pointer, pointer]),
            ("gguf_write_to_file", ctypes.c_bool, [pointer, ctypes.c_char_p, ctypes.c_bool])]:
        getattr(ggml, function).restype = result
        getattr(ggml, function).argtypes = arguments
    tensors = pointer()
    context = ggml.gguf_init_from_file(str(source).encode(), Params(False, ctypes.pointer(tensors)))
    written = ggml.gguf_init_empty()
    ggml.gguf_set_kv(written, context)
    tensor = ggml.ggml_get_first_tensor(tensors)   # the first is the buffer of all the others
    while tensor := ggml.ggml_get_next_tensor(tensors, tensor):
        ggml.gguf_add_tensor(written, tensor)
    assert ggml.gguf_write_to_file(written, str(target).encode(), False)


def make_imatrix(out):
    out.mkdir(parents=True)

    def entry(name, calls, values):
        return (struct.pack("<i", len(name)) + name.encode() + struct.pack("<ii", calls, len(values)) +
                struct.pack(f"<{len(values)}f", *values))
    entries = (struct.pack("<i", 2) + entry("blk.0.attn_q.weight", 3, [1.0, 2.0, 3.5]) +
               entry("output.weight", 0, [0.25, 7.0]))
    (out / "legacy.dat").write_bytes(entries + struct.pack("<ii", 12, 9) + b"wiki.test")
    (out / "legacy_without_tail.dat").write_bytes(entries)

    writer = gguf.GGUFWriter(out / "imatrix.gguf", "")
    writer.kv_data[0].clear()   # llama-imatrix writes no architecture
    writer.add_string("general.type", "imatrix")
    writer.add_array("imatrix.datasets", ["wiki.test", "code.txt"])
    writer.add_uint32("imatrix.chunk_count", 12)
    writer.add_uint32("imatrix.chunk_size", 512)
    writer.add_tensor("blk.0.attn_q.weight.in_sum2", np.array([[1.0, 2.0, 3.5]], dtype=np.float32))
    writer.add_tensor("blk.0.attn_q.weight.counts", np.array([[3.0]], dtype=np.float32))
    writer.add_tensor("blk.0.ffn_up_exps.weight.in_sum2", np.array([[4.0, 6.0], [5.0, 5.0], [9.0, 1.0]], dtype=np.float32))
    writer.add_tensor("blk.0.ffn_up_exps.weight.counts", np.array([[1.6], [0.0], [4.0]], dtype=np.float32))
    write(writer)


if __name__ == "__main__":
    shutil.rmtree(GOOD, ignore_errors=True)
    make_safetensors(GOOD / "safetensors")
    make_folders(GOOD / "folders")
    make_gguf(GOOD / "gguf", sys.argv[1] if len(sys.argv) > 1 else None)
    make_imatrix(GOOD / "imatrix")
    for path in GOOD.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
