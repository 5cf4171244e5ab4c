# On a terminal tables and the progress line fit its width, and headlines say good and bad in colors; elsewhere nothing is cut.
"$ckpt" convert "$testdata/llama-micro" a.gguf --to bf16 --tokenizer-pre llama-bpe -q
cp -r "$testdata/llama-micro" m; "$ckpt" publish m -q >/dev/null 2>&1
cat > check.py <<'PYTHON'
import fcntl, json, os, pty, re, select, signal, struct, subprocess, sys, termios, time
ckpt = sys.argv[1]

def printed(words, columns, seconds=None):
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen([ckpt, *words], stdin=subprocess.DEVNULL, stdout=writer, stderr=writer,
                               env={**os.environ, "TERM": "xterm"})
    os.close(writer)
    out, end = b"", time.monotonic() + (seconds or 60)
    while time.monotonic() < end and not (seconds and b"left" in out and out.count(b"\x1b[K") > 2):
        if not select.select([reader], [], [], 0.1)[0]: continue
        try: piece = os.read(reader, 65536)
        except OSError: break
        if not piece: break
        out += piece
    if seconds: process.send_signal(signal.SIGINT)
    process.wait(30)
    os.close(reader)
    return out.decode()

plain = lambda text: re.sub(r"\x1b\[[0-9;]*[mK]", "", text)
piped = subprocess.run([ckpt, "show", "a.gguf", "--tensors"], capture_output=True, text=True).stdout
whole = max(len(line) for line in piped.splitlines() if line.startswith(("tensor", "blk")))
for columns in (whole - 9, whole + 3):
    text = printed(["show", "a.gguf", "--tensors"], columns)
    table = [line for line in plain(text).splitlines() if line.startswith(("tensor", "blk", "token", "output"))]
    assert len(table) > 10 and max(map(len, table)) <= columns, table
    assert ("…" in text) == (columns < whole), text
assert "…" not in piped and "\x1b" not in piped
assert "\x1b[1;32m" in printed(["verify", "m"], 80)
open("m/config.json", "a").write(" ")
assert "\x1b[1;31m" in printed(["verify", "m"], 80)
assert "\x1b[1;31mckpt:\x1b[0m none" in printed(["show", "none"], 80)
size = 1 << 36
os.makedirs("large")
header = json.dumps({"w": {"dtype": "BF16", "shape": [size // 8192, 4096], "data_offsets": [0, size]}}).encode()
with open("large/model.safetensors", "wb") as out:
    out.write(struct.pack("<Q", len(header)) + header)
    out.truncate(8 + len(header) + size)
open("large/SHA256SUMS", "w").write("0" * 64 + "  model.safetensors\n")
for columns in (40, 80, 120):
    drawn = [line for line in plain(printed(["verify", "large"], columns, 20)).split("\r") if "%" in line]
    assert drawn and max(map(len, drawn)) < columns, (columns, drawn)
    assert (columns < 80) != ("[" in drawn[0]), drawn
print("all of it fits")
PYTHON
python3 check.py "$ckpt"
