#!/usr/bin/env python3
"""Types the transcripts in stories/ again: what a person types the first time, and every line that is printed.

usage: run_stories.py CKPT [--accept] [NAME...]     --accept writes what was printed into the transcripts

A transcript is text: lines after "$ " are typed, one after the other, in one folder; what follows is printed, "*" standing for
any characters of a line. "[exit 1]" says that a line ended so. Lines that start with "#" tell the story. The names that are
read are made as in the documents (fixtures.py), and what ckpt advises is typed too (advice.py).
"""
import pathlib
import re
import sys
import tempfile

import advice
import fixtures
import run_documents

STORIES = pathlib.Path(__file__).resolve().parent / "stories"
# Output that differs between runs, machines and days.
CHANGING = [(r"\b[0-9a-f]{64}\b", "*"), (r" in [\d.]+ (ms|s|min)\b", " in *"), (r"\([\d.]+ [kMG]?B/s\)", "(*)"),
            (r"(?m)^(?:shifted|rewritten): ", "*: "),    # what the file system can do
            (r"[\d.]+ [kM]B from ", "* from ")]           # what this libzstd makes of it


def printed_and_code(run, line, folder):
    code, printed = run.type_line(line, folder)
    return printed.rstrip("\n") + (f"\n[exit {code}]" if code else "")


def with_globs(text):
    for pattern, glob in CHANGING:
        text = re.sub(pattern, glob, text)
    return text.lstrip("\n")


def steps(text):
    """[(words of the story and the line, what is printed)]"""
    out = []
    for line in text.rstrip("\n").split("\n"):
        if line.startswith("$ ") or line.startswith("#") and (not out or not out[-1][0][-1].startswith("#")):
            out.append(([line], []))
        elif line.startswith("#"):
            out[-1][0].append(line)
        else:
            out[-1][1].append(line)
    return out


def run_story(run, path, accept):
    text, written = path.read_text(encoding="utf-8"), []
    with tempfile.TemporaryDirectory() as folder:
        fixtures.make(run.ckpt, pathlib.Path(folder), "\n".join(re.findall(r"^\$ (.*)$", text, re.M)))
        for words, shown in steps(text):
            if not words[0].startswith("$ "):
                written.append("\n".join(words + shown))
                continue
            line = words[0][2:]
            printed = printed_and_code(run, line, folder)
            written.append("\n".join([words[0], with_globs(printed)]).rstrip("\n") + "\n")
            expected = "\n".join(shown).strip("\n")
            if not accept and not run_documents.fits(expected, printed):
                run.fail(path.name, line, f"printed\n{printed}\nbut the story shows\n{expected}")
            for problem in advice.problems(run, line, printed, folder):
                run.fail(path.name, line, problem)
    if accept:
        path.write_text("\n".join(written).rstrip("\n") + "\n", encoding="utf-8")


def main():
    run, accept = run_documents.Run(pathlib.Path(sys.argv[1]).resolve()), "--accept" in sys.argv
    names = [a for a in sys.argv[2:] if not a.startswith("--")]
    stories = [p for p in sorted(STORIES.glob("*.txt")) if not names or p.stem in names]
    for path in stories:
        run_story(run, path, accept)
    print("\n".join(run.failures))
    print(f"{len(stories)} stories, {run.counts['lines']} lines typed, {run.counts['advice']} of them advice, {len(run.failures)} failed")
    sys.exit(1 if run.failures or not stories else 0)


if __name__ == "__main__":
    main()
