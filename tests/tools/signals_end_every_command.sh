# SIGINT and SIGTERM end every command within a second, with exit code 130: those that read or write for long, and
# those that wait for who reads their output. A file of zeros takes no room on the disk and long to hash.
cat > check.py <<'PYTHON'
import os, pathlib, signal, struct, subprocess, sys, time, json, fcntl
ckpt, testdata = sys.argv[1], sys.argv[2]
SIZE = 1 << 36

def write_model(folder, size):
    os.makedirs(folder)
    header = json.dumps({"w": {"dtype": "BF16", "shape": [size // 8192, 4096], "data_offsets": [0, size]}}).encode()
    with open(f"{folder}/model.safetensors", "wb") as out:
        out.write(struct.pack("<Q", len(header)) + header)
        out.truncate(8 + len(header) + size)
    pathlib.Path(folder, "config.json").write_text("{}")

for folder in ("a", "b", "c"): write_model(folder, SIZE)
write_model("written", 1 << 31)
write_model("small", 8192 * 16)
pathlib.Path("a/SHA256SUMS").write_text("0" * 64 + "  model.safetensors\n" + "0" * 64 + "  config.json\n")

def full_pipe():
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writer, bytes(4096))
    return reader, writer

def catches(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("SigCgt:")[1].split()[0], 16) >> (signal.SIGTERM - 1) & 1

def end(words, stream, number, times=1):
    reader, writer = full_pipe()
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if stream: streams[stream] = writer
    process = subprocess.Popen([ckpt, *words], stdin=subprocess.DEVNULL, **streams)
    while process.poll() is None and not catches(process.pid): time.sleep(0.01)   # on a busy machine it is long in coming
    time.sleep(0.3)
    assert process.poll() is None, (words, "was done already", process.returncode)
    start = time.monotonic()
    for _ in range(times): process.send_signal(number); time.sleep(0.02)
    code = process.wait(30)
    took = time.monotonic() - start
    os.close(reader), os.close(writer)
    assert code == 130, (words, stream, code)
    assert took < 5, (words, stream, took)   # one second, and what a busy machine adds

LONG = [["verify", "a"], ["publish", "b"], ["publish", "b", "--archive", "x.tar.zst"], ["diff", "a", "c"], ["diff", "a", "c", "--values"],
        ["convert", "written", "out", "--step", "cast:type=f32"], ["convert", "written", "shards", "--shard-size", "100M"],
        ["doctor", "a", "--deep"], ["patch", "written", "--step", "cast:type=f16", "--rewrite-weights"],
        ["patch", "written", "--step", "cast:type=f32", "--out", "patched"]]
for i, words in enumerate(LONG): end(words, None, (signal.SIGINT, signal.SIGTERM)[i % 2])
PRINTING = [["show", "small", "--tensors"], ["show", "small", "--json"], ["doctor", "small"], ["diff", "small", testdata + "/llama-micro"], ["list"],
            ["completion", "bash"], ["verify", "small"], ["patch", "small", "--step", "config:set=a=1", "--dry-run"],
            ["convert", "small", "o", "--dry-run"], ["convert", "small", "o", "--plan-out", "plan.json"]]
for i, words in enumerate(PRINTING): end(words, "stdout", (signal.SIGINT, signal.SIGTERM)[i % 2])
for words in (["show", "nothing"], ["convert", "small", "o2", "--keep", "x"]): end(words, "stderr", signal.SIGINT)
end(["show", "small"], "stdout", signal.SIGINT, times=2)
assert not os.path.exists("out") and not os.path.exists("shards") and not os.path.exists("patched"), os.listdir()
PYTHON
python3 check.py "$ckpt" "$testdata"
