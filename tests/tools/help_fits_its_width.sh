# `ckpt` alone prints the commands in their groups; -h has a line an option; help is wrapped to the terminal, to 80 columns without one.
"$ckpt" > alone; echo "exit $?"
"$ckpt" --help | cmp - alone && "$ckpt" help | cmp - alone
grep -c '^[A-Z]' alone; grep '^[A-Z][A-Za-z ]*$' alone
cat > check.py <<'PYTHON'
import fcntl, os, pty, re, struct, subprocess, sys, termios
ckpt = sys.argv[1]
verbs = re.findall(r"^  (\w+)  ", open("alone").read(), re.M)

def printed(words, columns):
    if not columns:
        return subprocess.run([ckpt, *words], capture_output=True, text=True).stdout
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen([ckpt, *words], stdout=writer, stderr=writer)
    os.close(writer)
    out = b""
    while True:
        try: piece = os.read(reader, 65536)
        except OSError: break
        if not piece: break
        out += piece
    assert process.wait() == 0
    os.close(reader)
    return out.decode().replace("\r\n", "\n")

for columns in (0, 60, 80, 200):
    for words in [[], *([verb, "-h"] for verb in verbs), *(["help", verb] for verb in verbs)]:
        text = printed(words, columns)
        usage = text.index("Usage:")          # examples stand as they are typed
        for line in text[usage:].splitlines():
            assert len(line) <= (columns or 80), (columns, words, line)
        if words and words[0] != "help":
            options = re.findall(r"^  -", text, re.M)
            assert len(options) == text.count("\n  -"), words
long = max(len(line) for line in printed(["help", "convert"], 200).splitlines())
assert long > 120, long
assert "…" not in printed([], 80)
text = printed(["help", "convert"], 0)
assert "TEXT" not in text
for group in ("Input", "Output", "Type", "NVFP4", "GGUF", "Serving", "Every command"):
    assert re.search(rf"^{group}", text, re.M), group
print("all lines fit")
PYTHON
python3 check.py "$ckpt"
echo "-- a step, a type, a check, a profile"
"$ckpt" help drop | head -4
"$ckpt" help Q4KM | head -1
"$ckpt" help c02 | head -1
"$ckpt" help vllm-0.17 | tail -1
"$ckpt" help graf 2>&1; echo "exit $?"
