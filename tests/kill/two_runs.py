#!/usr/bin/env python3
"""Two runs that make one output at the same time: one makes it, and the other says so or waits; what it makes is never
the other's, and what a killed run left is removed.

usage: two_runs.py CKPT TESTDATA ROUNDS
"""
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CKPT, TESTDATA, ROUNDS = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), int(sys.argv[3])
AT_WORK = "another ckpt is at work on this output just now. Try: again when it is done\n"
PLAN = ["convert", "m", "out", "--shard-size", "1M", "--plan-out", "plan.json"]
# The command, its temporary name (a folder with '/'), and its output
LOCKED = [
    (PLAN, ".plan.json.partial", "plan.json"),
    (["report", "m", "--out", "page.html"], ".page.html.partial", "page.html"),
    (["publish", "m"], "m/.SHA256SUMS.partial", "m/SHA256SUMS"),
    (["publish", "m", "--card", "card.md"], ".card.md.partial", "card.md"),
    (["publish", "m", "--archive", "a.tar.zst"], ".ckpt-a.tar.zst.partial", "a.tar.zst"),
    (["publish", "m", "--lfs", "lfs"], ".ckpt-lfs-lfs.partial/", "lfs"),
    (["verify", "m.tar.zst", "--unpack", "u"], "u.partial/", "u"),
    (["patch", "m", "--step", "config:set=layers=3", "--out", "patched"], "patched.partial/", "patched"),
    (["imatrix", "merge", "imatrix.gguf", "--out", "sum.gguf"], "sum.gguf.partial.ledger", "sum.gguf"),
]
# The commands of two runs, and their output
PAIRS = [
    ([[*PLAN, "--threads", n] for n in "12"], "plan.json"),
    ([["publish", m, "--archive", "a.tar.zst"] for m in "mn"], "a.tar.zst"),
    ([["publish", m, "--lfs", "lfs"] for m in "mn"], "lfs"),
    ([["verify", m, "--unpack", "u"] for m in ("m.tar.zst", "n.tar.zst")], "u"),
    ([["patch", m, "--step", "config:set=layers=3", "--out", "patched"] for m in "mn"], "patched"),
    ([["imatrix", "merge", "imatrix.gguf", "--out", "sum.gguf", "--threads", n] for n in "12"], "sum.gguf"),
]


def start(words, **environment):
    return subprocess.Popen([CKPT, *words, "-q"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=os.environ | environment)


def expect(holds, what):
    if not holds:
        sys.exit(f"FAILED: {what}")


def finish(process):
    out, error = process.communicate(timeout=300)
    return process.returncode, out, error


def run(words):
    code, out, error = finish(start(words))
    expect(code == 0, f"{words}: exit {code}: {error}")
    return out


def remove(path):
    (shutil.rmtree if path.is_dir() else os.unlink)(path)


def content(path):
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in files if file.is_file()}


def hold(name):
    """What another run has made so far, and the lock on it."""
    path = pathlib.Path(name)
    if name.endswith("/"):
        path.mkdir(mode=0o700)
        (path / "config.json").write_text("unfinished")
    else:
        path.write_text("unfinished")
    lock = os.open(path, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return path, lock


def one_at_a_time(words, name, out):
    path, lock = hold(name)
    code, _, error = finish(start(words))
    is_said = any(error.endswith(f": {shown}: {AT_WORK}") for shown in (path, path.absolute()))
    expect(code == 2 and is_said, f"{words}, exit {code} while another run is at work: {error}")
    expect(not pathlib.Path(out).exists(), f"{words} made what another run is making")
    expect(path.exists() and os.path.samestat(os.fstat(lock), path.stat()), f"{words} took {path} from another run")
    os.close(lock)  # it was killed
    run(words)
    expect(not path.exists() and b"unfinished" not in content(pathlib.Path(out)).values(), f"{words} left {path}")
    remove(pathlib.Path(out))


def pair(commands, name):
    out, alone = pathlib.Path(name), []
    for words in commands:
        run(words)
        alone.append(content(out))
        remove(out)
    for _ in range(ROUNDS):
        ended = [finish(process) for process in [start(words) for words in commands]]
        made = [i for i, (code, _, _) in enumerate(ended) if code == 0]
        expect(len(made) == 1, f"{commands}: of two runs, {len(made)} say that they made {name}: {ended}")
        expect(content(out) == alone[made[0]], f"{commands}: {name} is not what run {made[0] + 1} made")
        expect(not list(pathlib.Path().glob("*.partial")) + list(pathlib.Path().glob(".*.partial")), f"{commands} left files")
        remove(out)


def named_model(i):
    pathlib.Path(f"g{i}").mkdir()
    shutil.copy("model.gguf", f"g{i}")
    run(["set", f"g{i}/model.gguf", f"general.name=number {i}"])
    run(["publish", f"g{i}"])


def weights_in(store, name):
    manifest = json.loads((store / "manifests/registry.ollama.ai/library/x" / name).read_text())
    for layer in [manifest["config"], *manifest["layers"]]:
        blob = (store / "blobs" / layer["digest"].replace(":", "-")).read_bytes()
        expect("sha256:" + hashlib.sha256(blob).hexdigest() == layer["digest"], f"x:{name}: {layer} has other bytes")
    return manifest["layers"][0]["digest"]


def ollama():
    run(["convert", "m", "model.gguf", "--to", "q8_0", "--tokenizer-pre", "qwen2"])
    names = "123456"
    for i in names:
        named_model(i)
    for _ in range(ROUNDS):
        store = pathlib.Path("store")
        store.mkdir()
        runs = [start(["publish", f"g{i}", "--to", f"ollama:x:{i}"], OLLAMA_MODELS=str(store)) for i in names]
        for i, process in zip(names, runs):
            code, _, error = finish(process)
            expect(code == 0, f"ollama:x:{i}: exit {code}: {error}")
        for i in names:
            own = "sha256:" + hashlib.sha256(pathlib.Path(f"g{i}/model.gguf").read_bytes()).hexdigest()
            expect(weights_in(store, i) == own, f"ollama:x:{i} leads to another model")
        shutil.rmtree(store)


def main(work):
    os.chdir(work)
    for name in "mn":
        shutil.copytree(TESTDATA / "qwen3-micro", name)
        pathlib.Path(name, "notes.txt").write_text(name * 1000)
        run(["publish", name, "--archive", f"{name}.tar.zst"])
        os.unlink(f"{name}/SHA256SUMS")
    shutil.copy(TESTDATA / "formats/good/imatrix/imatrix.gguf", "imatrix.gguf")
    for words, name, out in LOCKED:
        one_at_a_time(words, name, out)
    for commands, name in PAIRS:
        pair(commands, name)
    ollama()
    print(f"{len(LOCKED)} commands keep off what another run makes; {ROUNDS} times {len(PAIRS)} pairs, and six models "
          "for Ollama")


with tempfile.TemporaryDirectory(prefix="ckpt-two-runs-") as folder:
    main(pathlib.Path(folder))
