#!/usr/bin/env python3
"""llama.cpp's converter takes a vision-language folder with --mmproj once the step preprocessor has completed it.

  CKPT_LLAMA_CPP=source-tree CKPT_TRANSFORMERS_PYTHON=venv/bin/python vl_mmproj.py CKPT TESTDATA

The source tree is llama.cpp v0.5.0; that Python needs what its converter imports: torch, transformers, sentencepiece, mistral-common.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

binary, testdata = sys.argv[1], pathlib.Path(sys.argv[2])
source, python = os.environ.get("CKPT_LLAMA_CPP", ""), os.environ.get("CKPT_TRANSFORMERS_PYTHON", "")
converter = pathlib.Path(source) / "convert_hf_to_gguf.py"
if not python or not converter.exists():
    print("peer missing: CKPT_LLAMA_CPP names no llama.cpp source tree, or CKPT_TRANSFORMERS_PYTHON no Python")
    sys.exit(77)


def convert(folder, out):
    env = dict(os.environ, CUDA_VISIBLE_DEVICES="", PYTHONPATH=f"{source}/gguf-py")
    return subprocess.run([python, str(converter), str(folder), "--mmproj", "--outtype", "bf16", "--outfile", str(out)],
                          env=env, capture_output=True, text=True)


with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    before = convert(testdata / "qwen35vl-micro", work / "before.gguf")
    if "No module named" in before.stderr:
        print("peer missing:", before.stderr.strip().splitlines()[-1])
        sys.exit(77)
    assert before.returncode != 0, "it takes the folder without preprocessor_config.json: this test shows nothing"
    subprocess.run([binary, "convert", "-q", str(testdata / "qwen35vl-micro"), str(work / "vl"), "--step", "preprocessor"],
                   check=True, stdout=subprocess.DEVNULL)
    after = convert(work / "vl", work / "mmproj.gguf")
    if after.returncode:
        sys.exit(after.stderr[-3000:])
    shown = subprocess.run([binary, "show", str(work / "mmproj.gguf"), "--metadata"], check=True, capture_output=True, text=True).stdout
    assert "clip.vision.image_mean" in shown and "clip.projector_type" in shown, shown
print("ok")
