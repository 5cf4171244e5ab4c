#!/usr/bin/env python3
"""Removes each key of an architecture from GGUFs of the families and goes back: the folder must mean what llama.cpp reads then. By hand:

  gguf_absent_keys.py LLAMA_CPP CKPT TESTDATA [FAMILY...]

Where the library computes a file without the key, `convert FILE back/` must succeed, and the folder, as a GGUF again, must give the
logits that the library computes of the file without the key.
"""
import array
import collections
import math
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile

from gguf_mutations import Gguf, architecture_of

NOT_SAID = {"context_length", "vocab_size"}  # llama.cpp computes nothing with them


def logits(library, path):
    """Of the file, computed in a process of its own, which may abort; None if it gives no finite ones."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.close(read)
        with open(write, "wb") as out:
            out.write(library.logits(path, range(3, 19)) or b"")
        os._exit(0)
    os.close(write)
    with open(read, "rb") as file:
        raw = file.read()
    found = array.array("f", raw) if os.waitpid(child, 0)[1] == 0 else []
    return found if found and all(map(math.isfinite, found)) else None


def run(ckpt, *arguments):
    done = subprocess.run([ckpt, *map(str, arguments)], capture_output=True, text=True, errors="replace")
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def far(a, b):
    return len(a) != len(b) or max(abs(x - y) for x, y in zip(a, b)) > 0.02 * max(map(abs, a))


def fault_of(library, ckpt, file, family, pre, found):
    work = file.parent
    for name in ("back", "again.gguf"):
        subprocess.run(["rm", "-rf", work / name], check=True)
    said = run(ckpt, "convert", file, work / "back", "-q")
    if "tokenizer.ggml.pre" in said:  # the file does not tell the rules of this pre-tokenizer
        said = run(ckpt, "convert", file, work / "back", "--tokenizer", family, "-q")
    if said:
        return said
    said = run(ckpt, "convert", work / "back", work / "again.gguf", "--to", "bf16", "-q", *pre)
    again = None if said else logits(library, work / "again.gguf")
    return said or ("stops again" if again is None else "other logits" if far(found, again) else "")


def main(lib, ckpt, testdata, *only):
    os.environ["GGML_NO_BACKTRACE"] = "1"
    import llama_cpp_library as library
    counts, bad = collections.Counter(), []
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        for family in sorted((pathlib.Path(testdata) / "families").glob("*/hf")):
            if only and family.parent.name not in only:
                continue
            path = family.parent / "PRE"
            pre = ["--tokenizer-pre", path.read_text().strip()] if path.exists() else []
            made, changed = work / "made.gguf", work / "changed.gguf"
            made.unlink(missing_ok=True)
            said = run(ckpt, "convert", family, made, "--to", "bf16", "-q", *pre)
            whole = None if said else logits(library, made)
            fault = said or ("the library computes nothing" if whole is None else fault_of(library, ckpt, made, family, pre, whole))
            if fault:
                counts[f"families left out: {fault.replace(name, '')[:60]}"] += 1
                continue
            file, start = Gguf(made), architecture_of(made) + "."
            for key, *_ in file.keys:
                if not key.startswith(start) or key.removeprefix(start) in NOT_SAID:
                    continue
                other = file.copy()
                other.keys.pop(other.find(key))
                changed.write_bytes(bytes(other))
                found = logits(library, changed)
                counts["keys"] += 1
                if found is None:
                    counts["needed by the library"] += 1
                    continue
                counts["optional"] += 1
                counts["optional, with other logits"] += far(whole, found)
                fault = fault_of(library, ckpt, changed, family, pre, found)
                if fault:
                    bad.append(f"{family.parent.name} {key}: {fault.replace(name, '')}")
                    print(bad[-1], flush=True)
    print("\n".join([*(f"{what}: {count}" for what, count in sorted(counts.items())), f"{len(bad)} faults"]))
    return 1 if bad or not counts["optional"] else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
