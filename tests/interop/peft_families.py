#!/usr/bin/env python3
"""Adapters of PEFT in many styles on a model of each family, merged by PEFT and by the step lora. By hand:

  CKPT_PEFT_PYTHON=venv/bin/python peft_families.py CKPT FOLDER... [--only STYLE] [--keep DIR]

That Python needs torch, transformers >= 5 and peft 0.21. For each folder, such as testdata/families/*/hf, and each of STYLES it draws an
adapter, saves it, merges it as users do, and loads ckpt's folder with the class. Tensors have the names of the class then; values may be
one step of BF16 apart. PEFT loses some tensors when it loads an adapter again (Laguna's shared experts): what it merges at once is right,
too. A head that is tied is its own before PEFT merges, unless the style asks for ties. --keep DIR keeps what differs or is refused.
Exits 77, saying "peer missing", without PEFT.
"""
import argparse
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import traceback
import zlib

parser = argparse.ArgumentParser()
parser.add_argument("ckpt")
parser.add_argument("folders", nargs="+", type=pathlib.Path)
parser.add_argument("--only", action="append")
parser.add_argument("--keep", type=pathlib.Path)
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
from safetensors.torch import load_file

warnings.simplefilter("ignore")
transformers.utils.logging.set_verbosity(50)
transformers.utils.logging.disable_progress_bar()
torch.set_num_threads(1)


def model_class(folder):
    config = json.loads((folder / "config.json").read_text())
    for name in config.get("architectures") or []:
        if hasattr(transformers, name):
            return getattr(transformers, name)
    raise ValueError(f"no class {config.get('architectures')}")


def load(cls, folder, **more):
    return cls.from_pretrained(folder, dtype="auto", attn_implementation="eager", **more)


class Model:
    """What styles ask about a model."""

    def __init__(self, model):
        self.model = model
        names = {id(m): n for n, m in model.named_modules()}
        get = lambda f: names.get(id(getattr(model, f)())) if hasattr(model, f) else None
        try:
            self.input = get("get_input_embeddings")
        except Exception:
            self.input = None
        try:
            self.head = get("get_output_embeddings")
        except Exception:
            self.head = None
        self.linear = [n for n, m in model.named_modules() if isinstance(m, torch.nn.Linear) and n != self.head]
        self.words = sorted({n.split(".")[-1] for n in self.linear if not n.split(".")[-1].isdigit()})
        self.tied = self.head is not None and self.input is not None and \
            model.get_output_embeddings().weight is model.get_input_embeddings().weight
        mamba = any(w in ("conv1d", "A_log") for w in {n.split(".")[-1] for n, _ in [*model.named_modules(), *model.named_parameters()]})
        if mamba:
            self.linear = [n for n in self.linear if not n.endswith("out_proj")]
        self.words = [w for w in self.words if not (mamba and w == "out_proj")]
        self.all = self.linear if mamba else "all-linear"
        self.norms = sorted({n.split(".")[-1] for n, m in model.named_modules() if "norm" in n.split(".")[-1].lower() and next(m.parameters(), None) is not None})
        self.stacks = sorted({n for n, p in model.named_parameters() if p.dim() == 3 and "expert" in n})
        self.convs = sorted({n for n, m in model.named_modules() if type(m).__name__ in ("Conv2d", "Conv3d", "Conv1d") and getattr(m, "groups", 1) == 1})

    def body(self):
        return sorted({n.split(".")[-1] for n in self.linear if ".layer" in n or ".h." in n or ".block" in n})

    def last(self, name):
        return name.split(".")[-1]


LORA = peft.LoraConfig


def all_linear(m):
    return LORA(r=4, lora_alpha=6, target_modules=m.all)


