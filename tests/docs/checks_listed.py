#!/usr/bin/env python3
"""Checks that docs/DOCTOR.md has the table of checks that the rows in checks/ give.

usage: checks_listed.py CKPT ROOT [--write]    --write replaces the table

The table is made from the output of `ckpt list checks`.
"""
import json
import pathlib
import subprocess
import sys

LETTER = {"unloaded": "U", "unsound": "S", "warning": "W", "info": "I"}
BEGIN = "| check | rule | "


def table(ckpt):
    def listed(what):
        lines = subprocess.run([ckpt, "list", what, "--json"], capture_output=True, text=True, check=True).stdout
        return [json.loads(line) for line in lines.splitlines()]
    profiles = [profile["name"] for profile in listed("profiles")]
    yield f"{BEGIN}{' '.join(profiles)} | symptom | fix |"
    yield "| --- | --- | --- | --- | --- |"
    for check in listed("checks"):
        asked = "".join(LETTER.get(check["severities"].get(name), "-") for name in profiles)
        fix = "; ".join(([f"`{check['step']}`"] if check["step"] else []) + ([check["advice"]] if check["advice"] else []))
        cells = [check["id"], check["title"] + (" (`--deep`)" if check["deep"] else ""), f"`{asked}`", check["effect"], fix]
        yield "".join(f"| {cell} " if cell else "| " for cell in cells) + "|"


def replaced(text, ckpt):
    old = text.split("\n")
    start = next(at for at, line in enumerate(old) if line.startswith(BEGIN))
    end = next(at for at in range(start, len(old)) if not old[at].startswith("|"))
    return "\n".join(old[:start] + list(table(ckpt)) + old[end:])


ckpt, root, write = sys.argv[1], pathlib.Path(sys.argv[2]), "--write" in sys.argv
page = root / "docs/DOCTOR.md"
before = page.read_text(encoding="utf-8")
after = replaced(before, ckpt)
if write:
    page.write_text(after, encoding="utf-8")
elif after != before:
    print("docs/DOCTOR.md: the table is not as ckpt list checks says; tests/docs/checks_listed.py CKPT . --write")
    sys.exit(1)
