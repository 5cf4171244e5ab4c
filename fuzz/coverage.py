#!/usr/bin/env python3
"""What part of the code the seeds and a corpus reach, by source file.

usage: coverage.py BUILD [CORPUS]     BUILD holds fuzz_TARGET, CORPUS a folder TARGET/ for each

Counted are edges, places where control can go two ways, as the sanitizers' instrumentation has
them (fuzz_TARGET -print_coverage). A function that several targets reach counts with the most
edges that one of them takes in it.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys

here = pathlib.Path(__file__).parent
root = here.parent
build = pathlib.Path(sys.argv[1])
corpora = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
LINE = re.compile(r"^(UN)?COVERED_FUNC: hits: \d+ edges: (\d+)/(\d+) (.*) (/\S+?):(\d+)")

functions = {}
for program in sorted(build.glob("fuzz_*")):
    target = program.name.removeprefix("fuzz_")
    folders = [here / "seeds" / target, root / "testdata" / "crashes" / target]
    if corpora:
        folders.append(corpora / target)
    run = subprocess.run([program, "-runs=0", "-print_coverage=1",
                          *[str(folder) for folder in folders if folder.is_dir()]],
                         capture_output=True, text=True, errors="replace",
                         env={**os.environ, "ASAN_OPTIONS": "symbolize=1"})
    for line in run.stderr.splitlines():
        found = LINE.match(line)
        if not found:
            continue
        file = os.path.normpath(found[5])
        if not file.startswith(str(root) + "/"):
            continue
        key = (os.path.relpath(file, root), found[4], found[6])
        edges = 0 if found[1] else int(found[2])
        functions[key] = max(functions.get(key, (0, 0)), (edges, int(found[3])))

files = collections.defaultdict(lambda: [0, 0])
for (file, _, _), (covered, total) in functions.items():
    for name in (file, file.split("/")[0] + "/"):
        files[name][0] += covered
        files[name][1] += total
for name, (covered, total) in sorted(files.items()):
    print(f"{covered:6} of {total:6}  {100 * covered / max(total, 1):5.1f} %  {name}")
