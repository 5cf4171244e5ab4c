#!/usr/bin/env python3
"""docs/FAMILIES.md has a row for every architecture that `ckpt list families` names, under its family's name, and no other.

usage: families_listed.py CKPT ROOT
"""
import json
import pathlib
import re
import subprocess
import sys

ROW = re.compile(r"^\| (`[^|]*`) \| ([^|]*?) \|", re.M)
CLASS = re.compile(r"\b\w+(?:For[A-Z]\w+|Model)\b")
OTHER_NAMES = {"LLaMAForCausalLM", "LFM2ForCausalLM", "Ernie4_5_ForCausalLM"}  # of the same class


def told(ckpt):
    """(name in GGUF, architecture) of every family; not of text models without a head, which have their family's row."""
    lines = subprocess.run([ckpt, "list", "families", "--json"], check=True, capture_output=True, text=True).stdout
    for family in map(json.loads, lines.splitlines()):
        yield from ((family["name"], word) for word in family["architectures"].split() if word not in OTHER_NAMES)


def listed(root):
    """The same, of the rows before the section on projectors."""
    text = (root / "docs/FAMILIES.md").read_text(encoding="utf-8").split("## Projectors")[0]
    for names, classes in ROW.findall(text):
        names, classes = re.findall("`([^`]*)`", names), CLASS.findall(classes)
        pairs = zip(names, classes) if len(names) == len(classes) > 1 else ((names[0], word) for word in classes)
        yield from pairs


tables, rows = set(told(sys.argv[1])), set(listed(pathlib.Path(sys.argv[2])))
faults = [f"docs/FAMILIES.md: no row for `{name}`, {word}" for name, word in sorted(tables - rows)]
faults += [f"docs/FAMILIES.md: a row for `{name}`, {word}, which models/families lacks"
           for name, word in sorted(rows - tables)]
print("\n".join(faults) or f"{len(tables)} architectures have a row each")
sys.exit(1 if faults else 0)
