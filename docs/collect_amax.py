#!/usr/bin/env python3
"""Measures what `ckpt convert MODEL OUT --to nvfp4 --amax-from FILE.json` asks for: the largest |x| at the input of each linear layer.
With MOMENTS.safetensors also what `--search best --moments MOMENTS.safetensors` takes: the mean of x x^T.

usage: collect_amax.py MODEL TEXT FILE.json [MOMENTS.safetensors]     needs torch, accelerate and transformers 4.57 or later

MODEL is a Hugging Face folder, in one file or in shards. It runs in the dtype that it is stored in, on the GPUs that there are (what does
not fit goes to memory), over all of TEXT, 2048 tokens at a time. TEXT should be like what the model will be asked, in its
chat template, a few hundred thousand tokens long: inputs that are larger than any seen here are cut off when the model is served.

FILE.json: {"model.layers.0.mlp.up_proj": 13.5, ...}, by the names of transformers' modules. Experts that are stacked have one number
for all of them (....mlp.experts.gate_up_proj, ....down_proj); experts that are modules each have their own, those that no token reached
have none, and ckpt gives the experts of a layer the largest. Refused are stacks that do not multiply by linear() (Llama 4, gpt-oss).
A checkpoint whose names are not those of the modules (Mixtral's w1, w2, w3) needs the names in FILE.json changed to its own.

MOMENTS.safetensors: P.input_moments F32 [runs, n, n] for the linear layer P, over runs of n = 128 columns (64, 32 or 16 where the layer's
are not a multiple). Stacked experts share one. 1 KB of memory a column and layer: 1.5 GB for a
model of 9B.
"""
import collections
import json
import math
import sys

import safetensors.torch
import torch
from torch.overrides import TorchFunctionMode
from transformers import AutoModelForCausalLM, AutoTokenizer

STACKS = ("gate_up_proj", "down_proj")
RUNS = (128, 64, 32, 16)
amax, moments, tokens_seen = {}, {}, collections.Counter()


def record(name, x):
    if x.numel():
        largest = x.detach().abs().amax()
        amax[name] = torch.maximum(amax[name], largest) if name in amax else largest


def record_moments(name, x):
    columns = x.shape[-1]
    n = next((n for n in RUNS if columns % n == 0), None)
    if n is None or not x.numel():
        return
    runs = x.detach().float().reshape(-1, columns // n, n).transpose(0, 1)
    moments[name] = moments.get(name, 0) + (runs.transpose(1, 2) @ runs).double()
    tokens_seen[name] += runs.shape[1]


class StackedExperts(TorchFunctionMode):
    """An expert of a stack is not a module with hooks; it is recognized by the memory of its weight."""
    inside = None

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.nn.functional.linear and self.inside:
            name, module = self.inside
            for part in STACKS:
                if args[1].untyped_storage().data_ptr() == getattr(module, part).untyped_storage().data_ptr():
                    record(f"{name}.{part}", args[0])
                    if moments_out:
                        record_moments(f"{name}.{part}", args[0])
        return function(*args, **(kwargs or {}))

    def watch(self, name, module):
        module.register_forward_pre_hook(lambda *_: setattr(self, "inside", (name, module)))
        module.register_forward_hook(lambda *_: setattr(self, "inside", None))


if len(sys.argv) not in (4, 5):
    sys.exit(__doc__)
folder, text, out, *moments_out = sys.argv[1:]
model = AutoModelForCausalLM.from_pretrained(folder, dtype="auto", device_map="auto").eval()
if hasattr(model, "set_experts_implementation"):
    model.set_experts_implementation("eager")  # the fused products of whole stacks show no inputs
stacks, embedding = StackedExperts(), model.get_input_embeddings().weight
wanted = []
for name, module in model.named_modules():
    if isinstance(module, torch.nn.Linear) and module.weight is not embedding:
        module.register_forward_pre_hook(lambda _, inputs, name=name: record(name, inputs[0]))
        if moments_out and module is not model.get_output_embeddings():
            module.register_forward_pre_hook(lambda _, inputs, name=name: record_moments(name, inputs[0]))
    elif all(getattr(getattr(module, part, None), "ndim", 0) == 3 for part in STACKS):
        stacks.watch(name, module)
        wanted += [f"{name}.{part}" for part in STACKS]

with open(text, encoding="utf-8") as file:
    tokens = AutoTokenizer.from_pretrained(folder)(file.read(), return_tensors="pt").input_ids[0]
if not len(tokens):
    sys.exit(f"{text}: no tokens in it")
with torch.no_grad(), stacks:
    for window in tokens.split(2048):
        model(window[None].to(model.device), use_cache=False)

maxima = {name: value.item() for name, value in amax.items() if value != 0}
for name in wanted:
    if name not in maxima:
        sys.exit(f"{name}: the inputs of these experts cannot be seen from outside")
for name, value in maxima.items():
    if not math.isfinite(value):
        sys.exit(f"{name}: an input of {value}; expected finite numbers (does the model run in its dtype?)")
with open(out, "w", encoding="utf-8") as file:
    json.dump(maxima, file, indent=0)
print(f"{out}: {len(maxima)} maxima over {len(tokens)} tokens")
if moments_out:
    means = {f"{name}.input_moments": (total / tokens_seen[name]).float().cpu().contiguous() for name, total in moments.items()}
    safetensors.torch.save_file(means, moments_out[0])
    print(f"{moments_out[0]}: moments of {len(means)} layers")
