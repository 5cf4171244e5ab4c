#!/usr/bin/env python3
"""Runs the command lines of tests/tools once more and types what ckpt advises in them (advice.py), where it advised it.

usage: advice_of_tools.py CKPT [NAME...]      exits 1 when advice does not work

What the scripts print is compared by tests/tools/run.py; here $ckpt is this file, which runs the program, passes on what it
prints, and tries the advice in a copy of the folder that the script was in.
"""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import advice

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = HERE.parent / "tools"

# Scripts whose advice is not typed, and why.
NOT_TRIED = {
    "hostile_names_are_escaped": "its folders hold names and nothing that could be fixed",
    "many_of_everything": "its folders hold numbers of things and nothing that could be fixed",
    "patch_interrupted": "the journal of a patch is bound to its folder, so that a copy is refused",
}


class Run:
    def __init__(self, ckpt):
        self.ckpt, self.counts = ckpt, {"lines": 0, "advice": 0}


def as_ckpt():
    """One call of $ckpt in a script."""
    real, log = os.environ["REAL_CKPT"], os.environ["ADVICE_LOG"]
    done = subprocess.run([real, *sys.argv[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    sys.stdout.buffer.write(done.stdout)
    sys.stdout.flush()
    sys.stderr.buffer.write(done.stderr)
    run = Run(real)
    line = shlex.join(["ckpt", *sys.argv[1:]])
    printed = (done.stdout + done.stderr).decode(errors="replace")
    found = list(advice.problems(run, line, printed, os.getcwd()))
    with open(log, "a") as out:
        out.write(json.dumps({"line": line, "advice": run.counts["advice"], "problems": found}) + "\n")
    sys.exit(done.returncode if done.returncode >= 0 else 128 - done.returncode)


def run_script(script, ckpt):
    """(pieces of advice, [(line, problem)]) of a script."""
    with tempfile.TemporaryDirectory() as top:
        folder, log = pathlib.Path(top) / "w", pathlib.Path(top) / "log"
        folder.mkdir()
        log.touch()
        env = dict(os.environ, ckpt=str(pathlib.Path(__file__).resolve()), testdata=str(TOOLS.parent.parent / "testdata"),
                   REAL_CKPT=str(ckpt), ADVICE_LOG=str(log), LC_ALL="C.UTF-8", TZ="UTC")
        subprocess.run(["sh", "-u", str(script)], cwd=folder, env=env, timeout=600, stdin=subprocess.DEVNULL, capture_output=True)
        calls = [json.loads(line) for line in log.read_text().splitlines()]
    return sum(c["advice"] for c in calls), [(c["line"], p) for c in calls for p in c["problems"]]


def main():
    ckpt = pathlib.Path(sys.argv[1]).resolve()
    names, tried, failed = sys.argv[2:], 0, 0
    scripts = [s for s in sorted(TOOLS.glob("*.sh")) if s.stem not in NOT_TRIED and (not names or s.stem in names)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda script: run_script(script, ckpt), scripts))
    for script, (count, problems) in zip(scripts, results):
        tried += count
        failed += len(problems)
        for line, problem in problems:
            print(f"{script.stem}: {line}\n    {problem}", flush=True)
    print(f"{tried} pieces of advice, {failed} do not work")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    as_ckpt() if "ADVICE_LOG" in os.environ else main()
