#!/usr/bin/env python3
"""Prints the sections [field NAME=TYPES] of a profile: the model types whose class in transformers takes only those types.

usage: field_types.py MODEL_TYPE...      where transformers 5 is installed

Each field of each class is set to values of each type of JSON; a type counts as refused if the class fails on all its
values. Types: b true or false, i whole number, f other number, s text, n null, L list of whole numbers, l other list,
d object. Fields whose texts or lists the class restricts further, and those of every class, are left out.
Before them, [parts]: the classes of parts, as WRAPPER.FIELD=MODEL_TYPE; with ? behind it where a model_type in the part
chooses another. Their fields are listed too.
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
SHARED = {field.name for field in dataclasses.fields(transformers.PretrainedConfig)} | {"layer_types"}


def takes(cls, name, value):
    try:
        cls.from_dict({name: value})
    except Exception as error:
        text = type(error).__name__ + str(error)
        return not ("StrictDataclassFieldValidation" in text and f"field '{name}'" in text and "TypeError" in text)
    return True


def parts_of(cls):
    """field -> model type of the class of that part, with ? where the part may name another"""
    for field, part in getattr(cls, "sub_configs", {}).items():
        if hasattr(part, "model_type") and part.model_type:
            yield field, part.model_type, part
            continue
        try:
            made = getattr(cls.from_dict({field: {}}), field)
        except KeyError:  # the part must name its type
            continue
        yield field, made.model_type + "?", type(made)


def restricted(cls):
    """name -> types that it takes"""
    fields = {field.name: str(field.type) for field in dataclasses.fields(cls) if field.name not in SHARED}
    fields |= {name: "" for name in COMMON - fields.keys()}
    for name, annotation in fields.items():
        is_part = name in getattr(cls, "sub_configs", {})
        if "Literal" in annotation or ("Config" in annotation and not is_part):
            continue
        taken = "".join(kind for kind, values in SAMPLES.items() if any(takes(cls, name, value) for value in values))
        if "list" in annotation and "L" not in taken:
            taken += "l"
        if "tuple" in annotation:  # of any length
            taken += "Ll"
        if "dict" in annotation:
            taken += "d"
        if taken and len(set(taken)) < len(SAMPLES):
            yield name, "".join(kind for kind in SAMPLES if kind in taken)


if len(sys.argv) < 2:
    sys.exit(__doc__)
transformers.logging.set_verbosity(transformers.logging.CRITICAL)
classes = {name: CONFIG_MAPPING[name] for name in sys.argv[1:] if name in CONFIG_MAPPING}
parts = []
for model_type, cls in sorted(classes.items()):
    for field, part_type, part in parts_of(cls):
        parts.append(f"{model_type}.{field}={part_type}")
        classes[part_type.rstrip("?")] = part
sections = collections.defaultdict(list)
for model_type, cls in sorted(classes.items()):
    try:
        cls.from_dict({})
    except Exception as error:
        print(f"{model_type} is left out: its class needs more than an empty object: {error}", file=sys.stderr)
        continue
    for field in restricted(cls):
        sections[field].append(model_type)
for (name, kinds), words in [(("parts", ""), parts), *sorted(sections.items())]:
    print(f"\n[field {name}={kinds}]" if kinds else f"\n[{name}]")
    print(textwrap.fill(" ".join(words), 118, break_long_words=False, break_on_hyphens=False))
