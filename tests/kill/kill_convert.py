#!/usr/bin/env python3
"""SIGKILL, SIGTERM and SIGHUP at random moments: the same command, run until it is done, gives the bytes of an undisturbed run;
shares of a plan, killed and restarted at random, do too.

usage: kill_convert.py CKPT TESTDATA KILLS [SEED]
"""
import hashlib
import json
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

CKPT, TESTDATA, KILLS = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], int(sys.argv[3])
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else 1
RNG = random.Random(SEED)
PRE = ["--tokenizer-pre", "qwen2"]  # of outputs that are GGUF
COMMON = ["--quiet", "--memory", "64M"]
CASES = {
    "gguf": ["out.gguf", "--to", "q8_0", *PRE],
    "k-quants": ["out.gguf", "--to", "q4_k_m", *PRE],
    "nvfp4": ["out", "--to", "nvfp4-w4a16", "--shard-size", "20MB"],
    "adapter": ["out", "--shard-size", "20MB", "--step", "lora:from=../adapter"],
    "adapter into gguf": ["out.gguf", "--step", "lora:from=../adapter", "--to", "q5_k_m"],
    "adapter into nvfp4": ["out", "--shard-size", "20MB", "--step", "lora:from=../adapter"],
    "several": ["out", "--to", "nvfp4-w4a16", "--also", "second.gguf=q8_0", *PRE],
}
signal.signal(signal.SIGHUP, signal.SIG_DFL)   # under nohup it is ignored, by ckpt too
signal.signal(signal.SIGINT, signal.default_int_handler)   # the same in the background
BASES = {"adapter into gguf": ("../q4.gguf", "q4_k_m"), "adapter into nvfp4": ("../fp4", "nvfp4-w4a16")}


