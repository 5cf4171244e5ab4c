"""Parameter counts and the label llama.cpp's gguf package gives them.

usage: python make_size_labels.py > size_labels.json       needs: gguf from llama.cpp v0.5.0 (gguf-py)
One row a line: [total, shared, one expert, experts, label]
"""
import json

import gguf

TOTALS = [1, 9, 10, 499, 500, 999, 1000, 1499, 1500, 9499, 9500, 9999, 94_999, 95_000, 999_499, 999_500, 10**6, 10**6 + 1,
          1_234_567, 3_160_000, 9_949_999, 9_500_001, 10_499_999, 752_000_000, 999_499_999, 10**9, 10**9 + 1, 9_400_000_000,
          9_650_000_001, 27_300_000_000, 2_500_000_000, 3_500_000_000, 10_500_000_000, 11_500_000_000, 999_999_999_999, 10**12,
          10**12 + 1, 1_500_000_000_000, 123_456_789_012_345, 500_000_000, 450_000, 449_999, 5, 0]
rows = [[t, t, 0, 0] for t in TOTALS]
rows += [[30_532_122_624, 1_541_000_000, 226_000_000, 128], [10**10, 10**9, 10**6, 8], [12345, 123, 45, 4], [46_702_792_704, 1_605_000_000, 5_637_000_000, 8]]
print("[" + ",\n".join(json.dumps(r + [gguf.size_label(r[0], r[1], r[2], r[3])]) for r in rows) + "]")
