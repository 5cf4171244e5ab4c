#!/usr/bin/env python3
"""Writes the functions of `ckpt_tool` from the options that the program declares (`ckpt list commands --json`).

usage: ckpt_functions.py CKPT             exits 1 if src/ckpt_tool/_functions.py is not what it would write
       ckpt_functions.py CKPT --write     writes it
"""
import json
import keyword
import pathlib
import subprocess
import sys
import textwrap

OUT = pathlib.Path(__file__).resolve().parent.parent / "src/ckpt_tool/_functions.py"
WIDTH = 118
PATHS = {"FILE", "DIR", "PATH", "BASE", "OUT"}  # values that are a path
NUMBERS = {"N", "SIZE", "BITS"}  # as text too: "5GB"
OWN = {"json", "quiet", "progress", "color", "outfile"}  # set by the package, or an argument already
# Command: its arguments, the type of its result, its summary. Some arguments are options of the command (to, for_).
COMMANDS = {
    "show": ("path: Path", "results.Checkpoint", "Describes a checkpoint; reads headers only."),
    "convert": ("source: Path, out: Path, to", "results.Conversion", "Converts `source` to `out`."),
    "plan": ("source: Path, out: Path, to", "results.Conversion",
             "Says what convert() would write, tensor by tensor, and writes nothing."),
    "execute": ("plan: Path", "results.Conversion", "Runs a plan of convert(plan_out=...), or one share of it."),
    "patch": ("path: Path, *steps: str", "results.Patched", "Edits a checkpoint in place."),
    "doctor": ("path: Path, for_", "results.Diagnosis", "Checks whether programs load a checkpoint and compute the right results."),
    "diff": ("a: Path, b: Path", "results.Comparison", "Compares two checkpoints."),
    "report": ("paths: Paths, *others: Path", "results.Report", "Returns the data of a report; with `out` also writes its page."),
    "imatrix": ("what: str, files: Paths, *others: Path", "results.Imatrices", "Shows, merges or fills importance matrices."),
    "verify": ("path: Path", "results.Verification", "Checks structure, hashes and signature."),
    "publish": ("path: Path, to", "results.Publication", "Writes SHA256SUMS, and on request a signature, an archive and provenance."),
    "list": ('what: str = ""', "Sequence[Object]", "Returns formats, types, steps, families, checks, profiles, options or commands."),
}
SOURCES = {"plan": "convert"}     # function: the command whose options it has
UNUSED = {"plan": {"dry_run", "if_needed", "plan_out"}}
HEAD = '''"""The commands as functions. Written by backend/ckpt_functions.py from the options of the program; do not edit."""
from __future__ import annotations

from typing import Literal, Sequence, Union

from . import _api, _results as results
from ._process import Object, OptionValue, Path, ProgressCall

Paths = Union[Path, Sequence[Path]]
'''


def argument(option):
    name = max(option["names"], key=lambda one: (one.startswith("--"), -option["names"].index(one)))
    name = name.lstrip("-").replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def annotation(option):
    if not option["value"]:
        return "bool = False"
    kind = "int" if option["number"] else "str | float" if option["value"] in NUMBERS else "str"
    if option["choices"]:
        kind = f"Literal[{', '.join(json.dumps(one) for one in option['choices'])}]"
    elif PATHS & set(option["value"].split("|")):
        kind = "Path"
    if option["repeats"]:
        kind += f" | Sequence[{kind}]"
    if option["optional"]:
        return f"bool | {kind} = False"
    return f"{kind} | None = None"


def wrapped(text, indent, first=""):
    return textwrap.fill(first + text, WIDTH, initial_indent=indent, subsequent_indent=indent + ("    " if first else ""),
                         break_long_words=False, break_on_hyphens=False)


def listed(before, items, after):
    """`items` between commas, in lines that break after a comma."""
    lines = [before]
    for item in [f"{one}, " for one in items[:-1]] + [items[-1] + after]:
        if len(lines[-1] + item.rstrip()) > WIDTH:
            lines.append("        ")
        lines[-1] += item
    return "\n".join(line.rstrip() for line in lines)


def function(name, command):
    arguments, result, summary = COMMANDS[name]
    options = {argument(one): one for one in command["options"] if one["names"][0].startswith("-")}
    options = {each: one for each, one in options.items() if each not in OWN | UNUSED.get(name, set())}
    typed = [f"{one}: {annotation(options[one])}" if one in options else one for one in arguments.split(", ")]
    placed = set(arguments.split(", ")) & set(options)
    typed += [*([] if "*" in arguments else ["*"]), "progress: ProgressCall | None = None"]
    typed += [f"{each}: {annotation(one)}" for each, one in options.items() if each not in placed]
    given = [f'"{each}": {each}' for each in options] + ["**more"]
    names = ", ".join(one.split(":")[0].lstrip("*") for one in arguments.split(", ") if one not in placed)
    yield listed(f"def {name}(", [*typed, "**more: OptionValue"], f") -> {result}:")
    yield f'    """{summary}'
    yield ""
    for each, one in options.items():
        yield wrapped(one["help"].replace("\\", "\\\\") + ".", "    ", f"{each}: ")
    yield '    """'
    yield listed("    options: dict[str, OptionValue] = {", given, "}")
    yield listed(f"    return _api.{name}(", [names, "progress", "options"], ")")


def written(ckpt):
    said = subprocess.run([ckpt, "list", "commands", "--json"], capture_output=True, text=True, check=True).stdout
    commands = {one["name"]: one for one in map(json.loads, said.splitlines())}
    parts = ["\n".join(function(name, commands[SOURCES.get(name, name)])) for name in COMMANDS]
    return HEAD + "".join(f"\n\n{part}\n" for part in parts)


def main():
    text = written(sys.argv[1])
    if "--write" in sys.argv:
        OUT.write_text(text, encoding="utf-8")
    elif text != OUT.read_text(encoding="utf-8"):
        sys.exit(f"{OUT}: not as ckpt list commands says. Try: {sys.argv[0]} CKPT --write")


if __name__ == "__main__":
    main()
