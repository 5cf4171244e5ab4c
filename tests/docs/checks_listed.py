#!/usr/bin/env python3
"""docs/DOCTOR.md holds the table of checks that follows from the rows in checks/.

usage: checks_listed.py CKPT ROOT [--write]    --write replaces the table

What is asked of which profile comes from `ckpt list checks`; symptoms and fixes come from the rows themselves, and stay as
the page has them where the row leaves them to the function that finds.
"""
import json
import pathlib
import re
import subprocess
import sys

LETTER = {"unloaded": "U", "unsound": "S", "warning": "W", "info": "I"}
STRING = r'"(?:[^"\\]|\\.)*"'
TEXT = rf'(?:(?:{STRING})(?:\s*(?:{STRING}))*|k\w+)'
ROW = re.compile(rf'\{{("[A-Z]\d\d"),\s*({TEXT}),\s*({TEXT}),\s*({TEXT}),\s*({TEXT}),\s*[\w<>:]+(?:,\s*({TEXT}))?')
CONSTANT = re.compile(rf'\b(k\w+)(?:\[\])?\s*=\s*({STRING}(?:\s*{STRING})*);')
PLACES = {"{again} --": "quantize again with --", "{again}": "quantize again", "{path}": "IN", "{out}": "OUT", "{base}": "BASE"}
BEGIN = "| check | rule | "


def text_of(cell, constants):
    cell = constants.get(cell, cell)
    return "".join(json.loads(part) for part in re.findall(STRING, cell))


def rows_of(root):
    """{id: (symptom, fix)} of the rows in checks/."""
    sources = [path.read_text(encoding="utf-8") for path in sorted((root / "checks").rglob("*")) if path.suffix in {".cc", ".h"}]
    constants = {name: value for source in sources for name, value in CONSTANT.findall(source)}
    rows = {}
    for source in sources:
        for name, _, _, symptom, advice, step in ROW.findall(source):
            step, advice = text_of(step, constants), text_of(advice, constants)
            for place, word in PLACES.items():
                advice = advice.replace(place, word)
            fix = "; ".join(([f"`{step}`"] if step else []) + ([advice] if advice else []))
            rows[json.loads(name)] = (text_of(symptom, constants), fix)
    return rows


def table(ckpt, rows, kept):
    def listed(what):
        lines = subprocess.run([ckpt, "list", what, "--json"], capture_output=True, text=True, check=True).stdout
        return [json.loads(line) for line in lines.splitlines()]
    profiles = [profile["name"] for profile in listed("profiles")]
    yield f"{BEGIN}{' '.join(profiles)} | symptom | fix |"
    yield "| --- | --- | --- | --- | --- |"
    for check in listed("checks"):
        symptom, fix = (of_row or of_page for of_row, of_page in zip(rows[check["id"]], kept.get(check["id"], ("", ""))))
        asked = "".join(LETTER.get(check["severities"].get(name), "-") for name in profiles)
        cells = [check["id"], check["title"] + (" (`--deep`)" if check["deep"] else ""), f"`{asked}`", symptom, fix]
        yield "".join(f"| {cell} " if cell else "| " for cell in cells) + "|"


def replaced(text, ckpt, rows):
    old = text.split("\n")
    start = next(at for at, line in enumerate(old) if line.startswith(BEGIN))
    end = next(at for at in range(start, len(old)) if not old[at].startswith("|"))
    cells = [[cell.strip() for cell in line.split("|")] for line in old[start + 2:end]]
    kept = {line[1]: (line[4], line[5]) for line in cells}
    return "\n".join(old[:start] + list(table(ckpt, rows, kept)) + old[end:])


ckpt, root, write = sys.argv[1], pathlib.Path(sys.argv[2]), "--write" in sys.argv
page = root / "docs/DOCTOR.md"
before = page.read_text(encoding="utf-8")
after = replaced(before, ckpt, rows_of(root))
if write:
    page.write_text(after, encoding="utf-8")
elif after != before:
    print("docs/DOCTOR.md: the table is not as checks/ and ckpt list checks say; tests/docs/checks_listed.py CKPT . --write")
    sys.exit(1)
