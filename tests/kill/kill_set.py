#!/usr/bin/env python3
"""Signals at random moments of `ckpt set`, which edits a GGUF in place: the file is the old one or the new one, or
the same command completes it; nothing else is ever there.

usage: kill_set.py CKPT TESTDATA ROUNDS [SEED]
"""
import hashlib
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import model

CKPT, TESTDATA, ROUNDS = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]), int(sys.argv[3])
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else 1
RNG = random.Random(SEED)
signal.signal(signal.SIGHUP, signal.SIG_DFL)   # under nohup it is ignored, by ckpt too
signal.signal(signal.SIGINT, signal.default_int_handler)   # the same in the background
SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def fail(text):
    print(f"FAILED (seed {SEED}): {text}")
    sys.exit(1)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def start(words, folder):
    return subprocess.Popen([CKPT, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def finish(words, folder):
    process = start(words, folder)
    error = process.communicate(timeout=300)[1]
    if process.returncode != 0:
        fail(f"{' '.join(words)}: exit {process.returncode}: {error}")


def disturb(words, folder, number, seconds):
    process = start(words, folder)
    try:
        process.wait(RNG.uniform(0, 1.1 * seconds))
    except subprocess.TimeoutExpired:
        process.send_signal(number)
    error = process.communicate(timeout=60)[1]
    # killed before it listens, or interrupted, which is one exit code for all signals
    if process.returncode not in (0, -number) and (number == signal.SIGKILL or process.returncode != 130):
        fail(f"{number.name}: exit {process.returncode}: {error}")
    return process.returncode != 0


def main(work):
    model.make(work / "m", TESTDATA, 6, 4096)
    finish(["convert", "m", "old.gguf", "--to", "bf16", "--tokenizer-pre", "qwen2", "-q"], work)
    # longer than the room that a header has: every tensor moves
    (work / "long").write_text("{{ messages }}" * 20000)
    words = ["set", "model.gguf", "tokenizer.chat_template=@../long", "general.name=another", "-q"]
    folder = work / "edited"
    folder.mkdir()
    file = folder / "model.gguf"
    shutil.copy(work / "old.gguf", file)
    old = digest(file)
    began = time.monotonic()
    finish(words, folder)
    seconds, new = time.monotonic() - began, digest(file)
    counts = dict.fromkeys(("old", "new", "completed"), 0)
    for number in SIGNALS * ROUNDS:
        shutil.copy(work / "old.gguf", file)
        while not disturb(words, folder, number, seconds):
            shutil.copy(work / "old.gguf", file)
        found = {old: "old", new: "new"}.get(digest(file), "completed")
        counts[found] += 1
        finish(words, folder)
        if digest(file) != new or [path.name for path in folder.iterdir()] != ["model.gguf"]:
            fail(f"{number.name}: {found}, then {sorted(path.name for path in folder.iterdir())}")
    print(f"{file.stat().st_size:,} bytes, {seconds:.2f} s: {counts}")


with tempfile.TemporaryDirectory() as folder:
    main(pathlib.Path(folder))
