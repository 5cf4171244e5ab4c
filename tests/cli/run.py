#!/usr/bin/env python3
"""Runs the command lines of this folder and compares what a person would see.

COMMAND/NAME/cmd is run by sh in a fresh folder, with $ckpt (the binary) and $testdata; Python finds what is in
tests/support. Tests of several commands are in all/. Next to it:
  exit          the exit code, when it is not 0
  stdout.exact  all of stdout      stdout.glob  the same with * for any run of characters
  stderr.exact  all of stderr      stderr.glob  the same
  bytes             is there if the test also runs where only what reads and computes bytes is sanitized
  advice_not_typed  why --try-advice types nothing
  advice_apart      why it types in a second run, which would not print the same
  on_disk           why CTest gives it a folder on disk; others have one in memory, where there is room
Without a file stdout and stderr must be empty. The folder's path is shown as DIR, testdata's
as TESTDATA, what is free on the disk as N.

usage: run.py CKPT [--accept] [--try-advice] [COMMAND[.NAME] | NAME ...]
  --accept       rewrites .exact files and .exit, and writes what is missing: .stdout.exact, .stderr.glob
  --try-advice   also types what ckpt advises in a script, where it advises it (docs/advice_of_tools.py)
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
TESTDATA = HERE.parent.parent / "testdata"
DOCS = HERE.parent / "docs"
SUPPORT = HERE.parent / "support"
sys.path.insert(0, str(DOCS))
import advice_of_tools

TIME = re.compile(r"\bin [\d.]+ \w+ \([\d.]+ \w+/s\)")


def name_of(script):
    return f"{script.parent.parent.name}.{script.parent.name}"


def glob_fits(pattern, text):
    # fnmatch gives [ a meaning that error messages do not mean
    return re.fullmatch(".*".join(re.escape(p) for p in pattern.split("*")), text, re.S) is not None


def without_room(text):
    """What is free on this disk."""
    return re.sub(r'"free_bytes":\d+', '"free_bytes":N', re.sub(r"(: needs .+, )\S+ \S+ are free", r"\1N are free", text))


def run(script, binary, tries_advice):
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as noted:
        env = dict(os.environ, ckpt=str(binary), testdata=str(TESTDATA), LC_ALL="C.UTF-8", TZ="UTC",
                   PYTHONPATH=str(SUPPORT), PYTHONDONTWRITEBYTECODE="1")
        env.pop("NO_COLOR", None)
        typed = lambda: subprocess.run(["sh", "-u", str(script)], cwd=folder, env=env, timeout=900,
                                       stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        problems = []
        if tries_advice:
            with advice_of_tools.Listener(binary, pathlib.Path(noted)) as listener:
                env.update(listener.variables, ckpt=str(binary.parent / "tests" / "noting_advice"))
                done = typed()
            problems = listener.problems
        else:
            done = typed()
        hide = lambda text: without_room(text.replace(str(TESTDATA), "TESTDATA").replace(folder, "DIR"))
        return done.returncode, hide(done.stdout), hide(done.stderr), problems


def check(script, binary, accept, tries_advice):
    tries_advice = tries_advice and not (script.parent / "advice_not_typed").exists()
    apart = (script.parent / "advice_apart").exists()
    code, out, err, problems = run(script, binary, tries_advice and not apart)
    if tries_advice and apart:
        problems = run(script, binary, True)[3]
    exit_file = script.parent / "exit"
    wanted = int(exit_file.read_text()) if exit_file.exists() else 0
    if accept and code != wanted:
        exit_file.write_text(f"{code}\n")
    elif code != wanted:
        problems.append(f"exit code {code}, expected {wanted}")
    for name, text in (("stdout", out), ("stderr", err)):
        exact, glob = script.parent / f"{name}.exact", script.parent / f"{name}.glob"
        if accept and exact.exists():
            exact.write_text(text)
        if exact.exists() and exact.read_text() != text:
            problems.append(f"{name} is not as in {exact.name}:\n--- expected\n{exact.read_text()}--- found\n{text}")
        if glob.exists() and not glob_fits(glob.read_text(), text):
            problems.append(f"{name} is not like {glob.name}:\n--- expected\n{glob.read_text()}--- found\n{text}")
    if out and not any((script.parent / f"stdout.{kind}").exists() for kind in ("exact", "glob")):
        if accept:
            (script.parent / "stdout.exact").write_text(out)
        else:
            problems.append("stdout is not empty, and nothing says what it must be")
    if err and not any((script.parent / f"stderr.{kind}").exists() for kind in ("exact", "glob")):
        if accept:
            (script.parent / "stderr.glob").write_text(TIME.sub("in *", err))
        else:
            problems.append("stderr is not empty")
    if problems:
        print(f"FAILED {name_of(script)}\n" + "\n".join(problems) + f"\n--- all of stderr\n{err}")
    return not problems


binary = pathlib.Path(sys.argv[1]).resolve()
accept, tries_advice = "--accept" in sys.argv, "--try-advice" in sys.argv
names = [a for a in sys.argv[2:] if not a.startswith("--")]
scripts = sorted(s for s in HERE.glob("*/*/cmd")
                 if not names or {name_of(s), s.parent.name, s.parent.parent.name} & set(names))
job = lambda script: check(script, binary, accept, tries_advice)
if len(scripts) == 1:
    fits = [job(scripts[0])]
else:
    import concurrent.futures  # half of the start of a run of one
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        fits = list(pool.map(job, scripts))
failed = [name_of(script) for script, fit in zip(scripts, fits) if not fit]
print(f"{len(scripts) - len(failed)} passed, {len(failed)} failed" + "".join(f"\n  {n}" for n in failed))
sys.exit(1 if failed or not scripts else 0)
