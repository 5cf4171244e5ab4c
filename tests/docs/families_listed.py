#!/usr/bin/env python3
"""docs/FAMILIES.md has a row for every architecture of models/families, under its family's name, and no other.

usage: families_listed.py ROOT
"""
import pathlib
import re
import sys

FIELD = r'\.%s = "([^"]*)"'
ROW = re.compile(r"^\| (`[^|]*`) \| ([^|]*?) \|", re.M)
CLASS = re.compile(r"\b\w+(?:ForCausalLM|ForConditionalGeneration|Model)\b")
OTHER_NAMES = {"LLaMAForCausalLM", "LFM2ForCausalLM", "Ernie4_5_ForCausalLM"}  # of the same class


def told(root):
    """(name in GGUF, architecture) of every family that initializers name."""
    for path in sorted((root / "models/families").glob("*.cc")):
        text = path.read_text(encoding="utf-8")
        for body in re.findall(r"^const Family k\w+ = \{\n(.*?)^\};", text, re.M | re.S):
            name, classes = (re.search(FIELD % field, body) for field in ("name", "architectures"))
            yield from ((name[1], word) for word in classes[1].split() if word not in OTHER_NAMES)


def listed(root):
    """The same, of the rows before the section on projectors."""
    text = (root / "docs/FAMILIES.md").read_text(encoding="utf-8").split("## Projectors")[0]
    for names, classes in ROW.findall(text):
        names, classes = re.findall("`([^`]*)`", names), CLASS.findall(classes)
        pairs = zip(names, classes) if len(names) == len(classes) > 1 else ((names[0], word) for word in classes)
        yield from pairs


root = pathlib.Path(sys.argv[1])
tables, rows = set(told(root)), {pair for pair in listed(root)}
# Granite's tables are made by functions.
rows = {(name, word) for name, word in rows if not name.startswith("granite")}
tables = {(name, word) for name, word in tables if not name.startswith("granite")}
faults = [f"docs/FAMILIES.md: no row for `{name}`, {word}" for name, word in sorted(tables - rows)]
faults += [f"docs/FAMILIES.md: a row for `{name}`, {word}, which models/families lacks"
           for name, word in sorted(rows - tables)]
print("\n".join(faults) or f"{len(tables)} architectures have a row each")
sys.exit(1 if faults else 0)
