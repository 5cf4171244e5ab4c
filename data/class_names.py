#!/usr/bin/env python3
"""Writes data/class_names.txt, which maps names in the classes of transformers to names in files of released models.

usage: PYTHON data/class_names.py      with a Python that has the release of transformers to read

It reads transformers' conversion table. Rules that replace fixed words, or one of several words, become rows. Conditions
on what is around the words are dropped, because ckpt takes only names that the model has. Rules that join, split or
transpose tensors and rules with other regular expressions are left out; the opening comment of the file counts them.
"""
import collections
import itertools
import pathlib
import re

import transformers
from transformers import conversion_mapping
from transformers.models.auto import modeling_auto

OPENING = """\
# Parts of tensor names in the classes of transformers, which PEFT uses, and in the files of released models.
#
# part in the class | part in files | model_types, or * for all
#
# A part with ^ in front matches only at the beginning of a name. class_names.py wrote this file from transformers
# {version} conversion_mapping.py. It left out {left_out} rules, because they are expressions or change values.
"""
# Files have a prefix within the tower that the class lacks, as in vision_tower.vision_model.encoder.
PREFIX = re.compile(r"\^(\w+)\\\.\(\.\+\)$")


AROUND = re.compile(r"\(\?<?!(?:[^()]|\([^()]*\))*\)")
CHOICE = re.compile(r"\(([\w.|\\^]+)\)")


def literal(pattern):
    """The fixed words that an expression matches, or None if it matches more than that."""
    begin = "^" if pattern.startswith("^") else ""
    words = pattern[len(begin):].removesuffix("$").replace("\\.", ".")
    return begin + words if re.fullmatch(r"[\w.]+", words) else None


def words_of(in_class, in_file):
    """The pairs of fixed words for which the rule stands; (None, None) for a rule that stands for others too."""
    in_file = AROUND.sub("", in_file)
    choices = [match[1].split("|") for match in CHOICE.finditer(in_file)]
    for chosen in itertools.product(*choices):
        words = in_class
        for number, word in enumerate(chosen, 1):
            words = words.replace(f"\\{number}", word)
        rest = iter(chosen)
        file_words = CHOICE.sub(lambda match: next(rest), in_file)
        yield (literal(words), literal(file_words)) if "\\d" not in in_file else (None, None)


def language_models():
    """The model_types that ckpt converts, by themselves and by their classes: models of text, of text with images, and of embeddings."""
    found = {}
    for name in ("CAUSAL_LM", "IMAGE_TEXT_TO_TEXT", "SEQ_TO_SEQ_CAUSAL_LM", "SEQUENCE_CLASSIFICATION", "MASKED_LM"):
        for model_type, named in getattr(modeling_auto, f"MODEL_FOR_{name}_MAPPING_NAMES").items():
            found[model_type] = model_type
            for each in [named] if isinstance(named, str) else named:
                found.setdefault(each, model_type)
    return found


def main():
    table = conversion_mapping._build_checkpoint_conversion_mapping()
    wanted, left_out = language_models(), 0
    rows = collections.defaultdict(set)
    for model_type, rules in table.items():
        for rule in rules or []:
            pairs = list(zip(rule.source_patterns, rule.target_patterns * len(rule.source_patterns)))
            if model_type.endswith("VisionModel") and PREFIX.match(pairs[0][0]) and pairs[0][1] == "\\1":
                rows["vision_tower.", f"vision_tower.{PREFIX.match(pairs[0][0])[1]}."].add("*")
                continue
            if model_type not in wanted and model_type != "legacy":
                continue
            for words in (each for pair in pairs for each in words_of(*reversed(pair))):
                if type(rule).__name__ != "WeightRenaming" or None in words:
                    left_out += 1
                elif words[0] != words[1]:
                    rows[words].add("*" if model_type == "legacy" else wanted[model_type])
    out = [OPENING.format(version=transformers.__version__, left_out=left_out)]
    for words, types in sorted(rows.items()):
        out.append(f"{words[0]} | {words[1]} | {'*' if '*' in types else ' '.join(sorted(types))}\n")
    pathlib.Path(__file__).with_name("class_names.txt").write_text("".join(out))


if __name__ == "__main__":
    main()
