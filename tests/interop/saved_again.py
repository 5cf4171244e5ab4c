#!/usr/bin/env python3
"""Folders as the newest transformers saves them are judged, and converted, like those that it read.

usage: PYTHON saved_again.py CKPT TESTDATA [--only TEXT]     PYTHON has torch and transformers 5; exits 77, "peer missing",
without them

Each family of testdata is loaded and saved again. The doctor must say "yes" of it for transformers, which wrote it, where
it says so of the original, and for other programs what it says of the original, or name the step that helps. The GGUF
of both must have the same tensors, but for layers for prediction, which transformers leaves out, and values that it
rounds; these are counted. Exits 1 where the doctor says "no" without a fix or ckpt refuses what it takes of the original.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from make_exports import peer_missing

try:
    import torch
    import transformers
except ImportError as error:
    peer_missing("transformers", error)

PROGRAMS = ("transformers-5", "vllm", "sglang", "llama.cpp")


def save_again(source, target):
    """True if transformers has the class; its documents and the tokenizer are taken along."""
    config = json.loads((source / "config.json").read_text())
    model_class = getattr(transformers, config["architectures"][0], None)
    if model_class is None:
        return False
    try:
        model = model_class.from_pretrained(source, dtype=torch.bfloat16)
    except Exception as error:
        print(f"{source.parent.name}: transformers does not load it: {type(error).__name__}", flush=True)
        return False
    model.save_pretrained(target)
    for file in source.rglob("*"):
        place = target / file.relative_to(source)
        if file.is_file() and file.suffix not in (".safetensors", ".bin") and not place.exists() and "index" not in file.name:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place)
    return True


def verdicts(ckpt, folder):
    """{profile: (yes, no or None for not checked; whether a command is printed that helps)}."""
    done = subprocess.run([ckpt, "doctor", folder, "--json", "--for", ",".join(PROGRAMS)], capture_output=True, text=True)
    found = {}
    for line in map(json.loads, done.stdout.splitlines()):
        if line["type"] == "verdict":
            is_open = line["loads"] is None or (line["loads"] and not line["weights_checked"])
            found[line["profile"]] = (None if is_open else bool(line["loads"] and line["sound"]), bool(line["fix"]))
    return found


def gguf_of(ckpt, folder, out, options):
    done = subprocess.run([ckpt, "convert", "-q", "--force", folder, out, "--type", "bf16", *options], capture_output=True, text=True)
    return done.stderr.strip() if done.returncode > 1 else ""


def judge(ckpt, family, saved, work):
    """The faults of one family, and whether the GGUFs are the same but for their names."""
    source, faults = family / "hf", []
    before, after = verdicts(ckpt, source), verdicts(ckpt, saved)
    for profile, (is_yes, has_fix) in after.items():
        may_differ = has_fix and profile != "transformers-5"
        if before[profile][0] is True and is_yes is None:
            print(f"{family.name}: {profile}: not checked, and the original was")
        elif before[profile][0] is True and is_yes is False and not may_differ:
            faults.append(f"{profile}: yes of the original, no of this")
    pre = family / "PRE"
    options = ["--tokenizer-pre", pre.read_text().strip()] if pre.exists() else []
    refused = [gguf_of(ckpt, folder, work / f"{name}.gguf", options) for name, folder in (("a", source), ("b", saved))]
    if refused[1] and not refused[0] and not after["llama.cpp"][1]:
        faults.append(f"refused: {refused[1][:200]}")
    if any(refused):
        return faults, False
    same = subprocess.run([ckpt, "diff", work / "a.gguf", work / "b.gguf", "--values"], capture_output=True, text=True)
    return faults, same.returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ckpt")
    parser.add_argument("testdata", type=pathlib.Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    asked = equal = bad = 0
    for family in sorted((options.testdata / "families").iterdir()):
        if options.only not in family.name or not (family / "hf/config.json").exists():
            continue
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            if not save_again(family / "hf", work / "hf"):
                continue
            faults, is_equal = judge(options.ckpt, family, work / "hf", work)
        asked, equal, bad = asked + 1, equal + is_equal, bad + bool(faults)
        for fault in faults:
            print(f"{family.name}: {fault}", flush=True)
    print(f"{asked} saved by transformers {transformers.__version__}: {equal} GGUFs with the same values, {bad} judged wrongly")
    assert asked > (0 if options.only else 60), "too few could be saved"
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
