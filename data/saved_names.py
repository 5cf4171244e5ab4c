#!/usr/bin/env python3
"""Writes data/saved_names.txt: how save_pretrained of transformers names the tensors that a model has in memory.

usage: PYTHON data/saved_names.py      with a Python that has torch and the release of transformers to read

It makes a model of each class without values, and reads the rules that its save_pretrained applies. A model_type gets
rows if these give every tensor the name and shape that save_pretrained gives it, which the script compares.
"""
import pathlib
import re
import signal

import torch
import transformers
from transformers import AutoConfig, conversion_mapping, core_model_loading
from transformers.models.auto import modeling_auto

OPENING = """\
# How save_pretrained of transformers {version} names tensors of a model, by its model_type.
#
# model_types, or nothing: those of the row before | part of the name in memory | the part in files
#
# The first row with a star, and then each other row in turn, changes the first place that it fits. A part with ^ is at
# the start of a name; one that ends in a letter or digit fits whole words. The star is the number of each expert, the
# first axis of the tensor; several parts in files divide the rows of each.
# saved_names.py wrote this file and compared it with save_pretrained. Other types keep their names, as do these, whose
# rules are of another kind or whose models were not made: {others}.
"""
MODELS = pathlib.Path(__file__).parents[1] / "models"
# Fields that the default configuration of a class leaves open, and those that make a model small.
OPEN = {"n_routed_experts": 8, "moe_intermediate_size": 64, "head_dim": 64, "use_expert_bias": True, "n_shared_experts": 1, "first_k_dense_replace": 1,
        "layer_types": ["conv", "full_attention"] * 3}
SMALL = {"num_hidden_layers": 6, "num_layers": 6, "depth": 6, "num_experts": 8, "num_local_experts": 8,
         "n_routed_experts": 8, "moe_num_experts": 8}
# Types whose default configuration must not be cut.
WHOLE = {"gemma3n", "gemma3n_text", "gemma4", "gemma4_text"}
# These rules would also rename dense layers, which other programs read by the names in memory.
EXCLUDED = {"kimi_linear"}


def class_names():
    """The class that generates text, by model_type."""
    return modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES | modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES


def known_types():
    """The model_types in ckpt's tables, and classes like them."""
    words = set(re.findall(r"\w+", "".join(file.read_text() for file in MODELS.glob("families/**/*.cc"))))
    wrappers = {"internvl", "llava_next", "llava_onevision", "paligemma", "llava_next_video", "minimax"}
    return (set(class_names()) & (words | wrappers)) - EXCLUDED


def shrink(config):
    for key, most in SMALL.items():
        value = vars(config).get(key)
        if isinstance(value, int) and value > most:
            setattr(config, key, most)
    for key, value in OPEN.items():
        if key in vars(config) and vars(config)[key] is None:
            setattr(config, key, value)
    for key, value in list(vars(config).items()):
        if isinstance(value, transformers.PretrainedConfig):
            shrink(value)
        elif key in ("layer_types", "mlp_layer_types") and isinstance(value, list):
            setattr(config, key, value[:6])


def model_of(model_type):
    name = class_names()[model_type]
    config = AutoConfig.for_model(model_type)
    if model_type not in WHOLE:
        shrink(config)
    with torch.device("meta"):
        return getattr(transformers, name if isinstance(name, str) else name[0])(config)


def words_of(pattern, scope):
    """The fixed words that a pattern of a reversed rule stands for, or None."""
    text = pattern.removesuffix("$").replace("\\.", ".")
    begin = text.startswith("^")
    text = text.removeprefix("^")
    if not re.fullmatch(r"[\w.*]+", text):
        return None
    return f"^{scope}{text}" if begin else text


def rows_of(model):
    """The rows of a model, in the order in which saving applies them; None if a rule is of another kind."""
    rules = conversion_mapping.get_model_conversion_mapping(model, add_legacy=False)
    rules = [rule for rule in rules if not isinstance(rule, core_model_loading.PrefixChange)]
    splits, renames = [], []
    for rule in (each.reverse_transform() for each in rules[::-1]):
        prefixes = [each for each in (rule.base_model_prefix, rule.scope_prefix) if each]
        scope = "".join(f"{each}." for each in prefixes)
        here = [words_of(each, scope) for each in rule.source_patterns]
        there = [words_of(each, scope) for each in rule.target_patterns]
        if None in here + there:
            return None
        if isinstance(rule, core_model_loading.WeightRenaming):
            renames += [(a, b) for a, b in zip(here, there * len(here)) if a != b]
        elif len(here) == 1 and here != there:
            if "*" not in there[0]:
                return None
            splits.append((here[0], " ".join(there)))
        elif here != there:
            return None
    return splits + renames


def replaced(name, old, new):
    """The name with the first place where `old` fits; None if there is none."""
    begin = old.startswith("^")
    old, new = old.removeprefix("^"), new.removeprefix("^")
    for found in re.finditer(re.escape(old), name):
        after = name[found.end():found.end() + 1]
        if (begin and found.start() != 0) or (re.search(r"[a-zA-Z0-9]$", old) and re.match(r"\w", after)):
            continue
        return name[:found.start()] + new + name[found.end():]
    return None


def saved(shapes, rows):
    """Names and shapes by the rows: what formats/trainer_names.cc does."""
    splits = [row for row in rows if "*" in row[1]]
    renames = [row for row in rows if "*" not in row[1]]
    out = {}
    for name, shape in shapes.items():
        made = {}
        for old, new in splits:
            parts = new.split()
            if made or len(shape) != 3 or replaced(name, old, "") is None:
                continue
            for each in parts:
                for expert in range(shape[0]):
                    made[replaced(name, old, each.replace("*", str(expert)))] = [shape[1] // len(parts), shape[2]]
        for each, own in (made or {name: shape}).items():
            for old, new in renames:
                each = replaced(each, old, new) or each
            out[each] = own
    return out


def shapes_of(tensors):
    return {name: list(tensor.shape) for name, tensor in tensors.items()}


def main():
    blocks, others = {}, []
    for model_type in sorted(known_types()):
        signal.alarm(120)
        try:
            model = model_of(model_type)
            tensors = shapes_of(model.state_dict())
            expected = shapes_of(core_model_loading.revert_weight_conversion(model, model.state_dict()))
        except Exception as error:
            print(model_type, repr(error)[:150])
            others.append(model_type)
            continue
        finally:
            signal.alarm(0)
        if expected == tensors:
            continue
        rows = rows_of(model)
        # The names of files must fit no row: trainers save them, too.
        if rows is None or saved(tensors, rows) != expected or saved(expected, rows) != expected:
            others.append(model_type)
            continue
        used = [row for row in rows if saved(tensors, [each for each in rows if each != row]) != expected]
        blocks.setdefault(tuple(used if saved(tensors, used) == expected else rows), []).append(model_type)
    out = [OPENING.format(version=transformers.__version__, others=" ".join(others))]
    for rows, types in sorted(blocks.items(), key=lambda block: block[1]):
        for row in rows:
            out.append(f"{' '.join(types) if row == rows[0] else ''} | {row[0]} | {row[1]}\n")
    pathlib.Path(__file__).with_name("saved_names.txt").write_text("".join(out))


if __name__ == "__main__":
    main()
