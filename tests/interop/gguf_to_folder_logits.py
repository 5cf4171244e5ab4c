#!/usr/bin/env python3
"""Folders made from GGUFs compute what their sources compute: equal logits, bit for bit, in the real transformers.

  gguf_to_folder_logits.py CKPT TESTDATA [FAMILY...]      with a Python that has torch and transformers 5

Each model of testdata/families that transformers can run: folder -> BF16 GGUF -> folder, without a base and with the
source as the base. CHOSEN names what a GGUF does not tell, with what the source of our testdata has; the command's
note says so of each. Exit 77 where torch or transformers cannot be had.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
try:
    import torch
    import transformers
except ImportError as error:
    print("missing:", error.name)
    sys.exit(77)

CHOSEN = {
    "cohere2": {"layer_types": ["sliding_attention", "full_attention"]},
    "gemma3": {"layer_types": ["sliding_attention", "sliding_attention", "full_attention"]},
    "gemma3-vl": {"layer_types": ["sliding_attention", "sliding_attention", "full_attention"]},
    "granite4": {"position_embedding_type": "nope"},
}
# FP8 blocks want a GPU; packed INT4 wants compressed-tensors; Kimi's class is code of its repository; of Gemma 4's
# layers here the one with full attention shares its cache, and transformers has none to share.
NOT_RUN = {"deepseek-v3-fp8", "kimi-int4", "kimi-k2", "gemma4", "gemma4-vl"}


CLASSES = {"PhiMoEForCausalLM": "PhimoeForCausalLM"}  # where the repository's code has another name


def load(folder):
    name = json.loads((folder / "config.json").read_text())["architectures"][0]
    return getattr(transformers, CLASSES.get(name, name)).from_pretrained(folder, dtype=torch.float32).eval()


def logits(model, ids):
    with torch.no_grad():
        return model(input_ids=ids, use_cache=False).logits


def convert(ckpt, source, target, *options):
    subprocess.run([ckpt, "convert", str(source), str(target), "--quiet", *options], check=True, stdout=subprocess.DEVNULL)


def returned(ckpt, family, scratch):
    pre = family / "PRE"
    options = ["--tokenizer-pre", pre.read_text().strip()] if pre.exists() else []
    gguf, alone, based = (pathlib.Path(scratch) / (family.name + end) for end in (".gguf", "-alone", "-based"))
    convert(ckpt, family / "hf", gguf, "--to", "bf16", *options)
    convert(ckpt, gguf, alone)
    convert(ckpt, gguf, based, "--base", str(family / "hf"))
    if family.name in CHOSEN:
        config = json.loads((alone / "config.json").read_text())
        (alone / "config.json").write_text(json.dumps(config | CHOSEN[family.name]))
    return alone, based


def main(ckpt, testdata, *chosen):
    problems = compared = 0
    torch.manual_seed(0)
    for family in sorted(pathlib.Path(testdata, "families").iterdir()):
        if family.name in NOT_RUN or (chosen and family.name not in chosen):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            source = load(family / "hf")
            ids = torch.randint(1, min(source.config.get_text_config().vocab_size, 250), (2, 48))
            expected = logits(source, ids)
            for folder in returned(ckpt, family, scratch):
                is_equal = torch.equal(logits(load(folder), ids), expected)
                print(f"{folder.name}: {'equal logits' if is_equal else 'OTHER LOGITS'}", flush=True)
                compared, problems = compared + 1, problems + (not is_equal)
    assert compared > 0, "no model was compared"
    return problems != 0


sys.exit(main(*sys.argv[1:]))
