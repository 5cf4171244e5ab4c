# On a terminal a line is drawn over while work takes long, unless that is not wanted; elsewhere none is.
cat > check.py <<'PYTHON'
import json, os, pty, select, signal, struct, subprocess, sys, time
ckpt, SIZE = sys.argv[1], 1 << 36
for folder in ("a", "b"):
    os.makedirs(folder)
    header = json.dumps({"w": {"dtype": "BF16", "shape": [SIZE // 8192, 4096], "data_offsets": [0, SIZE]}}).encode()
    with open(f"{folder}/model.safetensors", "wb") as out:
        out.write(struct.pack("<Q", len(header)) + header)
        out.truncate(8 + len(header) + SIZE)
open("a/SHA256SUMS", "w").write("0" * 64 + "  model.safetensors\n")

def shown(words, is_terminal, seconds):
    reader, writer = pty.openpty() if is_terminal else os.pipe()
    process = subprocess.Popen([ckpt, *words], stdin=subprocess.DEVNULL, stdout=writer, stderr=writer, env={**os.environ, "TERM": "xterm"})
    os.close(writer)
    out, end = b"", time.monotonic() + seconds
    while time.monotonic() < end and b"\x1b[K" not in out:
        if select.select([reader], [], [], 0.1)[0]:
            try: out += os.read(reader, 4096)
            except OSError: break
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130, (words, process.returncode)   # it ends where it is
    os.close(reader)
    return b"\x1b[K" in out and b"/s  " in out

for words in (["verify", "a"], ["diff", "a", "b"], ["diff", "a", "b", "--values"], ["doctor", "a", "--deep"]):
    assert shown(words, True, 30), words   # there within a tenth of a second, but on a busy machine
for words in (["--progress=none"], ["--progress=plain"], ["-q"]):
    assert not shown(["diff", "a", "b", *words], True, 1), words
assert not shown(["diff", "a", "b"], False, 1)
PYTHON
python3 check.py "$ckpt"
