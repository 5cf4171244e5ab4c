#!/usr/bin/env python3
"""Writes golden.tsv from the bytes that llama.cpp's own library gives.

usage: make_golden.py libggml-base.so > golden.tsv

Each line: codec, input (plain, edge or mild), weighted (no or yes), SHA-256 of all encoded bytes, SHA-256
of these bytes decoded again to floats, first 16 encoded bytes. tests/quantizers/golden_test.cc makes
the same inputs.
"""
import ctypes
import hashlib
import sys

import numpy as np

TYPES = [  # codec, ggml type, decoder
    ("q4_0", 2, "dequantize_row_q4_0"), ("q4_1", 3, "dequantize_row_q4_1"),
    ("q5_0", 6, "dequantize_row_q5_0"), ("q5_1", 7, "dequantize_row_q5_1"),
    ("q8_0", 8, "dequantize_row_q8_0"), ("q2_k", 10, "dequantize_row_q2_K"),
    ("q3_k", 11, "dequantize_row_q3_K"), ("q4_k", 12, "dequantize_row_q4_K"),
    ("q5_k", 13, "dequantize_row_q5_K"), ("q6_k", 14, "dequantize_row_q6_K"),
    ("iq4_nl", 20, "dequantize_row_iq4_nl"), ("iq4_xs", 23, "dequantize_row_iq4_xs"),
    ("mxfp4", 39, "dequantize_row_mxfp4"), ("nvfp4", 40, "dequantize_row_nvfp4"),
    ("f16", 1, "ggml_fp16_to_fp32_row"), ("bf16", 30, "ggml_bf16_to_fp32_row"),
    ("tq1_0", 34, "dequantize_row_tq1_0"), ("tq2_0", 35, "dequantize_row_tq2_0"),
    ("iq1_s", 19, "dequantize_row_iq1_s"), ("iq1_m", 29, "dequantize_row_iq1_m"),
    ("iq2_xxs", 16, "dequantize_row_iq2_xxs"), ("iq2_xs", 17, "dequantize_row_iq2_xs"),
    ("iq2_s", 22, "dequantize_row_iq2_s"), ("iq3_xxs", 18, "dequantize_row_iq3_xxs"),
    ("iq3_s", 21, "dequantize_row_iq3_s"),
]
NEED_WEIGHTS = ("iq1_s", "iq2_xxs", "iq2_xs")  # the library stops without
ROWS, COLUMNS = 16, 4096


def hashes():
    s = np.arange(ROWS * COLUMNS, dtype=np.uint64) * 2654435761 + 12345 & 0xFFFFFFFF
    s ^= s >> 15
    s = s * 2246822519 & 0xFFFFFFFF
    return (s ^ s >> 13).astype(np.uint32)


def plain():
    s = hashes()
    i = np.arange(ROWS * COLUMNS)
    u = (s >> 8 & 0xFFFF).astype(np.int64) - 32768
    return (u * (1 + i // 256 % 7) / 2**20).astype(np.float32)


def edge(mild=False):
    """Eight kinds of rows, twice. IQ types stop at numbers whose squares overflow, so they get
    milder ones."""
    s = hashes().reshape(ROWS, COLUMNS)
    bits = np.where(s & 0x7F800000 == 0x7F800000, s & 0xBFFFFFFF, s).astype(np.uint32)
    u = (s >> 8 & 0xFFFF).astype(np.int64) - 32768
    out = np.zeros((ROWS, COLUMNS), np.float32)
    for row in range(ROWS):
        kind = row % 8
        if kind == 1:
            out[row] = -0.0
        elif kind == 2:
            out[row] = 1.5
        elif kind == 3:
            kept = s[row] & 0x8FFFFFFF | 0x30000000 if mild else bits[row]
            out[row] = kept.astype(np.uint32).view(np.float32)
        elif kind == 4:
            out[row] = (s[row] & 0x807FFFFF).astype(np.uint32).view(np.float32)
        elif kind == 5:
            out[row] = (u[row] % 31 - 15) / 16
        elif kind == 6:
            out[row, 13::97] = u[row, 13::97] / 4
        elif kind == 7:
            out[row] = -np.abs(u[row]) / 2**20
    return out.reshape(-1)


def sha(array):
    return hashlib.sha256(array.tobytes()).hexdigest()


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.ggml_quantize_chunk.restype = ctypes.c_size_t
    pointer = ctypes.c_void_p
    inputs = {"plain": plain(), "edge": edge(), "mild": edge(mild=True)}
    weights = (1 + 37 * np.arange(COLUMNS) % 101).astype(np.float32)
    for name, values in inputs.items():
        print(f"input\t{name}\t-\t{sha(values)}\t-\t-")
    for codec, type_id, decoder in TYPES:
        for name, values in inputs.items():
            if name == ("edge" if codec.startswith("iq") and codec[2] != "4" else "mild"):
                continue
            for weighted in ("yes",) if codec in NEED_WEIGHTS else ("no", "yes"):
                out = np.zeros(values.size * 4, np.uint8)
                size = library.ggml_quantize_chunk(
                    type_id, pointer(values.ctypes.data), pointer(out.ctypes.data),
                    ctypes.c_int64(0), ctypes.c_int64(ROWS), ctypes.c_int64(COLUMNS),
                    pointer(weights.ctypes.data if weighted == "yes" else None))
                out = out[:size]
                decoded = np.zeros_like(values)
                getattr(library, decoder)(pointer(out.ctypes.data), pointer(decoded.ctypes.data),
                                          ctypes.c_int64(values.size))
                decoded[np.isnan(decoded)] = np.float32("nan")
                start = out[:16].tobytes().hex()
                print(f"{codec}\t{name}\t{weighted}\t{sha(out)}\t{sha(decoded)}\t{start}")


main()
