#!/usr/bin/env python3
"""Types every line of the documents, and of the examples in `ckpt help`, as a reader would, and compares what is printed.

usage: run_documents.py CKPT [DOCUMENT...]     exits 1 when a line does not do what its page says

Blocks fenced as `sh` or `bash` hold lines to type; all of a block (of a page in docs/guides: of all its blocks) are typed one
after the other in one folder, in which the names that they read exist (fixtures.py). Blocks fenced as `console` show lines after "$ " and what they print: "..." stands
for any lines, "*" for any characters. A line exits 0, or as its comment says ("exit 1"). What cannot run here is listed in
NOT_RUN, and so is what a page shows of it.

Each line that ckpt prints as a next step ("Next: ...") or to try is typed in turn (advice.py).
"""
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import advice
import fixtures

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LANGUAGES = {"sh", "bash", "console"}

# (document, line as a glob): why it is not run. Everything else is.
NOT_RUN = {
    ("README.md", "pip install *"): "needs a wheel; the CTest wheel makes and installs one",
    ("README.md", "install -m *"): "needs a static build; tests/packaging/static.py runs it",
    ("README.md", "sudo *"): "needs root; tests/packaging/deb.py installs it",
    ("README.md", "cmake/install_dependencies.sh *"): "builds the program; the CTest installed installs it",
    ("fuzz/README.md", "*"): "needs clang and a build of its own; replays run as crashes_*",
    ("docs/CLUSTER.md", "for i in *ssh*"): "needs four machines",
    ("docs/EXPORT.md", "python3 docs/collect_amax.py *"): "needs torch and transformers; the CTest maxima_in_transformers",
    ("docs/PYTHON.md", "pip install *"): "needs a wheel; the CTest wheel builds and installs one",
    ("docs/REMOTE.md", "ckpt *"): "needs servers; the CTest remote_sources reads from one of its own",
    ("docs/SEARCH.md", "python3 docs/collect_amax.py *"): "needs torch and transformers; the CTest maxima_in_transformers",
    ("docs/PUBLISHING.md", "model_signing *"): "needs model_signing from PyPI; the CTest model_signing_agrees",
    ("ckpt help completion", "ckpt completion zsh*"): "needs zsh's fpath",
    ("ckpt help patch", "ckpt patch model/"): "needs an interrupted patch; tests/kill makes some",
    ("docs/RESUME.md", "*"): "shows an interruption; tests/kill interrupts at any moment",
}


# Lines whose answer may be no: (document, line as a glob), and what is answered.
MAY_SAY_NO = {
    ("ckpt help doctor", "*"): "a folder that loads everywhere there is not",
}


class Block:
    def __init__(self, document, number, language, text):
        self.document, self.number, self.language, self.text = document, number, language, text

    @property
    def place(self):
        return f"{self.document}:{self.number}"


def blocks_of(document):
    lines = (ROOT / document).read_text(encoding="utf-8").split("\n")
    at = 0
    while at < len(lines):
        opened = re.match(r"( *)```(\w*)\s*$", lines[at])
        if not opened:
            at += 1
            continue
        end = next(i for i in range(at + 1, len(lines)) if lines[i].strip() == "```")
        text = "\n".join(line.removeprefix(opened[1]) for line in lines[at + 1:end])
        yield Block(document, at + 1, opened[2], text)
        at = end + 1


def documents():
    names = ["README.md", "SECURITY.md", "CONTRIBUTING.md", "bench/README.md", "fuzz/README.md", "tests/interop/README.md",
             "testdata/README.md", *(str(p.relative_to(ROOT)) for p in sorted((ROOT / "docs").rglob("*.md")))]
    return [name for name in names if (ROOT / name).exists()]


def typed_lines(text):
    """Lines as a shell takes them: those that end in a backslash go on, comments alone are left out."""
    held = ""
    for line in text.split("\n"):
        held += line
        if held.endswith("\\"):
            held = held[:-1] + " "
            continue
        if held.strip() and not held.lstrip().startswith("#"):
            yield held.strip()
        held = ""


def console_steps(text):
    """(line after "$ ", what is printed after it) of a console block."""
    steps = []
    for line in text.split("\n"):
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif steps:
            steps[-1][1].append(line)
    return [(line, "\n".join(shown).strip("\n")) for line, shown in steps]


