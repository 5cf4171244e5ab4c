#!/usr/bin/env python3
"""Prints the sections [field NAME=TYPES] of a profile: the model types whose class in transformers takes only those types.

usage: field_types.py MODEL_TYPE...      where transformers 5 is installed

Each field of each class is set to values of each type of JSON; a type counts as refused if the class fails on all its
values. Types: b true or false, i whole number, f other number, s text, n null, L list of whole numbers, l other list,
d object. Fields whose texts or lists the class restricts further, and those of every class, are left out.
"""
import collections
import dataclasses
import sys
import textwrap

import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

SAMPLES = {
    "b": [True, False], "i": [1, 0, 8, 2, 64], "f": [0.5, 1.5, 1.0], "s": ["zz", "silu", "default"], "n": [None],
    "L": [[1], [0], [1, 2]], "l": [["x"], [0.5], [[1]]], "d": [{}, {"rope_type": "default", "rope_theta": 1e4}]}
COMMON = {"tie_word_embeddings", "use_cache", "bos_token_id", "eos_token_id", "pad_token_id"}
SHARED = {field.name for field in dataclasses.fields(transformers.PretrainedConfig)} | {"rope_parameters", "layer_types"}


def takes(cls, name, value):
    try:
        cls.from_dict({name: value})
    except Exception as error:
        text = type(error).__name__ + str(error)
        return not ("StrictDataclassFieldValidation" in text and f"field '{name}'" in text and "TypeError" in text)
    return True


def restricted(cls):
    """name -> types that it takes"""
    cls.from_dict({})
    fields = {field.name: str(field.type) for field in dataclasses.fields(cls) if field.name not in SHARED}
    fields |= {name: "" for name in COMMON - fields.keys()}
    for name, annotation in fields.items():
        if any(word in annotation for word in ("Literal", "tuple", "Config")):
            continue
        taken = "".join(kind for kind, values in SAMPLES.items() if any(takes(cls, name, value) for value in values))
        if "list" in annotation and "L" not in taken:
            taken += "l"
        if "dict" in annotation:
            taken += "d"
        if taken and len(set(taken)) < len(SAMPLES):
            yield name, "".join(kind for kind in SAMPLES if kind in taken)


if len(sys.argv) < 2:
    sys.exit(__doc__)
transformers.logging.set_verbosity(transformers.logging.CRITICAL)
sections = collections.defaultdict(list)
for model_type in sorted(set(sys.argv[1:])):
    try:
        cls = CONFIG_MAPPING[model_type]
    except KeyError:
        continue
    for field in restricted(cls):
        sections[field].append(model_type)
for (name, kinds), types in sorted(sections.items()):
    print(f"\n[field {name}={kinds}]")
    print(textwrap.fill(" ".join(types), 118, break_long_words=False, break_on_hyphens=False))
