#!/usr/bin/env python3
"""Real transformers loads what vl-wrap, vl-unwrap and preprocessor write, and computes the same.

  CKPT_TRANSFORMERS_PYTHON=venv/bin/python vl_transformers.py CKPT TESTDATA

That Python needs torch and transformers >= 5. For the Qwen3.5 models, dense and MoE: the logits of the wrapped and of the unwrapped folder equal the
text model's, bit for bit. For every family whose tower can be made up: AutoConfig takes the wrapped configuration as the wrapper's class.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

LOGITS = """
import sys, torch, transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText
transformers.logging.set_verbosity_error()
out = []
for folder in sys.argv[1:]:
    config = AutoConfig.from_pretrained(folder)
    auto = AutoModelForImageTextToText if hasattr(config, "vision_config") else AutoModelForCausalLM
    model, info = auto.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    missing = [name for name in info["missing_keys"] if "visual" not in name]
    assert not missing and not info["unexpected_keys"], (folder, missing, info["unexpected_keys"])
    ids = torch.arange(3, 67).reshape(1, 64)
    with torch.no_grad():
        out.append(model.eval()(input_ids=ids).logits)
    print(type(model).__name__, float(out[-1].abs().max()))
assert all(torch.equal(out[0], each) for each in out[1:]), "the logits differ"
print("logits equal")
"""

CONFIG = """
import sys
from transformers import AutoConfig
for folder in sys.argv[1:]:
    config = AutoConfig.from_pretrained(folder)
    vision, text = config.vision_config, config.get_text_config()
    print(config.model_type, text.model_type, vision.model_type, text.hidden_size)
"""

# model_type, architecture, what the wrapped folder must load as
FAMILIES = [
    ("qwen3_5_text", "Qwen3_5ForCausalLM", "qwen3_5"),
    ("qwen3_5_moe_text", "Qwen3_5MoeForCausalLM", "qwen3_5_moe"),
    ("qwen3_vl_text", "Qwen3ForCausalLM", "qwen3_vl"),
    ("qwen3_vl_moe_text", "Qwen3MoeForCausalLM", "qwen3_vl_moe"),
    ("gemma3_text", "Gemma3ForCausalLM", "gemma3"),
    ("mistral", "MistralForCausalLM", "mistral3"),
    ("ministral3", "Ministral3ForCausalLM", "mistral3"),
    ("llama4_text", "Llama4ForCausalLM", "llama4"),
]


def ckpt(*arguments):
    subprocess.run([binary, "convert", "-q", "--force", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def peer(program, *folders):
    env = dict(os.environ, HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")
    done = subprocess.run([python, "-c", program, *map(str, folders)], env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"FAILED {folders}\n{done.stdout}{done.stderr[-3000:]}")
    return done.stdout


def small_folder(folder, model_type, architecture):
    folder.mkdir()
    config = {"architectures": [architecture], "dtype": "bfloat16", "head_dim": 64, "hidden_size": 128, "intermediate_size": 128,
              "model_type": model_type, "num_attention_heads": 2, "num_hidden_layers": 4, "num_key_value_heads": 1, "vocab_size": 300000}
    (folder / "config.json").write_text(json.dumps(config))
    header = b'{"__metadata__":{"format":"pt"},"model.norm.weight":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}'
    header += b" " * (-len(header) % 8)
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))


binary, testdata = sys.argv[1], pathlib.Path(sys.argv[2])
python = os.environ.get("CKPT_TRANSFORMERS_PYTHON", "")
if not python or subprocess.run([python, "-c", "import torch, transformers"], capture_output=True).returncode:
    print("peer missing: CKPT_TRANSFORMERS_PYTHON names no Python with torch and transformers")
    sys.exit(77)
with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    for model in ("qwen35-micro", "qwen35moe-micro"):
        base = work / f"base-{model}"
        base.mkdir()
        config = json.loads((testdata / "qwen35vl-micro/config.json").read_text())
        if "moe" in model:
            config["model_type"] = "qwen3_5_moe"
            config["architectures"] = ["Qwen3_5MoeForConditionalGeneration"]
            config["text_config"]["model_type"] = "qwen3_5_moe_text"
            config["vision_config"]["model_type"] = "qwen3_5_moe_vision"
        (base / "config.json").write_text(json.dumps(config))
        ckpt(testdata / model, work / "w", "--step", f"vl-wrap:with={base}")
        ckpt(work / "w", work / "u", "--step", "vl-unwrap")
        print(model, peer(LOGITS, testdata / model, work / "w", work / "u").replace("\n", " | "))
    ckpt(testdata / "qwen35vl-micro", work / "u", "--step", "vl-unwrap")
    print("qwen35vl-micro", peer(LOGITS, testdata / "qwen35vl-micro", work / "u").replace("\n", " | "))
    folders = []
    for model_type, architecture, wrapper in FAMILIES:
        small_folder(work / model_type, model_type, architecture)
        ckpt(work / model_type, work / f"{model_type}-vl", "--step", "vl-wrap")
        folders.append(work / f"{model_type}-vl")
    lines = peer(CONFIG, *folders).splitlines()
    print("\n".join(lines))
    found = [line.split()[0] for line in lines]
    assert found == [wrapper for _, _, wrapper in FAMILIES], found
    assert all(line.split()[-1] == "128" for line in lines), "a text configuration was lost"
print("ok")