def fits(pattern, text):
    """Whether `text` is as `pattern` shows it: a line "..." matches any lines, "*" any characters of a line. Times may differ."""
    pattern = re.sub(r" in [\d.]+ (?:ms|s) \([\d.]+ [kMG]?B/s\)", " in * (*)", pattern)
    parts = []
    for line in pattern.split("\n"):
        parts.append(r"(?:.*\n)*?" if line.strip() == "..." else ".*".join(re.escape(p) for p in line.rstrip().split("*")) + r"[ \t]*\n")
    return re.fullmatch("".join(parts), text.rstrip("\n") + "\n") is not None


def expected_exit(line):
    said = re.search(r"#.*\bexit (\d+)", line)
    return int(said[1]) if said else 0


def applies(table, document, line):
    return any(document == d and fnmatch.fnmatchcase(line, pattern) for d, pattern in table)


class Run:
    def __init__(self, ckpt):
        self.ckpt, self.environment, self.failures = ckpt, os.environ, []
        self.counts = {"blocks": 0, "lines": 0, "advice": 0, "not run": 0}

    def fail(self, place, line, why):
        self.failures.append(f"{place}: {line}\n    " + why.strip().replace("\n", "\n    "))

    def type_line(self, line, folder):
        done = subprocess.run(["bash", "-c", line], cwd=folder, env=fixtures.environment(self.ckpt, folder), timeout=120,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        self.counts["lines"] += 1
        return done.returncode, done.stdout

    def check_line(self, place, line, folder, shown=None):
        code, printed = self.type_line(line, folder)
        if code == 1 and applies(MAY_SAY_NO, place.split(":")[0], line):
            code = 0
        if code != expected_exit(line):
            self.fail(place, line, f"exit code {code}, expected {expected_exit(line)}:\n{printed}")
        if shown is not None and not fits(shown, printed.replace(f"{folder}/", "/")):
            self.fail(place, line, f"printed\n{printed}\nbut the page shows\n{shown}")
        for problem in advice.problems(self, line, printed, folder):
            self.fail(place, line, problem)

    def run_block(self, block, folder):
        self.counts["blocks"] += 1
        if block.language == "console":
            steps = console_steps(block.text)
        elif block.text.startswith("#!"):
            steps = [(block.text.split("\n", 1)[0], None)]
        else:
            steps = [(line, None) for line in typed_lines(block.text)]
        for line, shown in steps:
            if applies(NOT_RUN, block.document, line):
                self.counts["not run"] += 1
            else:
                self.check_line(block.place, line, folder, shown)

    def run_document(self, document):
        blocks = [block for block in blocks_of(document) if self.is_typed(block)]
        together = document.startswith("docs/guides/")   # a guide's steps follow each other
        for group in [blocks] if together else [[block] for block in blocks]:
            with tempfile.TemporaryDirectory() as folder:
                fixtures.make(self.ckpt, pathlib.Path(folder), "\n".join(block.text for block in group))
                for block in group:
                    self.run_block(block, folder)

    def is_typed(self, block):
        if block.language not in LANGUAGES and re.search(r"^(\$ )?ckpt ", block.text, re.M):
            self.fail(block.place, "```" + block.language, "lines to type, but the block is not marked sh, bash or console")
        return block.language in LANGUAGES

    def run_help(self):
        verbs = re.findall(r"^  (\w+) ", subprocess.run([self.ckpt, "--help"], capture_output=True, text=True).stdout, re.M)
        for verb in verbs:
            text = subprocess.run([self.ckpt, "help", verb], capture_output=True, text=True).stdout
            examples = re.search(r"^Examples:\n((?:  .*\n)+)", text, re.M)
            if not examples:
                self.fail(f"ckpt help {verb}", "", "no examples")
                continue
            for line in re.sub(r"(?: \\)?\n {3,}", " ", examples[1]).splitlines():
                typed = re.split(r"  {2,}", line.strip())[0]
                if applies(NOT_RUN, f"ckpt help {verb}", typed):
                    self.counts["not run"] += 1
                    continue
                with tempfile.TemporaryDirectory() as folder:
                    fixtures.make(self.ckpt, pathlib.Path(folder), typed)
                    self.check_line(f"ckpt help {verb}", typed, folder)


def main():
    run = Run(pathlib.Path(sys.argv[1]).resolve())
    wanted = sys.argv[2:]
    for document in documents():
        if not wanted or document in wanted:
            run.run_document(document)
    if not wanted or "help" in wanted:
        run.run_help()
    print("\n".join(run.failures))
    print(f"{run.counts['blocks']} blocks, {run.counts['lines']} lines typed, {run.counts['advice']} of them advice, "
          f"{run.counts['not run']} not run, {len(run.failures)} failed")
    sys.exit(1 if run.failures else 0)


if __name__ == "__main__":
    main()
