#!/usr/bin/env python3
"""Prints words for a section of a profile from the source of a program, without running it.

usage: collect.py FILE NAME [FILE NAME]...      the keys of the mappings NAME, or the texts of the lists NAME
       a NAME that ends in ":1": the texts in its values instead

In the sources of a release:

  collect.py src/transformers/models/auto/configuration_auto.py CONFIG_MAPPING_NAMES \\
             src/transformers/models/auto/auto_mappings.py CONFIG_MAPPING_NAMES          (since 5.x)
  collect.py src/transformers/models/auto/tokenization_auto.py TOKENIZER_MAPPING_NAMES:1
  collect.py vllm/model_executor/models/registry.py _TEXT_GENERATION_MODELS and the other mappings there
  collect.py vllm/transformers_utils/config.py _CONFIG_REGISTRY
"""
import ast
import sys
import textwrap


def texts(node):
    return {each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)}


def pairs(node):
    """(key, value) of each entry of a mapping as it is written: {..}, OrderedDict([(..)]), Mapping(a="..")."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values):
            yield from pairs(value) if key is None else [(key, value)]
    elif isinstance(node, ast.Call):
        for argument in node.args:
            yield from pairs(argument)
        for keyword in node.keywords:
            yield from pairs(keyword.value) if keyword.arg is None else [(ast.Constant(keyword.arg), keyword.value)]
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        for each in node.elts:
            is_pair = isinstance(each, ast.Tuple) and len(each.elts) == 2
            yield (each.elts[0], each.elts[1]) if is_pair else (each, each)


def values_of(tree, name):
    """What is assigned to `name`, and what its update() gets."""
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and any(isinstance(t, ast.Name) and t.id == name for t in targets):
            yield from [node.value] if node.value else []
        if isinstance(node, ast.Call) and ast.unparse(node.func) == f"{name}.update":
            yield from node.args


def collected(file, name):
    name, _, column = name.partition(":")
    with open(file, encoding="utf-8") as source:
        tree = ast.parse(source.read())
    found = set()
    for value in values_of(tree, name):
        for pair in pairs(value):
            found |= texts(pair[int(column or 0)])
    if not found:
        sys.exit(f"{file}: no words in {name}; expected a mapping or a list of texts")
    return found


if len(sys.argv) < 3 or len(sys.argv) % 2 == 0:
    sys.exit(__doc__)
words = set().union(*map(collected, sys.argv[1::2], sys.argv[2::2]))
print(textwrap.fill(" ".join(sorted(words)), 118, break_long_words=False, break_on_hyphens=False))
