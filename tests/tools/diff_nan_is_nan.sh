# A key that holds NaN equals itself; a NaN that is a number on the other side is one.
python3 - <<'PYTHON'
import struct
def text(s): return struct.pack("<Q", len(s)) + s.encode()
for name, value in (("a", float("nan")), ("b", 1.0)):
    out = b"GGUF" + struct.pack("<IQQ", 3, 1, 2) + text("general.architecture") + struct.pack("<I", 8) + text("llama")
    out += text("x") + struct.pack("<If", 6, value) + text("w") + struct.pack("<IQIQ", 1, 8, 0, 0)
    open(name + ".gguf", "wb").write(out + bytes(-len(out) % 32 + 32))
PYTHON
"$ckpt" diff a.gguf a.gguf; echo $?
"$ckpt" diff a.gguf b.gguf; echo $?
