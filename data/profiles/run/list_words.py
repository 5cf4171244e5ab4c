#!/usr/bin/env python3
"""Prints the sections [words FIELD] and [words FIELD: WORD ...] of a profile: the words that each class of transformers
takes in a list of words, as layer_types.

usage: list_words.py MODEL_TYPE...      where transformers 4.57 or 5 is installed

Lists of each class are set to its default with one word replaced by each word that transformers has; a word counts as
taken if the class takes one of these lists. A section lists the model types of the classes that take its words alone.
Classes that take a word that nobody has are left out: they do not read the list. Where a class looks words up only when
the model is made, as some of transformers 5.24 do, this script does not notice; those sections are then the neighbor's.
"""
import collections
import inspect
import re
import sys
import textwrap

import transformers
from transformers import configuration_utils
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

UNKNOWN = "zz"
USUAL = {"layer_types": ("full_attention", "mamba", "attention"), "mlp_layer_types": ("sparse",),
         "layers_block_type": ("full_attention", "mamba", "attention")}


def words_of(cls):
    """Texts that may be words of such lists: those of the base class, and all in quotes of the class's own file."""
    words = set(re.findall(r"[\"']([a-z_][a-z_0-9]{1,40}|[*-])[\"']", inspect.getsource(inspect.getmodule(cls))))
    for name, value in vars(configuration_utils).items():
        if "LAYER_TYPE" in name:
            words |= set(value)
    return words


def made(cls, fields):
    try:
        return cls.from_dict(dict(fields))
    except Exception:
        return None


def parts_of(config):
    for value in vars(config).values():
        if isinstance(value, configuration_utils.PretrainedConfig) and value.model_type:
            yield type(value)


def lists_of(cls, config):
    """name -> a list that the class takes"""
    found = {name: value for name, value in vars(config).items()
             if isinstance(value, (list, tuple)) and value and all(isinstance(word, str) for word in value)}
    count = getattr(config, "num_hidden_layers", None)
    for name, words in USUAL.items():
        lists = [[word] * count for word in words] if name not in found and isinstance(count, int) else []
        found |= {name: value for value in lists[::-1] if made(cls, {name: value}) is not None}
    return {name: list(value) for name, value in found.items() if name != "architectures"}


def taken(cls, name, usual, word):
    lists = [usual[:at] + [word] + usual[at + 1:] for at in [*range(min(4, len(usual))), len(usual) - 1]]
    return any(made(cls, {name: words}) is not None for words in lists)


def look(cls, sections):
    config = made(cls, {})
    if config is None:
        return
    for name, usual in lists_of(cls, config).items():
        if made(cls, {name: usual}) is None or taken(cls, name, usual, UNKNOWN):
            continue
        own = sorted(word for word in words_of(cls) if taken(cls, name, usual, word))
        sections[name, " ".join(own)].add(cls.model_type)


if len(sys.argv) < 2:
    sys.exit(__doc__)
transformers.logging.set_verbosity(transformers.logging.CRITICAL)
classes, sections = set(), collections.defaultdict(set)
for model_type in sys.argv[1:]:
    if model_type not in CONFIG_MAPPING:
        continue
    cls = CONFIG_MAPPING[model_type]
    config = made(cls, {})
    classes |= {cls, *(parts_of(config) if config is not None else ())}
for cls in classes:
    look(cls, sections)
for (name, words), types in sorted(sections.items()):
    print(f"\n[words {name}: {words}]")
    print(textwrap.fill(" ".join(sorted(types)), 118, break_long_words=False, break_on_hyphens=False))
