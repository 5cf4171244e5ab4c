#!/usr/bin/env python3
"""Small random models of every vision-language family, saved by real transformers: unwrapped and wrapped again, they compute the same logits.

  CKPT_TRANSFORMERS_PYTHON=venv/bin/python vl_families.py CKPT

That Python needs torch and transformers >= 5.
"""
import os
import subprocess
import sys
import tempfile

PROGRAM = r'''
import subprocess, sys, torch, transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText
transformers.logging.set_verbosity_error()
binary, work = sys.argv[1:]

text = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
            vocab_size=512, bos_token_id=1, eos_token_id=2, pad_token_id=0)
qwen_ids = dict(image_token_id=500, video_token_id=501, vision_start_token_id=502, vision_end_token_id=503)
mrope = lambda section, **more: dict(text, rope_parameters=dict(rope_type="default", rope_theta=1e6, mrope_section=section, **more))
tower = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=2, image_size=28, patch_size=14)
families = {
    "qwen2_vl": (mrope([2, 3, 3]), dict(depth=1, embed_dim=32, num_heads=2, hidden_size=64), qwen_ids),
    "qwen2_5_vl": (mrope([2, 3, 3]), dict(depth=1, hidden_size=32, intermediate_size=48, num_heads=2, out_hidden_size=64,
                                          fullatt_block_indexes=[0]), qwen_ids),
    "qwen3_vl": (mrope([4, 2, 2], mrope_interleaved=True),
                 dict(depth=1, hidden_size=32, intermediate_size=48, num_heads=2, out_hidden_size=64, num_position_embeddings=16,
                      deepstack_visual_indexes=[0]), qwen_ids),
    "gemma3": (text, tower, dict(image_token_index=500, boi_token_index=501, eoi_token_index=502, mm_tokens_per_image=4)),
    "mistral3": (dict(text, model_type="mistral"), dict(tower, model_type="pixtral"), dict(image_token_index=10)),
    "llama4": (dict(text, intermediate_size_mlp=96, num_local_experts=2, num_experts_per_tok=1, moe_layers=[1]),
               dict(tower, vision_output_dim=32, projector_input_dim=32, projector_output_dim=32),
               dict(image_token_index=500, boi_token_index=501, eoi_token_index=502)),
    "internvl": (dict(text, model_type="qwen3"), dict(tower, model_type="internvl_vision", image_size=[28, 28], patch_size=[14, 14]),
                 dict(image_token_id=500)),
}
ids = torch.arange(3, 67).reshape(1, 64)

def logits(model):
    with torch.no_grad():
        return model.eval()(input_ids=ids).logits

def load(auto, folder):
    model, info = auto.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    missing = [name for name in info["missing_keys"] if not any(part in name for part in ("visual", "vision", "projector"))]
    assert not missing and not info["unexpected_keys"], (folder, missing, info["unexpected_keys"])
    return model

for name, (text_config, vision_config, more) in families.items():
    torch.manual_seed(1)
    config = AutoConfig.for_model(name, text_config=text_config, vision_config=vision_config, **more)
    model = AutoModelForImageTextToText.from_config(config)
    for parameter in model.parameters():
        parameter.data = torch.randn_like(parameter) * 0.05 + (1 if parameter.dim() == 1 else 0)
    model.save_pretrained(f"{work}/{name}")
    for source, target, step in ((name, "text", "vl-unwrap"), ("text", "again", f"vl-wrap:with={work}/{name}")):
        subprocess.run([binary, "convert", "-q", "--force", f"{work}/{source}", f"{work}/{target}", "--step", step], check=True,
                       stdout=subprocess.DEVNULL)
    inner = load(AutoModelForCausalLM, f"{work}/text")
    again = load(AutoModelForImageTextToText, f"{work}/again")
    assert torch.equal(logits(model), logits(inner)), f"{name}: unwrapped it computes something else"
    assert torch.equal(logits(model), logits(again)), f"{name}: wrapped again it computes something else"
    print(name, type(inner).__name__, type(again).__name__, "equal", flush=True)
'''

binary = os.path.abspath(sys.argv[1])
python = os.environ.get("CKPT_TRANSFORMERS_PYTHON", "")
if not python or subprocess.run([python, "-c", "import torch, transformers"], capture_output=True).returncode:
    print("peer missing: CKPT_TRANSFORMERS_PYTHON names no Python with torch and transformers")
    sys.exit(77)
with tempfile.TemporaryDirectory() as work:
    env = dict(os.environ, HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")
    sys.exit(subprocess.run([python, "-c", PROGRAM, binary, work], env=env).returncode)
