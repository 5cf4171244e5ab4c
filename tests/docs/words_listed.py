#!/usr/bin/env python3
"""Checks that docs/COMING_FROM.md has the words of data/other_words.txt, and that ckpt has the options, steps and
commands which that file suggests.

usage: words_listed.py CKPT ROOT [--write]    --write replaces the tables
"""
import json
import pathlib
import re
import subprocess
import sys

HEAD = "## Their options and keys"
MOST_WORDS = 8    # shown of a row; the rest is counted


def rows(text):
    """Returns (program, words, ours, why) for each row, and joins adjacent rows with the same answer."""
    program, out = "", []
    for line in text.splitlines():
        if line.startswith("["):
            program = line.strip("[]")
        elif line and not line.startswith("#"):
            words, ours, why = (column.strip() for column in f"{line} ".split(" |"))
            if out and out[-1][0] == program and out[-1][2:] == (ours, why):
                out[-1][1].extend(words.split())
            else:
                out.append((program, words.split(), ours, why))
    return out


def shown(word):
    word, _, verb = word.partition("@")
    return f"`{word}`" + (f" of `ckpt {verb}`" if verb else "")


def answer(ours, why):
    if ours == "=":
        return "the same"
    typed = re.sub(r"\{([^}]*)\}B?\b", r"\1", ours.lstrip("=")).replace("VERB", "COMMAND")
    accepted = "accepted as " if ours.startswith("=") else ""
    return ": ".join(part for part in (f"{accepted}`{typed}`" if typed else "", why) if part)


def page(listed):
    program = None
    yield HEAD
    yield ""
    yield "ckpt answers these words on the command line, as keys of recipes and as keywords in Python, with `_` or `-`. It"
    yield "accepts those that mean the same as its own."
    for owner, words, ours, why in listed:
        if owner != program:
            yield from ("", f"### {owner}", "", "| word | ckpt |", "| --- | --- |")
            program = owner
        more = f" and {len(words) - MOST_WORDS} more" if len(words) > MOST_WORDS + 2 else ""
        names = " ".join(map(shown, words[:MOST_WORDS] if more else words))
        yield f"| {names}{more} | {answer(ours, why)} |"


def faults(listed, ckpt):
    """Yields a message for each answer with an option, step or command that ckpt does not have."""
    said = lambda what: [json.loads(line) for line in subprocess.run(
        [ckpt, "list", what, "--json"], capture_output=True, text=True, check=True).stdout.splitlines()]
    commands = {one["name"]: {name for option in one["options"] for name in option["names"]} for one in said("commands")}
    steps = {one["name"]: {option["name"] for option in one["options"]} for one in said("steps")}
    options = set().union(*commands.values())
    for program, words, ours, why in listed:
        for name in words:
            word, _, verb = name.partition("@")
            if verb and verb not in commands:
                yield f"{program}: {name}: no command '{verb}'"
            if ours == "=" and word not in options:
                yield f"{program}: {word}: not an option of ckpt"
        verb = re.search(r"\bckpt ([a-z]+)", ours)
        if verb and verb[1] not in commands:
            yield f"{program}: {ours}: no command '{verb[1]}'"
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", ours + " " + why):
            known = options if not verb else commands[verb[1]]
            if option not in known and not ours.startswith("hf "):
                yield f"{program}: {option}: not an option of ckpt {verb[1] if verb else ''}"
        for step, key in re.findall(r"--step ([a-z0-9-]+)(?::([a-z-]+)=)?", ours + " " + why):
            if step not in steps or (key and key not in steps[step]):
                yield f"{program}: {ours}: no step '{step}' with '{key}'"


ckpt, root = sys.argv[1], pathlib.Path(sys.argv[2])
listed = rows((root / "data/other_words.txt").read_text(encoding="ascii"))
wrong = list(faults(listed, ckpt))
path = root / "docs/COMING_FROM.md"
text = path.read_text(encoding="utf-8")
expected = text.split(HEAD)[0] + "\n".join(page(listed)) + "\n"
if "--write" in sys.argv:
    path.write_text(expected, encoding="utf-8")
elif expected != text:
    wrong.append("docs/COMING_FROM.md: not as data/other_words.txt says; tests/docs/words_listed.py CKPT . --write")
print("\n".join(wrong) or f"{sum(len(words) for _, words, _, _ in listed)} words of other programs name what ckpt has")
sys.exit(1 if wrong else 0)
