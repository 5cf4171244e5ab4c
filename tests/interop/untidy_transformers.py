#!/usr/bin/env python3
"""Folders with files of weights that do not belong together, in the real transformers: what it loads of each equals what it loads of
the folder that `ckpt convert` makes of it.

  CKPT_TRANSFORMERS_5=venv/bin/python untidy_transformers.py CKPT TESTDATA

The folders are those of tests/support/untidy.py, which the test all.untidy_folders gives to every command. ckpt may reject one that
transformers loads only where programs would read other values. Exits 77, saying "peer missing", without torch and transformers 5.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
if "--inside" not in sys.argv:
    python = os.environ.get("CKPT_TRANSFORMERS_5", "")
    if not python or subprocess.run([python, "-c", "import torch, transformers"], capture_output=True).returncode:
        print("peer missing: CKPT_TRANSFORMERS_5 names no Python with torch and transformers")
        sys.exit(77)
    sys.exit(subprocess.run([python, __file__, *sys.argv[1:], "--inside"], env=dict(os.environ, HF_HUB_OFFLINE="1")).returncode)

import torch
import transformers

sys.path.insert(0, str(HERE.parent / "support"))
import untidy

transformers.utils.logging.set_verbosity(transformers.logging.CRITICAL)
transformers.utils.logging.disable_progress_bar()


def loaded(folder):
    """The tensors, or in a word why there are none."""
    try:
        model, told = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="auto", output_loading_info=True)
    except Exception as error:
        return type(error).__name__
    return "lacks tensors" if told["missing_keys"] else model.state_dict()


def are_equal(ours, theirs):
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


def main(ckpt, testdata):
    source, bad, equal, rejected, unread = pathlib.Path(testdata) / "families/llama-spm/hf", [], 0, [], []
    with tempfile.TemporaryDirectory() as work:
        folder, out = pathlib.Path(work) / "m", pathlib.Path(work) / "out"
        for name in untidy.layouts(source, folder):
            theirs = loaded(folder)
            done = subprocess.run([ckpt, "convert", folder, out, "--force", "-q"], capture_output=True, text=True)
            ours = done.stderr.strip().replace(work, "") if done.returncode else loaded(out)
            if isinstance(theirs, str):
                unread.append(name.strip())  # there are no values for ckpt to agree with
            elif isinstance(ours, str) and "other values" in ours:
                rejected.append(name.strip())
            elif isinstance(ours, str) or not are_equal(ours, theirs):
                bad.append(f"{name.strip()}: {ours if isinstance(ours, str) else 'other values'}")
            else:
                equal += 1
    print("\n".join([*bad, f"transformers {transformers.__version__}: {equal} folders equal; ckpt rejects {rejected}; not loaded: {unread}"]))
    return 1 if bad or not equal else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
