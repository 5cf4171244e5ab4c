# Importance matrices: shown, added as llama-imatrix adds them (whole files are compared with sums made here), filled.
cat > made.py <<'PYTHON'
import struct

def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]

def text(value):
    return struct.pack("<Q", len(value)) + value.encode()

def gguf(datasets, chunks, size, entries, more=b"", keys=4):
    """entries: (name, sums, counts, sums of inputs or None), sorted by name as llama-imatrix writes them."""
    head = text("general.type") + struct.pack("<I", 8) + text("imatrix")
    head += text("imatrix.datasets") + struct.pack("<IIQ", 9, 8, len(datasets)) + b"".join(map(text, datasets))
    head += text("imatrix.chunk_count") + struct.pack("<II", 4, chunks) + text("imatrix.chunk_size") + struct.pack("<II", 4, size) + more
    infos, data, count = b"", b"", 0
    for name, sums, counts, inputs in entries:
        parts = [(".in_sum2", sums, len(sums) // len(counts)), (".counts", counts, 1)]
        if inputs is not None:
            parts.append((".in_sum", inputs, len(inputs) // len(counts)))
        for suffix, values, columns in parts:
            infos += text(name + suffix) + struct.pack("<IQQIQ", 2, columns, len(counts), 0, len(data))
            data += struct.pack(f"<{len(values)}f", *values)
            data += bytes(-len(data) % 32)
            count += 1
    head = b"GGUF" + struct.pack("<IQQ", 3, count, keys) + head + infos
    return head + bytes(-len(head) % 32) + data

def legacy(entries, chunks, dataset):
    out = struct.pack("<i", len(entries))
    for name, calls, values in entries:
        out += struct.pack("<i", len(name)) + name.encode() + struct.pack("<ii", calls, len(values)) + struct.pack(f"<{len(values)}f", *values)
    return out + struct.pack("<ii", chunks, len(dataset)) + dataset.encode()

def added(a, b):
    return [f32(x + y) for x, y in zip(a, b)]

up, q = "blk.0.ffn_up_exps.weight", "blk.0.attn_q.weight"
a_up, b_up = [f32(0.1 * i) for i in range(8)], [f32(0.7 * i) for i in range(8)]
a_q, b_q, d_q = [f32(0.1), 2.0], [f32(1 / 3), 0.5], [f32(0.3), f32(0.9)]
a_up[2:4] = b_up[2:4] = [0.0, 0.0]
write = lambda name, data: open(name, "wb").write(data)
write("a.gguf", gguf(["prose.txt"], 2, 512, [(q, a_q, [1024], [1.0, -2.0]), (up, a_up, [600, 0, 700, 5], None)]))
write("b.gguf", gguf(["code.txt", "math.txt"], 3, 512, [(q, b_q, [1536], [0.5, 1.0]), (up, b_up, [800, 0, 1, 900], None)]))
write("d.dat", legacy([(q, 4, d_q)], 4, "old.txt"))
write("c256.gguf", gguf(["x.txt"], 1, 256, [(q, a_q, [256], None)]))
write("key.gguf", gguf(["x.txt"], 1, 512, [(q, a_q, [512], None)], text("made.by") + struct.pack("<I", 8) + text("me"), 5))
write("infinite.gguf", gguf(["x.txt"], 1, 512, [(q, [3e38, 1.0], [512], None)]))
write("infinite2.gguf", gguf(["y.txt"], 1, 512, [(q, [3e38, 1.0], [512], None)]))
write("inputs.gguf", gguf(["x.txt"], 1, 512, [(q, a_q, [512], [1.0])]))
write("many.dat", legacy([(q, 2**31 - 1, d_q)], 4, "old.txt"))
write("most.gguf", gguf(["x.txt"], 1, 512, [(q, a_q, [2**53], None)]))
write("long.dat", legacy([("n" * 60, 4, d_q)], 4, "old.txt"))
# The expected results of a + b, of a + b + d, and of a alone as .dat.
write("ab.wanted", gguf(["prose.txt", "code.txt", "math.txt"], 5, 512,
    [(q, added(a_q, b_q), [2560], [1.5, -1.0]), (up, added(a_up, b_up), [1400, 0, 701, 905], None)]))
scaled = [f32(x * 512) for x in d_q]
write("abd.wanted", gguf(["prose.txt", "code.txt", "math.txt", "old.txt"], 9, 512,
    [(q, added(added(a_q, b_q), scaled), [2560 + 4 * 512], None), (up, added(a_up, b_up), [1400, 0, 701, 905], None)]))
calls = 2
means = [f32(f32(x / n) * calls) if n else f32(calls) for x, n in zip(a_up, [600, 600, 0, 0, 700, 700, 5, 5])]
write("a.wanted", legacy([(q, 2, [f32(f32(x / 1024) * 2) for x in a_q]), (up, calls, means)], 2, "prose.txt"))
# The mean of what the experts of a.gguf saw goes to expert 1, and with --min-count 10 to expert 3 too.
mean = [f32(sum(a_up[c::2]) / 1305) for c in (0, 1)]
write("mean.wanted", gguf(["prose.txt"], 2, 512, [(q, a_q, [1024], [1.0, -2.0]), (up, a_up[:2] + mean + a_up[4:], [600, 1, 700, 5], None)],
    text("ckpt.imatrix.filled") + struct.pack("<II", 4, 1), 5))
ten = [f32((a_up[c] + a_up[4 + c]) / 1300) for c in (0, 1)]
write("ten.wanted", gguf(["prose.txt"], 2, 512, [(q, a_q, [1024], [1.0, -2.0]), (up, a_up[:2] + ten + a_up[4:6] + ten, [600, 1, 700, 1], None)],
    text("ckpt.imatrix.filled") + struct.pack("<II", 4, 2), 5))
PYTHON
python3 made.py
tried() { "$ckpt" "$@" 2>&1 | sed 's/^[0-9a-f]\{64\}/SHA256/'; }
echo "--- show"
tried imatrix show a.gguf
tried imatrix show d.dat --tensors
tried imatrix show a.gguf --json
echo "--- merge"
tried imatrix merge a.gguf b.gguf -o ab.gguf; cmp ab.gguf ab.wanted
tried imatrix merge a.gguf b.gguf d.dat -o abd.gguf; cmp abd.gguf abd.wanted
tried imatrix merge a.gguf -o a.dat; cmp a.dat a.wanted
tried imatrix merge d.dat -o d.gguf --chunk-size 256 -q; tried imatrix show d.gguf --tensors
tried imatrix merge a.gguf key.gguf -o key2.gguf -q
tried imatrix merge a.gguf key.gguf -o key2.gguf --force
tried imatrix merge a.gguf c256.gguf -o c.gguf
tried imatrix merge c256.gguf a.gguf -o c.gguf --chunk-size 512 -q
tried imatrix merge a.gguf ./a.gguf -o twice.gguf
tried imatrix merge infinite.gguf infinite2.gguf -o sum.gguf
tried imatrix merge long.dat -o long.gguf
tried imatrix merge a.gguf "$testdata/formats/good/imatrix/imatrix.gguf" -o sizes.gguf
tried imatrix merge "$testdata/formats/good/imatrix/legacy.dat" -o calls.gguf
tried imatrix merge many.dat a.gguf -o calls.gguf --chunk-size 1073741824
tried imatrix merge most.gguf b.gguf -o most2.gguf
echo "--- fill"
tried imatrix fill a.gguf -o ones.gguf; tried imatrix show ones.gguf | tail -4
tried imatrix fill a.gguf --with mean -o mean.gguf -q; cmp mean.gguf mean.wanted
tried imatrix fill a.gguf --with mean --min-count 10 -o ten.gguf; cmp ten.gguf ten.wanted
tried imatrix fill c256.gguf -o same.gguf; cmp same.gguf c256.gguf
tried imatrix fill c256.gguf --min-count 1000 -o alone.gguf; cmp alone.gguf c256.gguf && echo "no expert: measured is measured"
tried imatrix fill d.dat -o d2.gguf
tried imatrix merge ones.gguf b.gguf -o made.gguf
echo "--- refused"
tried imatrix merge a.gguf b.gguf
tried imatrix fill a.gguf b.gguf -o c.gguf
tried imatrix show a.gguf b.gguf
tried imatrix show a.gguf --with mean
tried imatrix show a.gguf --chunk-size 512
tried imatrix fill a.gguf --tensors -o c.gguf
tried imatrix merge a.gguf b.gguf -o a.gguf --force
tried imatrix merge a.gguf b.gguf -o ab.gguf
echo mine > mine
tried imatrix merge a.gguf b.gguf -o mine --force; cat mine
ln -s mine link; tried imatrix merge a.gguf b.gguf -o link --force
tried imatrix merge a.gguf b.gguf -o nowhere/x.gguf
tried imatrix show "$testdata/formats/bad/counts_do_not_divide.imatrix.gguf"
tried imatrix show mine
tried imatrix show inputs.gguf
tried imatrix split a.gguf
