"""Rewrites a GGUF as converters before April 2024 wrote it, with a tensor for each expert: single_experts.py IN OUT

A stack has its experts one behind the other, so only the header changes. Requires: plain floats or Q8_0.
"""
import pathlib
import struct
import sys

NUMBERS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # bytes, by type of a value
TEXT, ARRAY = 8, 9
BLOCKS = {0: (1, 4), 1: (1, 2), 30: (1, 2), 8: (32, 34)}  # values and bytes, by type of a tensor
data = pathlib.Path(sys.argv[1]).read_bytes()
at = 24
tensors, keys = struct.unpack_from("<QQ", data, 8)


def take(form):
    global at
    found, = struct.unpack_from("<" + form, data, at)
    at += struct.calcsize("<" + form)
    return found


def text():
    global at
    size = take("Q")
    at += size
    return data[at - size:at]


def skip(kind):
    global at
    if kind == TEXT:
        text()
    elif kind == ARRAY:
        inner, count = take("I"), take("Q")
        for _ in range(count):
            skip(inner)
    else:
        at += NUMBERS[kind]


for _ in range(keys):
    text()
    skip(take("I"))
header, made = data[:at], []
for _ in range(tensors):
    name, axes = text(), take("I")
    shape = [take("Q") for _ in range(axes)]
    kind, offset = take("I"), take("Q")
    if not name.endswith(b"_exps.weight"):
        made.append((name, shape, kind, offset))
        continue
    values, size = BLOCKS[kind]
    stride = shape[0] * shape[1] // values * size
    for expert in range(shape[2]):
        one = name.replace(b"_exps.weight", b".%d.weight" % expert)
        made.append((one, shape[:2], kind, offset + expert * stride))
weights = data[at + -at % 32:]
out = bytearray(header)
struct.pack_into("<Q", out, 8, len(made))
for name, shape, kind, offset in made:
    out += struct.pack(f"<Q{len(name)}sI{len(shape)}QIQ", len(name), name, len(shape), *shape, kind, offset)
pathlib.Path(sys.argv[2]).write_bytes(out + bytes(-len(out) % 32) + weights)
