#!/usr/bin/env python3
"""Holds `ckpt doctor`'s yes and no to what a real loader says of the same folders: good checkpoints, each changed in
one thing.

usage: doctor_mutations.py CKPT TESTDATA [FOLDER...] [options]
  FOLDER...        checkpoints of one model.safetensors; by default those that BASES makes of TESTDATA
  --for PROFILE    whose loader is asked (vllm-0.17)
  --table FILE     what the loader said, case by case (TESTDATA/doctor/PROFILE.tsv)
  --record         runs the loader again and writes the table; CKPT_VLLM_PYTHON names a Python with vllm, for the
                   profiles of transformers CKPT_TRANSFORMERS_PYTHON one with that. Exits 77, "peer missing",
                   without one
  --accept         writes what differs into the table's third column, asking no loader; cases that are not
                   made any more go
  --extend         the same, but asks only for cases that the table lacks
  --share S        of the changes of single fields and tensors, how many (0.1); of those made by hand thrice as many.
                   Of the bases by default SHARES says which part of them
  --only TEXT      cases whose name holds TEXT
  --jobs N         at a time (2)
  --limit SHARE    of false yes and of false no (0.01)
  --report FILE    writes the differences there too

A false yes: the loader refuses the folder, or leaves parameters unfilled, and the doctor says that it loads and is
sound. A false no: the loader takes it whole, and the doctor says that it does not load. Each must be 1 % at most, and
no difference of the three kinds may be there that the table does not name in its third column. At most 5 % are "not checked".
"""
import argparse
import collections
import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import tempfile

import mutations
from make_exports import convert, export, peer_missing

HERE = pathlib.Path(__file__).resolve().parent
# Name of a base, model in testdata, type of its export ("" for as it is).
BASES = (("llama", "llama-micro", ""), ("llama-fp8", "llama-micro", "fp8"), ("qwen3", "qwen3-micro", ""),
         ("qwen3-nvfp4", "qwen3-micro", "nvfp4"), ("qwen35", "qwen35-micro", ""),
         ("qwen35vl-nvfp4", "qwen35vl-micro", "nvfp4"), ("qwen35moe", "qwen35moe-micro", ""))
# Bases too, each with fewer changes.
FAMILIES = ("cohere2", "deepseek-v3", "ernie45-moe", "gemma3", "glm4-moe", "gpt-oss", "granite4-h", "llama4", "mistral3",
            "olmoe", "qwen3-next", "seed-oss", "smollm3")
SHARES = {**{name: 0.6 for name, _, _ in BASES}, **{name: 0.2 for name in FAMILIES}}
LIMITS = {"false yes": 0.01, "false no": 0.01, "not checked": 0.05}
# Which Python, named by an environment variable, and which script ask a profile's program.
LOADERS = {"vllm": ("CKPT_VLLM_PYTHON", "vllm_outcomes.py"),
           "transformers": ("CKPT_TRANSFORMERS_PYTHON", "transformers_outcomes.py")}
SERVED = "vllm-0.17"  # the bases are made for it


def make_bases(ckpt, testdata, work):
    out = []
    for name, model, to in BASES + tuple((name, f"families/{name}/hf", "") for name in FAMILIES):
        if to:
            made = export(ckpt, testdata, model, work, to, "--for", SERVED)
        else:
            made = work / f"{name}-plain"
            convert(ckpt, testdata / model, made, "--for", SERVED)
        out.append(made.rename(work / name))
    return out


# ---- the loader --------------------------------------------------------------------------------

