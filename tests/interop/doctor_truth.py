#!/usr/bin/env python3
"""Holds `ckpt doctor`'s verdict "loads" to what real loaders say of the same folders.

A loader is a command that takes folders and prints a line for each:
    LAST/THREE/WORDS | config ok | tokenizer ok | model CLASS | weights ok
and words of its own where something fails. "weights taken, ..." is a load too: nothing stopped it.
"weights taken, N parameters never filled" must not be called sound, unless it names parameters
that such a file never has.

usage: doctor_truth.py CKPT FOLDER... [--only-text FLAG]
  CKPT_PEER_VLLM_0_16, _VLLM_0_17, _VLLM, _SGLANG         the commands ("python load.py")
  CKPT_SAID_VLLM_0_17, ...                                or files with what they said before
Exits 77 when there is no loader.
"""
import json
import os
import pathlib
import subprocess
import sys

from make_exports import has_tower, header_of

PROFILES = ("vllm-0.16", "vllm-0.17", "vllm", "sglang")
# A machine without the accelerator cannot say.
UNDECIDED = ("driver", "CUDA", "No module named")


def key_of(folder):
    return "/".join(str(pathlib.Path(folder).resolve()).split("/")[-3:])


def says_yes(line):
    parts = [part.strip() for part in line.split("|")][1:]
    loads = parts[-1].startswith(("weights ok", "weights taken"))
    return loads and "config ok" in parts and any(part.startswith("tokenizer ok") for part in parts)


def has_vision(folder):
    return has_tower(name for path in pathlib.Path(folder).glob("*.safetensors") for name in header_of(path))


def lines_of(profile, folders):
    name = profile.upper().replace("-", "_").replace(".", "_")
    said = os.environ.get("CKPT_SAID_" + name)
    if said:
        text = pathlib.Path(said).read_text()
    elif os.environ.get("CKPT_PEER_" + name):
        command = os.environ["CKPT_PEER_" + name].split()
        text = ""
        for flags, chosen in (([], [f for f in folders if has_vision(f)]),
                              (["--lmonly"] if "vllm" in profile else [],
                               [f for f in folders if not has_vision(f)])):
            if chosen:
                done = subprocess.run(command + flags + list(chosen), capture_output=True, text=True)
                text += done.stdout
    else:
        return None
    return {line.split("|")[0].strip(): line for line in text.splitlines() if " | " in line}


def verdict(ckpt, folder, profile):
    done = subprocess.run([ckpt, "doctor", folder, "--for", profile, "--json"], capture_output=True,
                          text=True)
    if done.returncode == 2:
        sys.exit(f"{folder}: {done.stderr.strip()}")
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    (found,) = [entry for entry in objects if entry["type"] == "verdict"]
    reasons = sorted({entry["check"] for entry in objects
                      if entry["type"] == "check" and entry["severity"] == "unloaded"})
    return found["loads"], found["sound"], reasons


def main():
    ckpt, folders = sys.argv[1], sys.argv[2:]
    compared = differ = 0
    for profile in PROFILES:
        lines = lines_of(profile, folders)
        if lines is None:
            print(f"{profile}: peer missing: set CKPT_PEER_{profile.upper()} to its loader")
            continue
        for folder in folders:
            line = lines.get(key_of(folder))
            if line is None or any(word in line for word in UNDECIDED):
                print(f"{profile}: {key_of(folder)}: the loader could not say: {line}")
                continue
            loads, _, reasons = verdict(ckpt, folder, profile)
            compared += 1
            if loads != says_yes(line):
                differ += 1
                print(f"{profile}: {key_of(folder)}: doctor says {loads} {reasons}; loader: {line}")
    print(f"{compared} verdicts compared, {differ} differ")
    if not compared:
        return 77
    return 1 if differ else 0


sys.exit(main())
