#!/usr/bin/env python3
"""Prints sections [names FORM ...] of a profile: under which forms of names transformers reads a class's tensors.

usage: name_forms.py FOLDER...      where transformers 4.57 or 5 is installed with torch; FOLDERs hold small models

A form is the words before a name and the first of its own: "model.language_model.*" of the text part, "lm_head",
"model.visual" of a tower. Each form is tried on all names of its kind in the folder: it counts where the loader's
own renaming leads to the parameters to which the folder's names lead. The usual form, the folder's, comes first.
(others): the classes of most folders, but wrappers; (headless): in addition, where a folder has no head.
"""
import collections
import itertools
import json
import os
import pathlib
import struct
import sys

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="critical")
import torch
import transformers

LEADS = ("", "model.", "model.language_model.", "language_model.model.", "language_model.", "model.model.",
         "model.language_model.model.", "transformer.", "module.", "_orig_mod.", "base_model.model.", "text_model.", "llm.",
         "backbone.", "gpt_neox.", "model.model.language_model.", "model.backbone.", "model.gpt_neox.")
TOWERS = ("visual", "vision_tower", "vision_model", "multi_modal_projector", "audio_tower", "connector", "mlp_AR", "projector",
          "patch_merge_mlp", "layerwise_projectors", "spatial_projectors", "image_newline", "vit", "embed_vision", "embed_audio",
          "merger")
HEADS = ("lm_head", "embed_out")
TEXTS = ("layers", "embed_tokens", "norm", "embeddings", "norm_f", "embed_in", "final_layer_norm", "embedding_norm")


def names_in(folder):
    for path in sorted(pathlib.Path(folder).glob("*.safetensors")):
        with open(path, "rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            yield from (name for name in json.loads(file.read(size)) if name != "__metadata__")


def apart(name):
    """(kind, words before, own name); None where the name is of another kind."""
    words = name.split(".")
    for at, word in enumerate(words):
        kind = "tower" if word in TOWERS else "head" if word in HEADS else "text" if word in TEXTS else ""
        if kind:
            lead = ".".join(words[:at] + [""]) if at else ""
            return kind + (":" + word if kind != "text" else ""), lead, ".".join(words[at:])
        if word == "mtp":
            return None
    return None


def renamer_of_5(model):
    from transformers.conversion_mapping import get_model_conversion_mapping
    from transformers.core_model_loading import WeightConverter, rename_source_key
    transforms = get_model_conversion_mapping(model)
    converters = [each for each in transforms if isinstance(each, WeightConverter)]
    renamings = [each for each in transforms if not isinstance(each, WeightConverter)]
    held = model.state_dict()

    def rename(names):
        out = {}
        for name in names:
            new, _ = rename_source_key(name, renamings, converters, model.base_model_prefix, held)
            if new not in held and name in held:
                new, _ = rename_source_key(name, [], [], base_model_prefix=model.base_model_prefix, meta_state_dict=held)
            out[name] = new if new in held else None
        return out
    return rename


def renamer_of_4(model):
    held = model.state_dict()
    prefix = model.base_model_prefix

    def rename(names):
        has_module = any(name.startswith(prefix) for name in names) if prefix else False
        expects = hasattr(model, prefix) if prefix else False
        try:
            mapping = model._get_key_renaming_mapping(
                names, getattr(model, "_checkpoint_conversion_mapping", None) or None, has_module and not expects,
                not has_module and expects)
        except ValueError:
            return {name: None for name in names}
        return {name: mapping.get(name) if mapping.get(name) in held else None for name in names}
    return rename


def forms_of(folder):
    config = transformers.AutoConfig.from_pretrained(folder)
    name = config.architectures[0]
    with torch.device("meta"):
        model = getattr(transformers, name)(config)
    rename = (renamer_of_5 if transformers.__version__.startswith("5.") else renamer_of_4)(model)
    names = [each for each in names_in(folder) if apart(each)]
    leads = collections.Counter(apart(each)[1] for each in names if apart(each)[0] == "text")
    text_lead = leads.most_common(1)[0][0] if leads else ""  # towers and projectors have norms and layers too
    names = [each for each in names if apart(each)[:2] == ("text", text_lead) or apart(each)[0] != "text"]
    usual = rename(names)
    names = [each for each in names if usual[each] is not None]  # not of layers beyond the last
    heads = [each for each in model.state_dict() if each.rpartition(".")[0].rpartition(".")[2] in HEADS]
    if heads and not any(apart(each)[0].startswith("head") for each in names):  # tied, and not in the folder
        names.append(apart(heads[0])[2])
        usual[names[-1]] = heads[0]
    forms, headless = [], []
    for kind in sorted({apart(each)[0] for each in names}, key=lambda kind: (kind != "text", kind)):
        own = [each for each in names if apart(each)[0] == kind]
        first = apart(own[0])[1]
        stem = kind.partition(":")[2]
        stems = dict.fromkeys((stem, *HEADS)) if kind.startswith("head") else (stem,)
        for lead, new in itertools.product(dict.fromkeys((first, *LEADS)), stems):
            moved = {each: lead + new + apart(each)[2][len(stem):] for each in own}
            form = lead + (new or "*")
            for kept, out in ((names, forms), ([each for each in names if not apart(each)[0].startswith("head")], headless)):
                found = rename([moved.get(each, each) for each in kept])
                if all(found.get(moved[each]) == usual[each] for each in own if each in kept):
                    out.append(form)
    more = [form for form in headless if form not in forms and form.endswith("*")]
    return name, " ".join(forms), " ".join(more)


def main():
    sections, headless = collections.defaultdict(set), set()
    for folder in sys.argv[1:]:
        try:
            name, forms, more = forms_of(folder)
        except Exception as error:
            print(f"# {folder}: {type(error).__name__}: {' '.join(str(error).split())[:100]}", file=sys.stderr)
            continue
        sections[forms].add(name)
        headless.update([more] if more else [])
    most = max(sections, key=lambda forms: len(sections[forms]), default="")
    for forms, classes in sorted(sections.items()):
        print(f"\n[names {forms}]\n{'(others)' if forms == most else ' '.join(sorted(classes))}")
    for forms in sorted(headless):
        print(f"\n[names {forms}]\n(headless)")


if __name__ == "__main__":
    main()