class Loader:
    """A long-lived process that says what it makes of folders."""

    def __init__(self, python, script, warm):
        self.process = subprocess.Popen([python, str(HERE / script), str(warm)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for line in self.process.stdout:
            if line.startswith("ready "):
                self.version = line.split()[1]
                return
            if line.startswith("peer missing"):
                peer_missing(script, line.strip())
        sys.exit("the loader ended before it was ready")

    def outcome(self, folder, text_only, trust=False):
        asked = {"folder": str(folder), "text_only": text_only, "trust": trust}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        sys.exit(f"the loader ended at {folder}")


# ---- the doctor --------------------------------------------------------------------------------

def said_of(ckpt, folder, profile):
    """The objects that the doctor prints; a text where it ends otherwise."""
    done = subprocess.run([ckpt, "doctor", str(folder), "--for", profile, "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 1, 3):  # 3: something was not checked
        return f"exit {done.returncode}: {done.stderr.strip()[:80]}"
    return [json.loads(line) for line in done.stdout.splitlines()]


def must_trust(ckpt, folder, profile):
    """True when the command that the doctor prints has the program run the folder's own code."""
    objects = said_of(ckpt, folder, profile)
    commands = [] if isinstance(objects, str) else [entry["command"] for entry in objects if entry["type"] == "serve"]
    return any("--trust-remote-code" in command for command in commands)


def diagnosis(ckpt, folder, profile):
    """loads (None: not checked), sound, and the checks that said no."""
    objects = said_of(ckpt, folder, profile)
    if isinstance(objects, str):
        return False, False, [objects]
    (found,) = [entry for entry in objects if entry["type"] == "verdict"]
    reasons = sorted({entry["check"] for entry in objects
                      if entry["type"] == "check" and entry["severity"] in ("unloaded", "unsound")})
    is_open = found["loads"] and not found.get("weights_checked", True)
    return (None if is_open else found["loads"]), found["sound"], reasons


def judged(outcome, loads, sound):
    """"" where both agree, else the name of the difference."""
    if outcome == "cannot say":
        return ""
    if loads is None and outcome != "loads" and not sound:
        return ""  # told no for another reason
    if loads is None:
        return "not checked"
    if outcome == "loads":
        return "" if loads else "false no"
    if loads and (outcome == "refuses" or sound):
        return "false yes"
    return ""


# ---- the table ---------------------------------------------------------------------------------

Row = collections.namedtuple("Row", "outcome at known says")


def read_table(path):
    if not path.exists():
        return {}
    rows = [line.split("\t") for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return {name: Row(outcome, at, known, says) for outcome, at, known, name, says in rows}


def write_table(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    head = (f"# What the loader of {path.stem} said of each case of tests/interop/doctor_mutations.py.\n"
            "# outcome, stage, known difference, case, in the loader's words\n")
    lines = ["\t".join((row.outcome, row.at or "-", row.known or "-", name,
                        "-" if row.outcome == "loads" else row.says)) for name, row in sorted(rows.items())]
    path.write_text(head + "\n".join(lines) + "\n")


def in_few_words(text):
    text = re.sub(r"/\S*/|0x[0-9a-f]+", "", text).replace("\t", " ")
    return text[:70].strip()


# ---- the run -----------------------------------------------------------------------------------

class Run:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.known = read_table(options.table)
        self.loaders = queue.Queue()
        self.version = ""

    def start_loaders(self, warm):
        variable, script = LOADERS[self.options.profile.split("-")[0]]
        python = os.environ.get(variable)
        if not python:
            peer_missing(self.options.profile, f"{variable} names no Python")
        for _ in range(self.options.jobs):
            loader = Loader(python, script, warm)
            self.version = loader.version
            self.loaders.put(loader)

    def real_outcome(self, name, folder, text_only):
        row = self.known.get(name)
        if row and not self.options.record:
            return row.outcome, row.at, row.says
        if not self.options.record and not self.options.extend:
            raise LookupError(f"{name}: not in {self.options.table}; --extend it")
        loader = self.loaders.get()
        try:
            said = loader.outcome(folder, text_only)
        finally:
            self.loaders.put(loader)
        return said["outcome"], said["at"], in_few_words(said["says"])

    def case(self, base, name, apply):
        full = f"{base.path.name}/{name}"
        # transformers guesses a missing model_type from words in the path.
        folder = self.work / "cases" / hashlib.sha256(full.encode()).hexdigest()[:16]
        mutations.made(base, apply).write(folder)
        try:
            outcome, at, says = self.real_outcome(full, folder, base.is_text_only)
            loads, sound, reasons = diagnosis(self.options.ckpt, folder, self.options.profile)
        finally:
            shutil.rmtree(folder)
        return full, outcome, at, says, judged(outcome, loads, sound), reasons


def collected(run, folders):
    """Of the bases that the loader takes unchanged, the results of all cases; and of the others, what it says."""
    (run.work / "cases").mkdir()
    refused = []
    with concurrent.futures.ThreadPoolExecutor(run.options.jobs) as pool:

        def started(path):
            """The base's cases at work; none of a base that the loader does not take."""
            base = mutations.Folder(path)
            (name, apply), *changes = mutations.cases(base, run.options.share * SHARES.get(path.name, 1))
            _, outcome, at, says, *_ = run.case(base, name, apply)
            if outcome != "loads":
                refused.append(f"{path.name} is not a base: unchanged, the loader answers {outcome} ({at}: {says})")
                return []
            wanted = [case for case in [(name, apply), *changes] if run.options.only in f"{path.name}/{case[0]}"]
            return [pool.submit(run.case, base, *case) for case in wanted]

        waiting = [future for path in folders for future in started(path)]
        return [future.result() for future in waiting], refused


def summary(results, known, limits):
    """The report, and whether it is good."""
    lines, kinds = [], collections.defaultdict(list)
    for full, outcome, at, says, kind, reasons in results:
        if kind:
            kinds[kind].append((at, says, full, reasons))
    refused = sum(result[1] != "loads" for result in results)
    good = True
    for kind in ("false yes", "false no", "not checked"):
        found = sorted(kinds[kind])
        good = good and len(found) <= limits[kind] * len(results)
        lines.append(f"{kind}: {len(found)} of {len(results)}")
        for at, says, full, reasons in found:
            is_new = known.get(full, Row("", "", "-", "")).known != kind
            good = good and not is_new
            lines.append(f"  {'NEW ' if is_new else ''}{full}  [{' '.join(reasons)}] {at}: {says}")
    lines.append(f"{len(results)} cases, of which the loader takes {len(results) - refused} whole: "
                 + ", ".join(f"{len(kinds[kind])} {kind}" for kind in ("false yes", "false no", "not checked")))
    return lines, good


@contextlib.contextmanager
def numbered_folder():
    """For the time of a run; its name holds no word that transformers could take for a model_type."""
    path = pathlib.Path(tempfile.gettempdir()) / f"0-{os.getpid()}"
    path.mkdir()
    try:
        yield path
    finally:
        shutil.rmtree(path)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("ckpt")
    parser.add_argument("testdata", type=pathlib.Path)
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    parser.add_argument("--for", dest="profile", default=SERVED)
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--extend", action="store_true")
    parser.add_argument("--accept", action="store_true")
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=LIMITS["false yes"])
    parser.add_argument("--report", type=pathlib.Path)
    options = parser.parse_intermixed_args()
    options.table = options.table or options.testdata / "doctor" / f"{options.profile}.tsv"
    return options


def main():
    options = parse()
    with numbered_folder() as name:
        run = Run(options, pathlib.Path(name))
        folders = options.folders or make_bases(options.ckpt, options.testdata, run.work)
        if options.record or options.extend:
            run.start_loaders(folders[0])
        results, refused = collected(run, folders)
        limits = {**LIMITS, "false yes": options.limit, "false no": options.limit}
        lines, good = summary(results, run.known, limits)
        lines += refused
        if options.record or options.extend or options.accept:
            rows = dict(run.known) if options.only else {}
            rows.update({full: Row(outcome, at, kind, says) for full, outcome, at, says, kind, _ in results})
            write_table(options.table, rows)
    print("\n".join(lines))
    if options.report:
        options.report.write_text("\n".join(lines) + "\n")
    return 0 if good and not refused else 1


if __name__ == "__main__":
    sys.exit(main())
