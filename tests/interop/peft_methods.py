#!/usr/bin/env python3
"""Random adapters of PEFT's methods, merged by PEFT and by the step lora. run.sh does 300 of each; by hand:

  CKPT_PEFT_PYTHON=venv/bin/python peft_methods.py CKPT [--count N] [--only METHOD] [--fixtures DIR]

That Python needs torch, transformers >= 5 and peft 0.21. It draws adapters for each method of METHODS (sizes, ranks, types of model and
adapter, the options of the method), saves them, loads them again as users do and merges them. Two values may be one step of BF16 apart,
or 1e-6 of the largest value of their row, where terms cancel. Methods that ckpt does not merge must be rejected with what to do.
--fixtures DIR writes the adapters of testdata/lora/methods, with the SHA-256 of the tensors that PEFT changes. Exits 77, saying "peer
missing", without PEFT.
"""
import argparse
import collections
import hashlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("ckpt")
parser.add_argument("--count", type=int, default=10, help="adapters of each method")
parser.add_argument("--only")
parser.add_argument("--fixtures", type=pathlib.Path)
parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
given = parser.parse_args()
if not given.inside:
    python = os.environ.get("CKPT_PEFT_PYTHON", "")
    if not python or subprocess.run([python, "-c", "import peft, torch, transformers"], capture_output=True).returncode:
        print("peer missing: CKPT_PEFT_PYTHON names no Python with torch, transformers and peft")
        sys.exit(77)
    sys.exit(subprocess.run([python, __file__, *sys.argv[1:], "--inside"],
                            env=dict(os.environ, HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")).returncode)

import warnings

import peft
import torch
import transformers
from peft.tuners.boft import layer as boft
from safetensors.torch import load_file

warnings.simplefilter("ignore")
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
torch.set_num_threads(1)


TESTDATA = pathlib.Path(__file__).resolve().parent.parent.parent / "testdata"


class Butterflies:
    """The operation of the CUDA extension that PEFT needs for more than one butterfly factor."""

    def forward(self, blocks):
        return [torch.stack([torch.block_diag(*stage) for stage in blocks])]


LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
CONV1D = ["c_attn", "c_fc", "c_proj"]
VISION, PATCHES = "families/gemma3-vl/hf", ".*patch_embedding"  # of the model with a Conv2d
CONV2D = ["patch_embedding", "k_proj", "out_proj"]
VOCABULARY = ["embed_tokens", "lm_head"]


def some(choose, names, least=1):
    return sorted(choose.sample(names, choose.randint(least, len(names))))


def ia3(choose, targets):
    listed = some(choose, targets)
    return peft.IA3Config(target_modules=listed, feedforward_modules=choose.sample(listed, choose.randint(0, len(listed))))


def loha(choose, targets):
    return peft.LoHaConfig(use_effective_conv2d=choose.random() < 0.5, r=choose.choice([1, 4, 7, 32]), alpha=choose.choice([0, 1, 8, 12.5]), target_modules=some(choose, targets),
                           rank_pattern=choose.choice([{}, {"q_proj": 3}]), alpha_pattern=choose.choice([{}, {"layers.1.*": 5}]))


def lokr(choose, targets):
    return peft.LoKrConfig(use_effective_conv2d=choose.random() < 0.5, r=choose.choice([1, 2, 4, 32]), alpha=choose.choice([1, 8, 12.5]), target_modules=some(choose, targets),
                           decompose_both=choose.random() < 0.5, decompose_factor=choose.choice([-1, -1, 2, 4, 8]),
                           init_weights=choose.choice([True, False, "lycoris"]), rank_pattern=choose.choice([{}, {"up_proj": 3}]))


def oft(choose, targets):
    block = choose.choice([2, 4, 8, 16])
    by_rank = choose.random() < 0.3
    return peft.OFTConfig(r=block if by_rank else 0, oft_block_size=0 if by_rank else block, target_modules=some(choose, targets),
                          coft=choose.random() < 0.3, eps=choose.choice([6e-5, 0.1, 3.0]), block_share=choose.random() < 0.3,
                          use_cayley_neumann=choose.random() < 0.6, num_cayley_neumann_terms=choose.choice([1, 2, 3, 4, 5, 5, 8]))


def boft_config(choose, targets):
    stages = choose.choice([1, 1, 2, 3])
    boft._FBD_CUDA = Butterflies() if stages > 1 else None
    return peft.BOFTConfig(boft_block_size=choose.choice([2, 4]), boft_n_butterfly_factor=stages, target_modules=some(choose, targets))


def vera(choose, targets):
    return peft.VeraConfig(r=choose.choice([1, 8, 64, 256]), target_modules=some(choose, targets), save_projection=True)


def hra(choose, targets):
    return peft.HRAConfig(r=choose.choice([1, 2, 5, 8]), apply_GS=choose.random() < 0.4, init_weights=False,
                          target_modules=some(choose, targets))


def miss(choose, targets):
    start = choose.choice([True, False, "mini", "bat"])
    return peft.MissConfig(r=choose.choice([2, 4, 8] if start == "bat" else [1, 4, 7, 16]), mini_r=choose.choice([1, 2, 4]),
                           init_weights=start, target_modules=some(choose, targets))


def adalora(choose, targets):
    return peft.AdaLoraConfig(init_r=choose.choice([2, 12]), target_r=2, lora_alpha=choose.choice([0, 1, 16]), total_step=100,
                              target_modules=some(choose, targets))


def lora(choose, targets):
    vocabulary = choose.choice([{}, {}, {"modules_to_save": some(choose, VOCABULARY)}, {"trainable_token_indices": [1, 5, 63]}])
    listed = some(choose, targets) + some(choose, VOCABULARY) * (not vocabulary and choose.random() < 0.3)
    added = choose.choice([{}, {}, {"use_dora": True}, {"lora_bias": True}])
    return peft.LoraConfig(r=choose.choice([1, 2, 7, 16]), lora_alpha=choose.choice([0, 1, 8, 12.5]), target_modules=listed,
                           use_rslora=choose.random() < 0.3,
                           rank_pattern=choose.choice([{}, {targets[0]: 3}]), alpha_pattern=choose.choice([{}, {"layers.1.*": 5}]),
                           **vocabulary, **added)


METHODS = {"LORA": lora, "IA3": ia3, "LOHA": loha, "LOKR": lokr, "OFT": oft, "BOFT": boft_config, "VERA": vera, "HRA": hra, "MISS": miss,
           "ADALORA": adalora}
WITH_CONV1D = {"IA3", "VERA", "ADALORA"}
WITH_CONV2D = {"IA3", "LOHA", "LOKR", "OFT", "BOFT", "HRA", "ADALORA"}


def model_of(choose, method, folder):
    """A model with random weights, in the folder, and the modules that adapters may have."""
    torch.manual_seed(choose.randrange(1 << 30))
    if method in WITH_CONV1D and choose.random() < 0.25:
        config = transformers.GPT2Config(n_embd=32, n_layer=2, n_head=2, vocab_size=64, n_positions=32)
        model, targets = transformers.GPT2LMHeadModel(config), CONV1D
    elif method in WITH_CONV2D and choose.random() < 0.2:
        model, targets = transformers.AutoModelForCausalLM.from_pretrained(TESTDATA / VISION, dtype="auto"), CONV2D
    else:
        heads = choose.choice([2, 4])
        size = choose.choice([48, 64, 80])
        config = transformers.Qwen2Config(hidden_size=size, intermediate_size=choose.choice([96, 160]), num_hidden_layers=2,
                                          num_attention_heads=heads, num_key_value_heads=choose.choice([1, heads]), vocab_size=64,
                                          max_position_embeddings=64)
        model, targets = transformers.Qwen2ForCausalLM(config), LINEAR
    with torch.no_grad():
        for each in model.parameters():
            each.add_(torch.randn_like(each) * 0.02)
    model = model.to(choose.choice([torch.bfloat16, torch.bfloat16, torch.float16, torch.float32]))
    model.save_pretrained(folder)
    return model, targets


def prune(choose, config, model):
    """What training with AdaLoRA leaves: some ranks of some modules, none of others."""
    if choose.random() < 0.5:
        return
    config.rank_pattern = {}
    for name, each in model.named_modules():
        if hasattr(each, "lora_E"):
            kept = choose.choice([0, 1, config.init_r])
            config.rank_pattern[f"{name.removeprefix('base_model.model.')}.lora_E.default"] = [i < kept for i in range(config.init_r)]


def draw(choose, method, model):
    factors = model.prefix if hasattr(model, "prefix") else model.base_model.prefix
    with torch.no_grad():
        for name, each in model.named_parameters():
            if factors not in name or "ranknum" in name:
                continue
            each.copy_((1 if method in ("IA3",) or "boft_s" in name else 0) + torch.randn(each.shape) * choose.choice([0.05, 0.3]))


def values(folder):
    out = {}
    for file in sorted(pathlib.Path(folder).glob("*.safetensors")):
        out.update(load_file(file))
    return out


def far(ours, theirs):
    """Bit-exact values that differ, and the number that is more than a step of BF16 away, if terms do not cancel."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return ours.numel(), ours.numel()
    a, b = ours.double(), theirs.double()
    distance, largest = (a - b).abs(), torch.maximum(a.abs(), b.abs())
    step = 2.0 ** (torch.floor(torch.log2(largest.clamp(min=1e-38))) - 7)
    if ours.dtype == torch.float16:
        step = step.clamp(min=2.0 ** -24)  # the distance of its smallest values, below 2 ** -17 more than a step of BF16
    cancelled = 1e-6 * (b.abs().amax(-1, keepdim=True) if b.dim() else b.abs())
    return int((distance > 0).sum()), int(((distance > step) & (distance > cancelled)).sum())


def make(choose, method, work):
    model, targets = model_of(choose, method, work / "base")
    config = METHODS[method](choose, targets)
    as_floats = choose.random() < 0.6
    try:
        adapted = peft.get_peft_model(model, config, autocast_adapter_dtype=as_floats)
    except ValueError as error:  # sizes that the method does not divide
        return str(error)
    draw(choose, method, adapted)
    if method == "ADALORA":
        prune(choose, config, adapted)
    adapted.save_pretrained(work / "adapter")
    base = transformers.AutoModelForCausalLM.from_pretrained(work / "base", dtype="auto")
    try:
        merged = peft.PeftModel.from_pretrained(base, work / "adapter").merge_and_unload()
    except RuntimeError as error:  # a bias for a layer that has none
        return str(error)
    finally:
        boft._FBD_CUDA = None
    merged.save_pretrained(work / "theirs")
    return None


def compare(work, method, counts):
    done = subprocess.run([given.ckpt, "convert", work / "base", work / "ours", "--step", f"lora:from={work / 'adapter'}"],
                          capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()
    if "not known" in done.stderr:
        return done.stderr.strip()
    ours, theirs, base = values(work / "ours"), values(work / "theirs"), values(work / "base")
    wrong = sorted(set(ours) ^ set(theirs))
    for name in set(ours) & set(theirs):
        different, wide = far(ours[name], theirs[name])
        changed = not torch.equal(theirs[name], base[name])
        counts["tensors"] += changed
        counts["equal tensors"] += changed and different == 0
        kind = "F32 values" if theirs[name].dtype == torch.float32 else "values of 16 bits"
        counts[kind] += theirs[name].numel() if changed else 0
        counts[f"{kind} rounded otherwise"] += different
        if wide:
            wrong.append(f"{name}: {wide} of {ours[name].numel()}")
    return "; ".join(wrong)


def rejected():
    """Types that ckpt does not merge, by the end of the sentence."""
    ends = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        make(random.Random(1), "IA3", work)
        for kind in peft.PeftType:
            if kind.value in METHODS:
                continue
            path = work / "adapter/adapter_config.json"
            path.write_text(json.dumps({**json.loads(path.read_text()), "peft_type": kind.value}))
            done = subprocess.run([given.ckpt, "convert", work / "base", work / "ours", "--step", f"lora:from={work / 'adapter'}"],
                                  capture_output=True, text=True)
            assert done.returncode != 0 and kind.value in done.stderr and "Try: " in done.stderr, (kind, done.stderr)
            ends[done.stderr.strip().split("Try: ")[1]] += 1
    for end, count in ends.items():
        print(f"rejected: {count:3} methods. Try: {end}")


# Adapters of testdata/lora/methods: the model in testdata that each is for, and its configuration.
FIXTURES = {
    "ia3": ("llama-micro", peft.IA3Config(target_modules=["k_proj", "down_proj"], feedforward_modules=["down_proj"])),
    "ia3-conv1d": ("lora/models/gpt2", peft.IA3Config(target_modules=["c_attn", "c_proj"], feedforward_modules=["c_proj"])),
    "loha": ("llama-micro", peft.LoHaConfig(r=2, alpha=3, target_modules=["q_proj"], layers_to_transform=[1])),
    "lokr": ("llama-micro", peft.LoKrConfig(r=2, alpha=5, target_modules=["k_proj", "up_proj"], decompose_both=True,
                                            layers_to_transform=[0])),
    "oft": ("llama-micro", peft.OFTConfig(oft_block_size=8, target_modules=["v_proj"], layers_to_transform=[1])),
    "oft-exact": ("lora/models/mixtral", peft.OFTConfig(oft_block_size=4, target_modules=["q_proj"],
                                                        use_cayley_neumann=False, coft=True, eps=1.5, block_share=True)),
    "boft": ("lora/models/mixtral", peft.BOFTConfig(boft_block_size=4, target_modules=["q_proj", "k_proj"])),
    "boft-butterfly": ("lora/models/mixtral", peft.BOFTConfig(boft_block_size=4, boft_n_butterfly_factor=3, target_modules=["k_proj"])),
    "vera": ("llama-micro", peft.VeraConfig(r=4, target_modules=["q_proj", "down_proj"], layers_to_transform=[1])),
    "vera-conv1d": ("lora/models/gpt2", peft.VeraConfig(r=3, target_modules=["c_attn", "c_fc"])),
    "hra": ("lora/models/mixtral", peft.HRAConfig(r=2, target_modules=["v_proj"], init_weights=False)),
    "hra-gs": ("lora/models/mixtral", peft.HRAConfig(r=3, target_modules=["o_proj"], init_weights=False, apply_GS=True)),
    "miss": ("llama-micro", peft.MissConfig(r=5, target_modules=["k_proj"], layers_to_transform=[0])),
    "miss-mini": ("llama-micro", peft.MissConfig(r=4, mini_r=8, target_modules=["o_proj"], layers_to_transform=[1], init_weights="mini")),
    "miss-bat": ("llama-micro", peft.MissConfig(r=4, target_modules=["k_proj"], layers_to_transform=[0], init_weights="bat")),
    "adalora": ("llama-micro", peft.AdaLoraConfig(init_r=4, target_r=2, total_step=9, lora_alpha=3, target_modules=["v_proj"],
                                                  layers_to_transform=[0])),
    "adalora-conv": (VISION, peft.AdaLoraConfig(init_r=2, target_r=1, total_step=9, lora_alpha=3, target_modules=PATCHES)),
    "ia3-conv": (VISION, peft.IA3Config(target_modules=PATCHES, feedforward_modules=[])),
    "ia3-conv-inputs": (VISION, peft.IA3Config(target_modules=PATCHES, feedforward_modules=".*patch_embedding")),
    "loha-conv": (VISION, peft.LoHaConfig(r=2, alpha=3, target_modules=PATCHES, use_effective_conv2d=True)),
    "lokr-conv": (VISION, peft.LoKrConfig(r=2, alpha=3, target_modules=PATCHES, use_effective_conv2d=True)),
    "adalora-pruned": ("llama-micro", peft.AdaLoraConfig(init_r=4, target_r=2, total_step=9, target_modules=["k_proj", "v_proj"],
                                                         layers_to_transform=[0])),
}


def write_fixture(name):
    if given.only and given.only != name:
        return
    where, config = FIXTURES[name]
    folder, out = TESTDATA / where, given.fixtures / name
    method = config.peft_type.value
    torch.manual_seed(7)
    boft._FBD_CUDA = Butterflies() if method == "BOFT" and config.boft_n_butterfly_factor > 1 else None
    base = lambda: transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="auto")
    adapted = peft.get_peft_model(base(), config)
    choose = random.Random(name)
    draw(choose, method, adapted)
    if name == "adalora-pruned":
        config.rank_pattern = {"model.layers.0.self_attn.k_proj.lora_E.default": [True, False, False, True],
                               "model.layers.0.self_attn.v_proj.lora_E.default": [False] * 4}
    shutil.rmtree(out, ignore_errors=True)
    adapted.save_pretrained(out)
    (out / "README.md").unlink(missing_ok=True)
    path = out / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "base_model_name_or_path": where}, indent=2))
    with tempfile.TemporaryDirectory() as work:
        peft.PeftModel.from_pretrained(base(), out).merge_and_unload().save_pretrained(work)
        before, after = values(folder), values(work)
    hashes = [f"{hashlib.sha256(after[name].contiguous().view(torch.uint8).numpy().tobytes()).hexdigest()}  {name}\n"
              for name in sorted(set(before) & set(after)) if not torch.equal(after[name], before[name])]
    (out / "merged.sha256").write_text("".join(hashes))


def main():
    failed = 0
    for method in METHODS if not given.only else [given.only]:
        counts, refused = collections.Counter(), collections.Counter()
        for seed in range(given.count):
            with tempfile.TemporaryDirectory() as name:
                work = pathlib.Path(name)
                reason = make(random.Random(f"{method} {seed}"), method, work)
                if reason:
                    refused[reason.split("(")[0].split("%")[0].strip()[:60]] += 1
                    continue
                wrong = compare(work, method, counts)
                counts["adapters"] += 1
                if wrong:
                    failed += 1
                    print(f"DIFFERENT {method} {seed}: {wrong}\n  {json.loads((work / 'adapter/adapter_config.json').read_text())}", flush=True)
        print(f"{method}: " + ", ".join(f"{count} {what}" for what, count in counts.items()), flush=True)
        for reason, count in refused.items():
            print(f"  PEFT itself refused {count}: {reason}")
    if not given.only:
        rejected()
    print(f"{failed} different")
    return 1 if failed else 0


if given.fixtures:
    for each in FIXTURES:
        write_fixture(each)
else:
    sys.exit(main())
