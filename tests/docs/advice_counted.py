#!/usr/bin/env python3
"""Counts the commands that the source of ckpt suggests, and how many of them a test runs.

usage: advice_counted.py ROOT [--list] [--options]     exit code 1: a suggested command is run by no test

A suggested command is a text of the program that begins with `ckpt COMMAND`, for a person to type. A test runs it if
its expected output contains it: run.py --try-advice types the commands in tests/cli, and advice.py those in documents
and stories. Scripts with advice_not_typed do not count. Values that the program fills in may differ.
  --list     prints all suggested commands, not only those that no test runs
  --options  also counts hints that begin with an option, which a person adds to the line that failed
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1]).resolve()
FOLDERS = "plan tools checks formats core remote publish models transforms quantizers".split()
LITERAL = r'(?:R"\((?P<raw%d>.*?)\)"|"(?P<text%d>(?:[^"\\\n]|\\.)*)"|(?P<type%d>CKPT_USUAL_TYPE))'
PIECE = re.compile(LITERAL.replace("%d", ""), re.S)
TEXTS = re.compile(rf'(?:{re.sub("[?]P<[a-z]+%d>", "?:", LITERAL)}\s*)+', re.S)
VERBS = re.findall(r'kCommands?\w*|&k(\w+)Command', (ROOT / "tools/line/commands.cc").read_text())
VERB = "|".join(sorted({verb.lower() for verb in VERBS if verb}))
COMMAND = re.compile(rf"(?:^|Try: |Next: |and then )(ckpt (?:{VERB}) .+)", re.S)
# Not suggestions: sentences about ckpt, and examples in help, which tests/docs/run_documents.py types.
PROSE = re.compile(rf"ckpt (?:{VERB}) (?:replaces|rejects|did|would|writes|COMMAND)|^  ckpt ")


def texts(path):
    """Yields (line, text, whether it begins a hint) for each string of a source file; joins adjacent literals."""
    source = re.sub(r"(?m)//.*$", lambda found: found[0] if '"' in found[0] else "", path.read_text(encoding="utf-8"))
    for found in TEXTS.finditer(source):
        joined = "".join(p["raw"] or ("q4_k_m" if p["type"] else p["text"] or "") for p in PIECE.finditer(found[0]))
        joined = re.sub(r'\\(["\'\\n])', lambda c: {"n": "\n"}.get(c[1], c[1]), joined)
        before = source[max(0, found.start() - 200):found.start()]
        is_hint = re.search(r'_hint\((?:[^";,]|\?[^;]*:)*$|hint = [^";]*$', before)
        yield source.count("\n", 0, found.start()) + 1, joined, is_hint


def pattern_of(text):
    """A pattern for the printed command. {} and placeholders such as IN match any text."""
    text = re.split(r"; | \(|, (?:where|which|or)\b", text)[0].rstrip()
    text = text.removeprefix("ckpt ")   # a script may omit it
    parts = re.split(r"\{[^{}]*\}|\b(?:IN|OUT|BASE|FOLDER|ADAPTER|DIR)\b", text)
    return ".*?".join(re.escape(part) for part in parts)


def suggested():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.cc")) + sorted((ROOT / folder).rglob("*.h")):
            for line, text, is_hint in texts(path):
                found = COMMAND.search(text)
                if found and not PROSE.search(text):
                    yield path.relative_to(ROOT), line, found[1]
                elif "--options" in sys.argv and is_hint and re.match(r"--[a-z]", text):
                    yield path.relative_to(ROOT), line, text


def run_texts():
    for folder in sorted((ROOT / "tests/cli").glob("*/*")):
        if not (folder / "advice_not_typed").exists():
            yield from (path.read_text(encoding="utf-8", errors="replace") for path in sorted(folder.glob("std*")))
    for path in [*sorted((ROOT / "tests/docs/stories").glob("*.txt")), *sorted((ROOT / "docs").rglob("*.md"))]:
        yield path.read_text(encoding="utf-8")


printed = "\n".join(run_texts())
commands = list(suggested())
left = [(path, line, text) for path, line, text in commands if not re.search(pattern_of(text), printed)]
for path, line, text in commands if "--list" in sys.argv else left:
    print(f"{path}:{line}: {text!r}")
print(f"{len(commands)} suggested commands, {len(commands) - len(left)} of them run by a test")
sys.exit(1 if left else 0)
