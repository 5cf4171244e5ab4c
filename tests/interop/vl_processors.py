#!/usr/bin/env python3
"""The usual processor files that the step `preprocessor` writes for every vision-language family: real transformers 4.57 and 5 make
their processors from them, as the family's own class has them, and prepare an image for the family's tower.

  CKPT_TRANSFORMERS_457=venv457/bin/python CKPT_TRANSFORMERS_5=venv5/bin/python vl_processors.py CKPT

Those Pythons need torch, torchvision and pillow in addition to transformers. Exits 77, saying "peer missing", where neither is named.
"""
import os
import subprocess
import sys
import tempfile

PROGRAM = r'''
import json, pathlib, subprocess, sys
import numpy as np, torch, transformers
from PIL import Image
from safetensors.torch import save_file
from transformers import AutoConfig, AutoImageProcessor, AutoProcessor
transformers.logging.set_verbosity_error()
binary, work = sys.argv[1], pathlib.Path(sys.argv[2])
failures = []

def check(what, holds):
    if not holds:
        failures.append(what)
        print("FAILED", transformers.__version__, what, flush=True)

# The input of a tower of the family for an image of 640 x 480: a shape, from the processor's and the tower's own numbers.
def fits(name, pixels, vision):
    shape = list(pixels.shape)
    if name.startswith("qwen"):
        width = 3 * vision.temporal_patch_size * vision.patch_size ** 2
        return len(shape) == 2 and shape[1] == width and shape[0] % vision.spatial_merge_size ** 2 == 0
    if name == "mistral3":
        return shape[-3] == 3 and all(side % vision.patch_size == 0 and side <= vision.image_size for side in shape[-2:])
    size = vision.image_size if isinstance(vision.image_size, int) else list(vision.image_size)[0]
    return shape[-3:] == [3, size, size]

# Numbers that say how pixels become inputs: those of the class, or of the published checkpoints where these have others.
HALF = dict(image_mean=[0.5] * 3, image_std=[0.5] * 3)
PUBLISHED = {"qwen3_vl": HALF, "qwen3_vl_moe": HALF, "qwen3_5": HALF, "qwen3_5_moe": HALF,
             "internvl": dict(image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225])}
CLASS_KEYS = ("image_mean", "image_std", "resample", "do_rescale", "rescale_factor", "do_normalize", "do_resize", "temporal_patch_size", "merge_size")
families = {"qwen2_vl": "Qwen2VL", "qwen2_5_vl": "Qwen2_5_VL", "qwen3_vl": "Qwen3VL", "qwen3_vl_moe": "Qwen3VLMoe", "qwen3_5": "Qwen3_5",
            "qwen3_5_moe": "Qwen3_5Moe", "gemma3": "Gemma3", "mistral3": "Mistral3", "llama4": "Llama4", "internvl": "InternVL"}
image = Image.fromarray((np.arange(480 * 640 * 3) % 251).astype(np.uint8).reshape(480, 640, 3))
taken = 0
for name, stem in families.items():
    try:
        config = AutoConfig.for_model(name)
    except (KeyError, ValueError):
        print(name, "is not known to transformers", transformers.__version__, flush=True)
        continue
    folder = work / name
    folder.mkdir()
    vision = config.vision_config
    if name == "gemma3":
        vision.image_size = 896  # no published model has the class's default
    if name == "mistral3":
        vision.image_size = 1540
    config.save_pretrained(folder)
    saved = json.loads((folder / "config.json").read_text())
    saved["vision_config"] = vision.to_dict()
    saved["architectures"] = [stem + "ForConditionalGeneration"]
    (folder / "config.json").write_text(json.dumps(saved))
    save_file({"model.norm.weight": torch.ones(4)}, folder / "model.safetensors", {"format": "pt"})
    done = subprocess.run([binary, "patch", folder, "-q", "--step", "preprocessor"], capture_output=True, text=True)
    check(f"{name}: {done.stderr}", done.returncode == 0)
    if done.returncode:
        continue
    try:
        ours = AutoImageProcessor.from_pretrained(folder)
    except Exception as error:
        check(f"{name}: {type(error).__name__}: {error}", False)
        continue
    usual = type(ours)()
    for key in CLASS_KEYS:
        theirs = PUBLISHED.get(name, {}).get(key, getattr(usual, key, None))
        mine = getattr(ours, key, None)
        if isinstance(theirs, (list, tuple)):
            same = mine is not None and np.allclose(mine, theirs)
        else:
            same = theirs is None or mine == theirs or (key == "rescale_factor" and abs(mine - theirs) < 1e-9)
        check(f"{name}: {key} {mine}; expected {theirs}", same)
    out = ours(images=[image], return_tensors="pt")
    check(f"{name}: pixels {tuple(out['pixel_values'].shape)}", fits(name, out["pixel_values"], vision))
    # The class of the processor that is named is there.
    named = json.loads((folder / "preprocessor_config.json").read_text()).get("processor_class")
    check(f"{name}: processor_class {named}", named is not None and hasattr(transformers, named))
    video = folder / "video_preprocessor_config.json"
    if video.exists():
        from transformers import AutoVideoProcessor
        made = AutoVideoProcessor.from_pretrained(folder)
        usual = type(made)()
        for key in ("patch_size", "merge_size", "temporal_patch_size", "image_mean", "image_std"):
            mine, theirs = getattr(made, key), getattr(usual, key)
            check(f"{name}: video {key} {mine}; the class has {theirs}", np.allclose(mine, theirs))
    taken += 1
    print(name, type(ours).__name__, tuple(out["pixel_values"].shape), "taken by", transformers.__version__, flush=True)
check("no family was taken", taken > 0)
sys.exit(1 if failures else 0)
'''

binary = os.path.abspath(sys.argv[1])
env = dict(os.environ, HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")
asked, code = 0, 0
for variable in ("CKPT_TRANSFORMERS_457", "CKPT_TRANSFORMERS_5"):
    python = os.environ.get(variable, "")
    wanted = "import torch, torchvision, transformers, PIL, safetensors"
    if not python or subprocess.run([python, "-c", wanted], capture_output=True).returncode:
        print(f"peer missing: {variable} names no Python with torch, torchvision, pillow and transformers")
        continue
    asked += 1
    with tempfile.TemporaryDirectory() as work:
        code |= subprocess.run([python, "-c", PROGRAM, binary, work], env=env).returncode
sys.exit(code if asked else 77)
