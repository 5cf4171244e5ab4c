#!/usr/bin/env python3
"""A real llama.cpp loads our files and computes from them what it computes from its own.

usage: llama_cpp.py LIB_DIR CKPT TESTDATA

For each model: our BF16 GGUF is quantized by the real llama_model_quantize; our own Q4_K_M, made
from the Hugging Face folder in one pass, must be loaded by the real library and give bit-equal
logits for a fixed run of tokens. Also loads our split of it. Our NVFP4 GGUF, made through ModelOpt's folder
and straight from the floats, must be loaded and give logits that follow those of the BF16 file.
"""
import array
import ctypes as c
import math
import pathlib
import subprocess
import sys
import tempfile

from llama_cpp_library import llama, logits

ckpt, testdata = sys.argv[2], pathlib.Path(sys.argv[3])


def quantize(source, target):
    """The real quantizer's Q4_K_M; its first two parameters are threads and file type."""
    parameters = llama.llama_model_quantize_default_params()
    fields = c.cast(c.byref(parameters), c.POINTER(c.c_int32))
    fields[0], fields[1] = 2, 15
    assert llama.llama_model_quantize(str(source).encode(), str(target).encode(), c.byref(parameters)) == 0


def correlation(a, b):
    """Of two lists of logits, as bytes; 0 when a file was refused."""
    if a is None or b is None:
        return 0
    a, b = array.array("f", a), array.array("f", b)
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    both = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b))
    return both / math.sqrt(sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b))


failed = 0
for name, pre in (("qwen35-micro", None), ("qwen35vl-micro", None), ("qwen35moe-micro", None),
                  ("qwen3-micro", "qwen2"), ("llama-micro", "llama-bpe")):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)

        def convert(out, kind, *more, source=testdata / name):
            extra = ["--tokenizer-pre", pre] if pre and out.endswith(".gguf") else []
            subprocess.run([ckpt, "convert", "-q", source, folder / out, "--to", kind, *extra, *more],
                           check=True, stdout=subprocess.DEVNULL)
            return folder / out

        def nvfp4():
            """Folder first and straight; a mixture of experts only the first way."""
            amax = testdata / "export" / "modelopt" / name / "nvfp4"
            if not amax.exists():
                return
            through = convert("nvfp4", "nvfp4", "--amax-from", amax)
            yield "nvfp4", convert("nvfp4.gguf", "nvfp4", source=through)
            if "moe" not in name:
                yield "nvfp4 straight", convert("straight.gguf", "nvfp4", "--amax-from", amax)
            if name == "qwen35-micro":  # the others are random: coarse scales leave too little of them
                yield "nvfp4-ggml", convert("ggml.gguf", "nvfp4-ggml")

        quantize(convert("bf16.gguf", "bf16"), folder / "reference.gguf")
        ours = convert("ours.gguf", "q4_k_m")
        convert("split.gguf", "q4_k_m", "--split-size", "1M")
        split = sorted(folder.glob("split-00001-of-*.gguf"))[0]
        wanted = logits(folder / "reference.gguf")
        same = wanted is not None and any(wanted) and logits(ours) == wanted and logits(split) == wanted
        same_file = ours.read_bytes() == (folder / "reference.gguf").read_bytes()
        print(f"{name}: {'same logits' if same else 'LOGITS DIFFER OR FILE REFUSED'}, "
              f"{'same file' if same_file else 'FILES DIFFER'}")
        failed += not (same and same_file)
        floats = logits(folder / "bf16.gguf")
        for kind, path in nvfp4():
            near = correlation(logits(path), floats)
            print(f"{name}: {kind}: correlation with BF16 {near:.4f}{'' if near > 0.9 else ', TOO FAR'}")
            failed += near <= 0.9
sys.exit(1 if failed else 0)
