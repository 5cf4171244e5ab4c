#!/usr/bin/env python3
"""`ckpt publish` and what changes the same folder, at the same time: no sums of an earlier state remain, and whoever
did not do what was asked says so.

usage: publish_and_patch.py CKPT TESTDATA ROUNDS
"""
import os
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

CKPT, TESTDATA, ROUNDS = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), int(sys.argv[3])
RNG = random.Random(1)
SUMS, STAGING = pathlib.Path("d/SHA256SUMS"), pathlib.Path("d/.ckpt-patch")
CAST = ["patch", "d", "--step", "cast:type=f32", "--rewrite-weights"]
TRIES = 12


def expect(holds, what):
    if not holds:
        sys.exit(f"FAILED: {what}")


def start(*words):
    return subprocess.Popen([CKPT, *words, "-q"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def finish(process):
    error = process.communicate(timeout=300)[1]
    return process.returncode, error


def new_folder(big_bytes=0):
    for name in ("d", "lfs"):
        shutil.rmtree(name, ignore_errors=True)
    shutil.copytree("m", "d")
    if big_bytes:
        with open("d/big.bin", "wb") as file:
            file.truncate(big_bytes)  # hashing it takes long


def wait_for(path, process):
    while not path.exists() and process.poll() is None:
        time.sleep(0.001)


def patch_in_hand():
    """A patch that begins while the folder is hashed, and has changed nothing yet when the sums are written."""
    for i in range(TRIES):
        new_folder(1 << 30)
        publication = start("publish", "d")
        time.sleep(0.05 * (i + 1))
        patch = start(*CAST)
        wait_for(STAGING, patch)
        patch.send_signal(signal.SIGSTOP)
        is_in_time = STAGING.exists() and not (STAGING / "journal").exists() and publication.poll() is None
        code, error = finish(publication)
        patch.send_signal(signal.SIGCONT)
        patched, told = finish(patch)
        if not is_in_time:
            continue
        expect(code == 2 and "a patch has it in hand" in error, f"publish while a patch waits: exit {code}: {error}")
        expect(patched == 0, f"the patch: exit {patched}: {told}")
        expect(not SUMS.exists(), "sums of the folder before the patch")
        return
    sys.exit("FAILED: no patch began while the folder was hashed")


def changed_after_sums():
    """A file that changes once the sums are written: the archive, which would hold it, does not come about."""
    new_folder(1 << 28)
    publication = start("publish", "d", "--archive", "a.tar.zst")
    wait_for(SUMS, publication)
    with open("d/config.json", "a") as file:
        file.write("\n")
    code, error = finish(publication)
    expect(code == 2 and "d/config.json" in error, f"config.json changed before it was archived: exit {code}: {error}")
    expect(not SUMS.exists() and not pathlib.Path("a.tar.zst").exists(), f"stale sums or an archive remain: {error}")


def at_any_moment():
    for words in (["publish", "d"], ["publish", "d", "--lfs", "lfs"]):
        for _ in range(ROUNDS):
            new_folder()
            publication = start(*words)
            time.sleep(RNG.uniform(0, 0.06))
            edit = start("set", "d", "note=1")
            ended = [finish(publication), finish(edit)]
            expect(all(code in (0, 2) for code, _ in ended), f"{words}: {ended}")
            if SUMS.exists():
                checked = subprocess.run([CKPT, "verify", "d"], capture_output=True, text=True)
                expect(checked.returncode == 0, f"{words}: {ended}, then verify says {checked.stdout}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    model.make("m", TESTDATA, 6, 4096)
    patch_in_hand()
    changed_after_sums()
    shutil.rmtree("m")
    shutil.copytree(TESTDATA / "llama-micro", "m")
    at_any_moment()
    print("no sums of an earlier state")
