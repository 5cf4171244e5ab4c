#!/usr/bin/env python3
"""--force replaces a folder in the lower layer of an overlay file system, which the kernel does not rename: the output is that
of a run elsewhere, and nothing else stays.

usage: overlay.py CKPT TESTDATA     exits 77, saying "peer missing", where no overlay can be mounted
"""
import os
import pathlib
import subprocess
import sys
import tempfile

CKPT, MODEL = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve() / "families/llama-spm/hf"


def run(*words):
    done = subprocess.run([CKPT, *map(str, words)], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def replaces(base, *options):
    for name in ("lower/models", "upper", "work", "seen"):
        (base / name).mkdir(parents=True)
    assert run("convert", MODEL, base / "lower/models/m", "-q")[0] == 0
    layers = f"lowerdir={base}/lower,upperdir={base}/upper,workdir={base}/work,redirect_dir=off"
    mounted = subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, base / "seen"], capture_output=True, text=True)
    if mounted.returncode != 0:
        print(f"peer missing: overlay file systems ({mounted.stderr.strip()})")
        sys.exit(77)
    try:
        code, said = run("convert", MODEL, base / "seen/models/m", "--to", "f16", "--force", "-q", *options)
        assert run("convert", MODEL, base / "alone", "--to", "f16", "-q", *options)[0] == 0
        left = sorted(os.listdir(base / "seen/models"))
        good = code == 0 and left == ["m"] and files(base / "seen/models/m") == files(base / "alone")
        return good or print(code, said, left)
    finally:
        subprocess.run(["umount", base / "seen"], check=True)


if __name__ == "__main__":
    good = True
    for options in ((), ("--shard-size", "200K")):
        with tempfile.TemporaryDirectory() as folder:
            good = replaces(pathlib.Path(folder), *options) and good
    sys.exit(0 if good else 1)
