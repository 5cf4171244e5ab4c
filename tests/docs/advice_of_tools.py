#!/usr/bin/env python3
"""Types what ckpt advises in the command lines of tests/cli (advice.py), where it advised it.

Called by noting_advice.sh, which is $ckpt of those scripts under `tests/cli/run.py --try-advice`: it runs the program,
passes on what it prints, and has this file try the advice in a copy of the folder that the script is in.
"""
import json
import os
import pathlib
import shlex
import sys

import advice


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


try_advice(sys.argv[1], sys.argv[2:])
