#!/usr/bin/env python3
"""docs/OPTIONS.md and docs/RECIPES.md hold the tables that follow from the options of `ckpt convert`.

usage: options_listed.py CKPT ROOT [--write]    --write replaces the tables
"""
import json
import pathlib
import subprocess
import sys

THEN = {"taken": "exit 2", "plan": "exit 2", "offered": "note", "plan-if-taken": "note"}
OWN_ROWS = {"in", "out", "to", "steps", "also", "for"}  # told in words, before the table's other rows


def by(options, key):
    groups = {}
    for option in options:
        groups.setdefault(key(option), []).append(option)
    return groups.items()


def names(options, key="name", before="--"):
    return " ".join(f"`{before}{option[key]}`" for option in options)


def table_of_effects(options):
    """Which options may have no effect, and what happens then."""
    idle = [option for option in options if option["unused"]]
    yield "| option | has no effect where | then |"
    yield "| --- | --- | --- |"
    for (reason, then), group in by(idle, lambda option: (option["unused"], THEN[option["effect"]])):
        yield f"| {names(group)} | {reason} | {then} |"


def kind(option):
    if not option["value"]:
        return "flags: `true` or `false`"
    if option["repeats"]:
        return "text, or an array of texts; the order counts"
    return "paths" if option["path"] else "texts"


def table_of_keys(options):
    """The keys of a recipe that are called as their options are."""
    kept = [option for option in options if option["kept"] and option["key"] not in OWN_ROWS]
    yield "| keys, as the options of those names | are |"
    yield "| --- | --- |"
    for what, group in by(kept, kind):
        yield f"| {names(group, 'key', '')} | {what} |"


def replaced(text, table):
    """`text` with `table` in place of the one that has its first line."""
    lines, table = text.split("\n"), list(table)
    start = lines.index(table[0])
    end = next(at for at in range(start, len(lines)) if not lines[at].startswith("|"))
    return "\n".join(lines[:start] + table + lines[end:])


ckpt, root, write = sys.argv[1], pathlib.Path(sys.argv[2]), "--write" in sys.argv
listed = subprocess.run([ckpt, "list", "options", "--json"], capture_output=True, text=True, check=True).stdout
options = [json.loads(line) for line in listed.splitlines()]
faults = []
for name, table in (("OPTIONS.md", table_of_effects(options)), ("RECIPES.md", table_of_keys(options))):
    page = root / "docs" / name
    text = page.read_text(encoding="utf-8")
    expected = replaced(text, table)
    if write:
        page.write_text(expected, encoding="utf-8")
    elif expected != text:
        faults.append(f"docs/{name}: not as ckpt list options says; tests/docs/options_listed.py CKPT . --write")
print("\n".join(faults) or f"{len(options)} options are in the documents as declared")
sys.exit(1 if faults else 0)
