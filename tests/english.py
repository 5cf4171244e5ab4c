#!/usr/bin/env python3
"""Holds documents, comments and messages to plain English, and documents to lines of at most 118 characters and to MOST_WORDS
in all, without the tables that scripts write.

usage: english.py ROOT             prints each breach as "file:line: words; say instead" and exits 1
       english.py --count ROOT     prints how many breaches each folder and document has
       english.py --planted ROOT   must see each breach in a text that contains it, and none in the others

PATTERNS lists wordings that read as translated and have no good use. LEFT counts the breaches that a
folder or document may have; one that is missing from the table has none. Fenced blocks are not
checked, because they show what programs print; table rows and lines without a space to break at may be longer.
"""
import collections
import pathlib
import re
import sys

LONGEST = 118
MOST_WORDS = 45_000
WRITTEN_BY_SCRIPTS = re.compile(  # tables of tests/docs/*_listed.py, by their first lines
    r"^(?:\| check \| rule \| |\| option \| has no effect where |\| keys, as the options |\| word \| ckpt \|).*\n(?:\|.*\n)*", re.M)
SUFFIXES = {".md", ".cc", ".h", ".py", ".sh"}
FOLDERS = ["bench", "checks", "core", "docs", "formats", "fuzz", "models", "packaging", "plan", "publish", "quantizers", "remote", "report",
           "tests", "tools", "transforms"]
PATTERNS = [  # wording, what to say instead
    (r"anew", "again, from scratch"),
    (r"(?:go|goes|going|went) on with|goes on", "resume, continue"),
    (r"looked at", "checked, read"),
    (r"(?:is|are|was|were) (?:said|told)", "is reported, declares"),
    (r"so (?:does|do|did|is|are) (?:one|those|that)", "name the thing, then the verb"),
    (r"(?:lie|lies) (?:in|at|beside|outside|within)", "is in"),
    (r"(?:stand|stands|stood) (?:in|at|beside|where|there|nowhere)", "is in"),
    (r"(?-i:[Bb]eside)(?![./\"=])", "next to, with, in addition"),
    (r"(?<!there )(?:is|are) no (?!longer|further|more|less|such|way)(?=\w)", "is not a, does not exist"),
    (r"errs|err(?= (?:less|more|least|alike))", "has an error"),
    (r"taken for", "treated as"),
    (r"as \w+ ha(?:s|ve) it", "as X defines it"),
    (r"dear", "slow"),
    (r"of yours", "your"),
    (r"half-written", "incomplete"),
    (r"mends|mended|mending", "fix"),
]
ODD = [(re.compile(rf"\b(?:{wording})\b", re.I), instead) for wording, instead in PATTERNS]
OPENS_WITH_WHAT = re.compile(r"^\s*(?://|#) What\b(?!.*\?)")
LEFT = {}


def texts_of(text, suffix):
    """(line number, text to check) of a file: prose of a document without code; comments and strings of a source."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if suffix == ".md":
            fenced ^= line.lstrip().startswith("```")
            if not fenced:
                yield number, re.sub(r"`[^`]*`", lambda code: "`" + "_" * (len(code[0]) - 2) + "`", line)
        elif suffix in {".cc", ".h"}:
            found = re.findall(r'"(?:\\.|[^"\\])*"|//.*', line)
            if found:
                yield number, " ".join(found)
        else:
            yield number, line


def breaches(name, text):
    suffix = pathlib.PurePath(name).suffix
    for number, line in texts_of(text, suffix):
        for pattern, instead in ODD:
            for found in pattern.finditer(line):
                yield f"{name}:{number}: '{found[0]}'; say: {instead}"
        if OPENS_WITH_WHAT.match(line):
            yield f"{name}:{number}: a comment begins with 'What'; say: what it does, or why"
        if suffix == ".md" and len(line) > LONGEST and not line.startswith(("|", "![")):
            yield f"{name}:{number}: {len(line)} characters; at most {LONGEST}"


def owner(name):
    """The entry of LEFT that a file counts for: a document itself, a source its folder."""
    return name if name.endswith(".md") else name.split("/")[0]


def tree(root):
    files = list(root.glob("*.md")) + [root / "testdata/README.md"]
    files += [path for folder in FOLDERS for path in (root / folder).rglob("*") if path.suffix in SUFFIXES]
    for path in sorted(files):
        if path.name != "english.py" and path.is_file():
            yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8", errors="replace")


FOUND = {  # a text, the name of its file, words of the breach
    ("The file is written anew.", "a.md"): "anew",
    ("// the ledger lies beside the output", "a.cc"): "next to",
    ('return fail("this is no GGUF file");', "a.cc"): "is not a",
    ("# The dtype is said in config.json", "a.sh"): "declares",
    ("// What the plan reads.", "a.h"): "begins with 'What'",
    ("word " * 30, "a.md"): "at most 118",
    ('"""Types are told."""', "a.py"): "is reported",
}
ALLOWED = {
    "a.md": "There are no tensors. It is no longer read. The field `mend`.\n```console\n$ ckpt verify x\nx: is no GGUF file\n```\n| " + "long " * 40 + "|",
    "a.cc": "int beside = anew(dear);  // next to the output\n// What is a block? See dtype.h.",
}


def planted():
    for (text, name), words in FOUND.items():
        if not any(words in breach for breach in breaches(name, text)):
            yield f"expected '{words}', found {list(breaches(name, text))}, in {text}"
    for name, text in ALLOWED.items():
        yield from breaches(name, text)
    if not list(too_many({"a.md": ["one"]}, {})) or list(too_many({"a.md": ["one"]}, {"a.md": 1})):
        yield "the table of older breaches is not compared"
    if not too_long(["one two", "three"], 2) or too_long(["one\n\n| word | ckpt |\n| --- | --- |\n| two | three |\n"], 1):
        yield "words of documents are not counted"


def too_long(pages, most=MOST_WORDS):
    count = sum(len(WRITTEN_BY_SCRIPTS.sub("", text).split()) for text in pages)
    return [f"documents: {count} words without the tables that scripts write; at most {most}"] * (count > most)


def too_many(found, left):
    for name, ones in sorted(found.items()):
        if len(ones) > left.get(name, 0):
            yield f"{name}: {len(ones)} breaches, at most {left.get(name, 0)} (LEFT in tests/english.py):\n  " + "\n  ".join(ones)


def main():
    found, pages = collections.defaultdict(list), []
    for name, text in tree(pathlib.Path(sys.argv[-1])):
        pages += [text] * name.endswith(".md")
        if ones := list(breaches(name, text)):
            found[owner(name)] += ones
    if sys.argv[1] == "--count":
        for name, ones in sorted(found.items()):
            print(f'    "{name}": {len(ones)},')
        return print(sum(map(len, found.values())))
    wrong = list(planted() if sys.argv[1] == "--planted" else [*too_many(found, LEFT), *too_long(pages)])
    print("\n".join(wrong) or "documents, comments and messages hold to plain English")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