def digests(folder):
    out = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            out[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return out


def fail(text):
    print(f"FAILED (seed {SEED}): {text}")
    sys.exit(1)


def start(folder, words):
    return subprocess.Popen([CKPT, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def finish(process, words):
    error = process.communicate(timeout=300)[1]
    if process.returncode != 0:
        fail(f"{' '.join(map(str, words))}: exit {process.returncode}: {error}")


def end(process):
    process.send_signal(RNG.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)))
    process.communicate(timeout=60)


def undisturbed(folder, words):
    began = time.monotonic()
    finish(start(folder, words), words)
    return time.monotonic() - began


def check(name, folder, expected):
    found = digests(folder)
    if found != expected:
        fail(f"{name}: {sorted(set(found.items()) ^ set(expected.items()))}")


def check_unfinished(name, folder, expected):
    """A file of weights begins like one only when it is complete."""
    for path, digest in digests(folder).items():
        final = path.replace(".partial", "", 1)
        if final == path or not final.endswith((".gguf", ".safetensors")) or digest == expected.get(final):
            continue
        with open(folder / path, "rb") as file:
            if any(file.read(8)):
                fail(f"{name}: the unfinished {path} has its first bytes")


def kill_one(work, name, kills):
    """Kills conversions until `kills` have died; each is gone on with until it is done."""
    base = BASES.get(name, ("../m", ""))[0]
    words = ["convert", base, *CASES[name], *COMMON, "--threads", "1"]
    clean = work / "clean"
    clean.mkdir()
    seconds = undisturbed(clean, words)
    expected = digests(clean)
    died = runs = 0
    while died < kills:
        folder = work / "killed"
        folder.mkdir()
        runs += 1
        while True:
            process = start(folder, words)
            try:
                # Anywhere, its last moments and the end of another's work among them.
                process.communicate(timeout=RNG.uniform(0, 1.1 * seconds))
            except subprocess.TimeoutExpired:
                end(process)
                died += 1
                for path, digest in digests(folder).items():
                    if ".partial" not in path.split("/")[0] and digest != expected.get(path):
                        fail(f"{name}: half-made content under the final name {path}")
                check_unfinished(name, folder, expected)
                continue
            if process.returncode == 0 or (digests(folder) == expected and process.returncode == 2):
                break  # 2: killed when all was done but its last words; OUT exists
            fail(f"{name}: exit {process.returncode} after {died} kills")
        check(name, folder, expected)
        shutil.rmtree(folder)
    shutil.rmtree(clean)
    print(f"{name}: {died} killed in {runs} conversions of {seconds:.2f} s")


def interrupt(work, times):
    """Ctrl-C: exit 130 within a second, and the same command resumes."""
    words = ["convert", "../m", *CASES["k-quants"], *COMMON]
    folder = work / "interrupted"
    folder.mkdir()
    seconds = undisturbed(folder, words)
    expected = digests(folder)
    slowest = ended = 0
    while ended < times:
        shutil.rmtree(folder)
        folder.mkdir()
        process = start(folder, words)
        time.sleep(RNG.uniform(0.1, 0.9) * seconds)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        error = process.communicate(timeout=60)[1]
        if process.returncode == 0:
            continue
        ended += 1
        slowest = max(slowest, time.monotonic() - began)
        if process.returncode != 130 or "interrupted" not in error:
            fail(f"SIGINT: exit {process.returncode}: {error}")
        finish(start(folder, words), words)
        check("SIGINT", folder, expected)
    if slowest > 1:
        fail(f"SIGINT: {slowest:.2f} s until the end")
    shutil.rmtree(folder)
    print(f"SIGINT: at most {slowest:.2f} s until the end")


def kill_shares(work, kills, shares=3):
    """Shares at once, each killed and restarted, now and then twice at once."""
    clean, folder = work / "clean", work / "shared"
    clean.mkdir()
    folder.mkdir()
    words = ["../m", *CASES["several"]]
    seconds = undisturbed(clean, ["convert", *words, "--quiet"])
    expected = digests(clean)
    died = rounds = 0
    while died < kills:
        rounds += 1
        (work / "plan.json").unlink(missing_ok=True)
        subprocess.run([CKPT, "convert", *words, "--plan-out", "../plan.json", "--quiet"], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
        running = {}
        done = set()
        while len(done) < shares or running:
            for i in range(1, shares + 1):
                wanted = 2 if RNG.random() < 0.1 else 1
                have = sum(1 for number, _ in running.values() if number == i)
                if i not in done and have < wanted:
                    process = start(folder, ["execute", "../plan.json", "--part", f"{i}/{shares}", "--threads", "1",
                                             "--memory", RNG.choice(["32M", "64M", "512M"])])
                    running[process.pid] = (i, process)
            time.sleep(RNG.uniform(0, seconds / 2))
            for pid, (i, process) in list(running.items()):
                if process.poll() is not None:
                    finish(process, ["share", i])
                    done.add(i)
                    del running[pid]
            if running and RNG.random() < 0.7:
                pid = RNG.choice(list(running))
                process = running.pop(pid)[1]
                end(process)
                died += 1
        # Whoever was to end it may have been the one that was killed; any share run again does.
        again = start(folder, ["execute", "../plan.json", "--part", f"1/{shares}"])
        finish(again, ["share", 1])
        check("shares", folder, expected)
        shutil.rmtree(folder)
        folder.mkdir()
    print(f"shares: {died} killed in {rounds} conversions")


with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    size = model.make(work / "m", TESTDATA, 6, 8192 if KILLS < 100 else 16384)
    model.make_adapter(work / "adapter", work / "m")
    for base, kind in BASES.values():
        pre = PRE if base.endswith(".gguf") else []
        subprocess.run([CKPT, "convert", "m", base[3:], "--to", kind, *pre, "--quiet"], cwd=work, check=True,
                       stdout=subprocess.DEVNULL)
    print(f"model of {size / 1e6:.0f} MB")
    for case in CASES:
        kill_one(work, case, max(1, KILLS // 5))
    interrupt(work, max(2, KILLS // 20))
    kill_shares(work, max(1, KILLS // 5))
