#!/usr/bin/env python3
"""Runs the command lines of tests/tools once more and types what ckpt advises in them (advice.py), where it advised it.

usage: advice_of_tools.py CKPT [NAME...]      exits 1 when advice does not work

What the scripts print is compared by tests/tools/run.py; here $ckpt is noting_advice.sh, which runs the program, passes on
what it prints, and has this file try the advice in a copy of the folder that the script was in.
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
    "plan_of_a_large_mixture": "its folder is sparse, and a copy of it would not be",
    "progress_on_a_terminal": "it advises nothing, and its terminal is for the program, not for noting_advice.sh",
    "signals_end_every_command": "it advises nothing, and noting_advice.sh does not pass signals on",
}


class Run:
    def __init__(self, ckpt):
        self.ckpt, self.counts = ckpt, {"lines": 0, "advice": 0}


def try_advice(printed, words):
    """Tries what one call of $ckpt in a script advised, in that script's folder."""
    log, run = os.environ["ADVICE_LOG"], Run(os.environ["REAL_CKPT"])
    line = shlex.join(["ckpt", *words])
    text = "".join(pathlib.Path(printed + stream).read_text(errors="replace") for stream in (".out", ".err"))
    found = list(advice.problems(run, line, text, os.getcwd()))
    with open(log, "a") as out:
        out.write(json.dumps({"line": line, "advice": run.counts["advice"], "problems": found}) + "\n")


def run_script(script, ckpt):
    """(pieces of advice, [(line, problem)]) of a script."""
    with tempfile.TemporaryDirectory() as top:
        folder, log = pathlib.Path(top) / "w", pathlib.Path(top) / "log"
        folder.mkdir()
        log.touch()
        env = dict(os.environ, ckpt=str(HERE / "noting_advice.sh"), testdata=str(TOOLS.parent.parent / "testdata"),
                   REAL_CKPT=str(ckpt), ADVICE_LOG=str(log),
                   ADVICE_OF_TOOLS=str(HERE / "advice_of_tools.py"), LC_ALL="C.UTF-8", TZ="UTC")
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
    try_advice(sys.argv[1], sys.argv[2:]) if "ADVICE_LOG" in os.environ else main()
