#!/usr/bin/env python3
"""Holds the include laws of docs/ARCHITECTURE.md: core includes nothing else, models includes core,
leaves are strangers to each other and see core and models, a folder shows one header, only tools and
tests see everything. Also the file limits.

usage: include_laws.py ROOT      prints each breach as "file:line: law" and exits 1
"""
import pathlib
import re
import sys

LEAVES = {"formats", "quantizers", "transforms", "checks", "publish"}
BELOW = {"models"}  # leaves may include its header
FREE = {"tools", "tests", "bench", "fuzz"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
MAX_SOURCE_LINES, MAX_COLUMNS = 400, 100


def breaches(root):
    for path in sorted(root.glob("**/*")):
        where = path.relative_to(root)
        folder = where.parts[0]
        if path.suffix not in {".cc", ".h"} or folder not in LEAVES | BELOW | FREE | {"core"}:
            continue
        lines = path.read_text(encoding="utf-8").split("\n")
        if folder not in FREE and len(lines) > MAX_SOURCE_LINES + 1:
            yield f"{where}:{len(lines)}: more than {MAX_SOURCE_LINES} lines"
        for number, line in enumerate(lines, 1):
            if len(line) > MAX_COLUMNS:
                yield f"{where}:{number}: more than {MAX_COLUMNS} columns"
            found = INCLUDE.match(line)
            if not found:
                continue
            target = found.group(1)
            other = target.split("/")[0]
            if other not in LEAVES | BELOW | FREE | {"core"}:
                continue
            if folder == "core" and other != "core":
                yield f"{where}:{number}: core includes {target}; core knows no other folder"
            elif folder in BELOW and other not in {folder, "core"}:
                yield f"{where}:{number}: {folder} includes {target}; {folder} knows core alone"
            elif folder in LEAVES and other not in BELOW | {folder, "core"}:
                yield f"{where}:{number}: {folder} includes {target}; leaves know core and models"
            elif folder not in {other, "tests", "bench", "fuzz"} and other in LEAVES | BELOW and target != f"{other}/{other}.h":
                yield f"{where}:{number}: {target} is private to {other}; include {other}/{other}.h"


found = list(breaches(pathlib.Path(sys.argv[1])))
print("\n".join(found) or "include laws hold")
sys.exit(1 if found else 0)