def patterns(m):
    return LORA(r=4, lora_alpha=8, target_modules=m.all, use_rslora=True, rank_pattern={m.words[0]: 2, m.words[-1]: 7},
                alpha_pattern={r"layers\.1\..*": 5, m.words[len(m.words) // 2]: 3})


def dora(m):
    return LORA(r=3, lora_alpha=6, target_modules=m.linear, use_dora=True)


def bias(m):
    biased = [n for n, x in m.model.named_modules() if isinstance(x, torch.nn.Linear) and x.bias is not None and n in m.linear]
    return LORA(r=3, lora_alpha=6, target_modules=biased, lora_bias=True) if biased else None


def saved(m):
    both = [m.last(x) for x in (m.input, m.head) if x]
    return LORA(r=4, target_modules=m.all, modules_to_save=both) if both else None


def saved_tied(m):
    return LORA(r=4, target_modules=m.all, modules_to_save=[m.last(m.input)], ensure_weight_tying=True) if m.tied else None


def saved_norms(m):
    return LORA(r=4, target_modules=m.all, modules_to_save=m.norms) if m.norms else None


def vocabulary(m):
    both = [m.last(x) for x in (m.input, m.head) if x]
    return LORA(r=4, target_modules=[m.words[0], *both]) if both else None


def vocabulary_tied(m):
    return LORA(r=4, target_modules=[m.words[0], m.last(m.input)], ensure_weight_tying=True) if m.tied else None


def tokens(m):
    return LORA(r=4, target_modules=m.all, trainable_token_indices=[1, 5, 9]) if m.input else None


def tokens_tied(m):
    return LORA(r=4, target_modules=m.all, trainable_token_indices=[1, 5, 9], ensure_weight_tying=True) if m.tied else None


def experts(m):
    return LORA(r=2, lora_alpha=6, target_modules=m.words[:1], target_parameters=sorted({".".join(n.split(".")[-3:]) if n.split(".")[-2] == "experts" else n for n in m.stacks})) if m.stacks else None


def convs(m):
    return LORA(r=2, target_modules=[*m.convs]) if m.convs else None


def classifier_saved(m):
    new = sorted({n.split(".")[0] for n in m.missing})
    return LORA(r=4, target_modules=m.body(), task_type="SEQ_CLS", modules_to_save=new)


def token_classifier_saved(m):
    new = sorted({n.split(".")[0] for n in m.missing})
    return LORA(r=4, target_modules=m.body(), task_type="TOKEN_CLS", modules_to_save=new)


def grown_tokens(m):
    rows = m.model.get_input_embeddings().weight.shape[0]
    return LORA(r=4, target_modules=m.all, trainable_token_indices=[1, *range(rows - GROWN, rows)])


GROWN = 8
BASE_UNEXPECTED = set()
# name: the configuration, the class if it is not the folder's, whether the vocabulary grows first
STYLES = {
    "all-linear": (all_linear, None, False),
    "patterns": (patterns, None, False),
    "dora": (dora, None, False),
    "lora-bias": (bias, None, False),
    "saved": (saved, None, False),
    "saved-tied": (saved_tied, None, False),
    "saved-norms": (saved_norms, None, False),
    "vocabulary": (vocabulary, None, False),
    "vocabulary-tied": (vocabulary_tied, None, False),
    "tokens": (tokens, None, False),
    "tokens-tied": (tokens_tied, None, False),
    "experts": (experts, None, False),
    "convs": (convs, None, False),
    "grown-saved": (saved, None, True),
    "grown-vocabulary": (vocabulary, None, True),
    "grown-tokens": (grown_tokens, None, True),
    "text-class": (all_linear, "AutoModelForCausalLM", False),
    "text-saved": (saved, "AutoModelForCausalLM", False),
    "bare-class": (all_linear, "AutoModel", False),
    "classifier-saved": (classifier_saved, "AutoModelForSequenceClassification", False),
    "token-classifier-saved": (token_classifier_saved, "AutoModelForTokenClassification", False),
}


def draw(model):
    with torch.no_grad():
        for name, each in model.named_parameters():
            if "lora_" in name and "magnitude" not in name:
                each.copy_(torch.randn(each.shape) * 0.05)
            elif "lora_magnitude" in name:
                each.copy_(each * (1 + 0.05 * torch.randn(each.shape)))
            elif "trainable_tokens_delta" in name or "modules_to_save" in name:
                each.add_((torch.randn(each.shape) * 0.05).to(each.dtype))
            elif each.requires_grad:
                each.add_((torch.randn(each.shape) * 0.05).to(each.dtype))


def far(ours, theirs):
    """The number of values that are more than a step of BF16 away, if terms do not cancel."""
    if ours.shape != theirs.shape:
        return f"shape {list(ours.shape)} for {list(theirs.shape)}"
    rounds = theirs.dtype == torch.float32  # transformers keeps a few modules in F32, which the files have in BF16
    a, b = ours.double(), theirs.double()
    distance, largest = (a - b).abs(), torch.maximum(a.abs(), b.abs())
    step = 2.0 ** (torch.floor(torch.log2(largest.clamp(min=1e-38))) - 7)
    if ours.dtype == torch.float16:
        step = step.clamp(min=2.0 ** -24)
    cancelled = (2.0 ** -8 if rounds else 1e-6) * (b.abs().amax(-1, keepdim=True) if b.dim() else b.abs())
    count = int(((distance > step) & (distance > cancelled)).sum())
    return f"{count} of {ours.numel()} values" if count else ""


def untie(model):
    """Gives the head a tensor of its own, as which PEFT trains it."""
    head = model.get_output_embeddings()
    if head is None or head.weight is not model.get_input_embeddings().weight:
        return
    head.weight = torch.nn.Parameter(head.weight.detach().clone())
    for each in (model.config, model.config.get_text_config()):
        each.tie_word_embeddings = False


def more(cls_name):
    return {"num_labels": 3} if cls_name and "Classification" in cls_name else {}


def make(folder, style, work):
    configure, cls_name, grows = STYLES[style]
    cls = getattr(transformers, cls_name) if cls_name else model_class(folder)
    torch.manual_seed(zlib.crc32(f"{folder} {style}".encode()))
    try:
        model, info = load(cls, folder, output_loading_info=True, **more(cls_name))
    except ValueError as error:
        if "Unrecognized configuration class" in str(error):
            return "not asked", "no such class"
        raise
    BASE_UNEXPECTED.clear()
    BASE_UNEXPECTED.update(info["unexpected_keys"])
    if cls_name and not more(cls_name) and type(model) is model_class(folder):
        return "not asked", "the same class"
    missing = [n for n in info["missing_keys"] if not any(w in n for w in ("score", "classif", "out_proj"))] if not more(cls_name) else []
    if missing:
        return "not asked", f"the class has tensors that the model lacks {missing[:2]}"
    if grows:
        rows = model.get_input_embeddings().weight.shape[0]
        torch.manual_seed(5)
        model.resize_token_embeddings(rows + GROWN)
    about = Model(model)
    about.missing = info["missing_keys"]
    config = configure(about)
    if config is None:
        return "not asked", "nothing of this style"
    adapted = peft.get_peft_model(model, config)
    draw(adapted)
    adapted.save_pretrained(work / "adapter")
    for each in folder.iterdir():
        if each.name.startswith("token") or each.name.startswith("special"):
            shutil.copy(each, work / "adapter" / each.name)
    base = load(cls, folder, **more(cls_name))
    if grows:
        torch.manual_seed(6)
        base.resize_token_embeddings(rows + GROWN)
    rows_saved = any(t.dim() == 2 and t.shape[0] == rows + GROWN for t in load_file(work / "adapter/adapter_model.safetensors").values()) if grows else True
    if not rows_saved and "tokens" not in style:
        return "not asked", "PEFT saved no rows of new tokens"
    if not config.ensure_weight_tying and "tokens" not in style and hasattr(base, "get_output_embeddings"):
        untie(base)
    merged = peft.PeftModel.from_pretrained(base, work / "adapter").merge_and_unload()
    trained = load_file(work / "adapter/adapter_model.safetensors")
    return cls, merged, adapted.merge_and_unload().state_dict(), [n for n in info["missing_keys"] if "base_model.model." + n not in trained]


def compare(folder, style, work):
    out = make(folder, style, work)
    if isinstance(out[0], str):
        return out
    cls, merged, at_once, absent = out
    target = work / "out"
    done = subprocess.run([given.ckpt, "convert", str(folder), str(target), "--step", f"lora:from={work / 'adapter'}"],
                          capture_output=True, text=True, errors="replace")
    (work / "said").write_text(done.stderr + done.stdout)
    if done.returncode:
        return "refused", (done.stderr.strip().splitlines() or ["?"])[-1].replace(str(work), "")
    saved_by_them = work / "theirs"
    merged.save_pretrained(saved_by_them)
    theirs, theirs_info = load(cls, saved_by_them, output_loading_info=True)
    ours, info = load(cls, target, output_loading_info=True)
    if type(ours) is not type(merged):
        return "DIFFERENT", f"class {type(ours).__name__} for {type(merged).__name__}"
    want, have = merged.state_dict(), ours.state_dict()
    check = theirs.state_dict()
    wrong = []
    for name in sorted(want.keys() | have.keys()):
        if name not in have or name not in want:
            wrong.append((name, "not in ours" if name not in have else "not in theirs"))
            continue
        if not want[name].is_floating_point() or name in absent and name in info["missing_keys"]:
            continue
        different = far(have[name], want[name])
        if different and (name not in at_once or far(have[name], at_once[name])):
            by_file = "" if name not in check else far(have[name], check[name])
            wrong.append((name, different + ("" if by_file else " (equal to their files)")))
    lost = [n for n in info["missing_keys"] if n not in theirs_info["missing_keys"]]
    lost = [n for n in lost if n not in absent]
    lost = [n for n in lost if n not in BASE_UNEXPECTED]
    lost += [] if style == "bare-class" else [n for n in info["unexpected_keys"] if n not in theirs_info["unexpected_keys"] and n not in BASE_UNEXPECTED]
    a, b = (json.loads((x / "config.json").read_text()) for x in (target, saved_by_them))
    for key in ("architectures", "vocab_size", "tie_word_embeddings", "num_labels"):
        x, y = (c.get(key, c.get("text_config", {}).get(key) if isinstance(c.get("text_config"), dict) else None) for c in (a, b))
        if style == "bare-class" and key == "architectures":
            continue
        if x is not None and y is not None and x != y and not (key == "tie_word_embeddings"):
            wrong.append((f"config {key}", f"{x} for {y}"))
    if wrong or lost:
        return "DIFFERENT", f"{len(wrong)} {wrong[:3]}" + (f" lost {len(lost)} {lost[:3]}" if lost else "")
    return "equal", ""


def main():
    counts = collections.Counter()
    for folder in given.folders:
        name = folder.parent.name if folder.name == "hf" else folder.name
        for style in given.only or STYLES:
            work = given.keep / f"{name}.{style}" if given.keep else pathlib.Path(tempfile.mkdtemp())
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
            try:
                what, why = compare(folder, style, work)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                last = traceback.extract_tb(error.__traceback__)[-1]
                what, why = "PEER", f"{type(error).__name__}: {str(error).strip().splitlines()[0][:150] if str(error).strip() else ''} ({pathlib.Path(last.filename).name}:{last.lineno})"
            counts[what] += 1
            if what != "equal":
                print(f"{what}\t{name}\t{style}\t{why[:700]}", flush=True)
            if not given.keep or what in ("equal", "not asked"):
                shutil.rmtree(work)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return 1 if counts["DIFFERENT"] else 0


sys.exit(main())
