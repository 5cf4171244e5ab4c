#!/usr/bin/env python3
"""Prints the sections [stops FIELD=KINDS] of a profile: model types whose class in transformers stops at those values.

usage: field_values.py MODEL_TYPE...      where transformers 4.57 or 5 is installed

Each number, flag and null of each class's defaults is replaced by values of each kind: t text, l list or object, n null,
z zero, m a number below zero, f a fraction. A kind counts if the class fails on all its values, alone and next to
each other form of the fields that constructors look at together: all defaults written out, and each optional one null.
Types that the class declares for its fields are left out: field_types.py prints them.
"""
import collections
import inspect
import sys
import textwrap

import transformers
from transformers.configuration_utils import PretrainedConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

SAMPLES = {"t": ["zz", "8"], "l": [[], {}, [1], {"a": 1}], "n": [None], "z": [0], "m": [-1, -2], "f": [0.5, 1.5]}
TOGETHER = ("rope_scaling", "rope_parameters", "layer_types", "head_dim", "sliding_window", "use_sliding_window",
            "num_key_value_heads", "no_rope_layers", "sliding_window_pattern", "pad_token_id", "vocab_size")


def outcome(cls, fields):
    """taken, refused, or declared: refused for a type that the class declares"""
    try:
        cls.from_dict(dict(fields))
    except Exception as error:
        return "declared" if "StrictDataclassFieldValidation" in type(error).__name__ else "refused"
    return "taken"


def bases_of(cls, config):
    plain = {name: value for name, value in vars(config).items()
             if not name.startswith("_") and isinstance(value, (bool, int, float, str, list, dict, type(None)))}
    yield {}
    if outcome(cls, plain) == "taken":
        yield plain
    for name in TOGETHER:
        if plain.get(name) is not None and outcome(cls, {name: None}) == "taken":
            yield {name: None}
    if "head_dim" in plain:
        yield {"head_dim": 64}


def stops_of(cls):
    try:
        config = cls.from_dict({})
    except Exception:
        return
    bases = list(bases_of(cls, config))
    common = vars(PretrainedConfig())
    # Of what the constructor takes, some is not kept.
    passed = {name: each.default for name, each in inspect.signature(cls.__init__).parameters.items()}
    for name, value in {**passed, **vars(config)}.items():
        if name.startswith("_") or name in common or not isinstance(value, (bool, int, float, type(None))):
            continue
        kinds = ""
        for kind, values in SAMPLES.items():
            if all(outcome(cls, {**base, name: each}) == "refused" for each in values for base in bases):
                kinds += kind
        if kinds:
            yield name, kinds


if len(sys.argv) < 2:
    sys.exit(__doc__)
transformers.logging.set_verbosity(transformers.logging.CRITICAL)
classes, sections = {}, collections.defaultdict(set)
for model_type in sys.argv[1:]:
    if model_type not in CONFIG_MAPPING:
        continue
    cls = classes[model_type] = CONFIG_MAPPING[model_type]
    for part in getattr(cls, "sub_configs", {}).values():
        if getattr(part, "model_type", ""):
            classes[part.model_type] = part
for model_type, cls in classes.items():
    for name, kinds in stops_of(cls):
        sections[name, kinds].add(model_type)
for (name, kinds), words in sorted(sections.items()):
    print(f"\n[stops {name}={kinds}]")
    print(textwrap.fill(" ".join(sorted(words)), 118, break_long_words=False, break_on_hyphens=False))
