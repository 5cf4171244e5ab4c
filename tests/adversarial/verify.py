#!/usr/bin/env python3
"""ckpt verify cannot be talked round: folders and archives made to deceive it, each with the exit
code that it must end with (0 sound, 1 not, 2 no answer), and no laxer than the real model_signing
1.1.1, where that is installed (tests/interop/model_signing.py installs it): what it refuses, ckpt
refuses. An archive is put before it as Python's tarfile unpacks it.

usage: verify.py CKPT TESTDATA [PEER_FOLDER]     PEER_FOLDER/model_signing is the peer's environment
"""
import concurrent.futures
import io
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

sys.dont_write_bytecode = True  # nothing is left in the source folder
from crafted_archives import ARCHIVES
from crafted_folders import FOLDERS, KEYS_NAME

ckpt, testdata = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
peer_python = pathlib.Path(sys.argv[3]) / "model_signing/bin/python" if len(sys.argv) > 3 else None
key = testdata / "publish" / "p256.pub"
failures = []


def fails(name, why):
    failures.append(name)
    print(f"FAILED {name}: {why}")


def verify(work, words):
    # Whatever lies where the process happens to be says nothing about the artifact.
    elsewhere = work / "elsewhere"
    (elsewhere / ".cache").mkdir(parents=True, exist_ok=True)
    return subprocess.run([ckpt, "verify", *words], cwd=elsewhere, capture_output=True, timeout=120,
                          stdin=subprocess.DEVNULL)


def judge(name, case, done):
    said = (done.stdout + done.stderr).decode(errors="replace")
    if done.returncode != case.exit:
        fails(name, f"exit {done.returncode}, expected {case.exit}\n{said[-600:]}")
    elif case.says not in said:
        fails(name, f"does not say '{case.says}'\n{said[-600:]}")


def run_folder(root, number, name, case):
    work = root / f"folder{number}"
    model = work / "model"
    model.mkdir(parents=True)
    case.make(model)
    words = [model, *case.words] + ([] if case.sums_only else ["--public-key", key])
    judge(name, case, verify(work, words))
    return None if case.sums_only or not case.has_peer else (name, case, model, model / "model.sig")


def names_below(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder)
                  for at, _, names in os.walk(folder) for name in names)


def run_archive(root, number, name, case):
    work = root / f"archive{number}"
    work.mkdir()
    data = case.make()
    (work / "a.tar.zst").write_bytes(case.wrap(data))
    words = [work / "a.tar.zst"] + ([] if case.sums_only else ["--public-key", key])
    judge(name, case, verify(work, words))
    out = work / "out"
    judge(f"{name}, unpacked", case if case.unpacks is not None else case.unpacking_fails(),
          verify(work, words + ["--unpack", out]))
    wanted = sorted(case.unpacks) if case.unpacks is not None else []
    if names_below(out) != wanted:
        fails(name, f"unpacked {names_below(out)}, expected {wanted}")
    if names_below(work / "elsewhere") or sorted(os.listdir(work)) != sorted(
            ["a.tar.zst", "elsewhere"] + (["out"] if wanted else [])):
        fails(name, f"left {sorted(os.listdir(work))}")
    if case.sums_only:
        return None
    theirs = work / "theirs"
    theirs.mkdir()
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(theirs, filter="data")
    except Exception:  # noqa: BLE001: whatever is wrong with it, it is not passed
        theirs = None
    return name, case, theirs, theirs / "model.sig" if theirs else None


def ask_peer(asked):
    """Nothing that model_signing refuses may end with 0."""
    asked = [one for one in asked if one is not None]
    lines = "".join(f"{folder}\t{signature}\t{key}\n" for _, _, folder, signature in asked if folder)
    done = subprocess.run([peer_python, pathlib.Path(__file__).parent / "peer_verdicts.py"],
                          input=lines, capture_output=True, text=True, timeout=600)
    answers = done.stdout.splitlines()
    if len(answers) != lines.count("\n"):
        fails("model_signing", f"{len(answers)} answers to {lines.count(chr(10))} cases\n{done.stderr[-600:]}")
        return
    verdicts, passed = iter(answers), 0
    for name, case, folder, _ in asked:
        verdict = next(verdicts) if folder else "no: not unpacked"
        if case.exit == 0 and verdict != "yes":
            fails(name, f"model_signing says {verdict}, ckpt passes it")
        passed += verdict == "yes"
    print(f"model_signing was asked of {len(asked)} cases and passes {passed}")


with tempfile.TemporaryDirectory() as root:
    root = pathlib.Path(root)
    os.environ[KEYS_NAME] = str(testdata / "publish")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(run_folder, root, i, *one) for i, one in enumerate(FOLDERS.items())]
        runs += [pool.submit(run_archive, root, i, *one) for i, one in enumerate(ARCHIVES.items())]
        asked = [run.result() for run in runs]
    print(f"{len(FOLDERS)} folders and {len(ARCHIVES)} archives, {len(failures)} failures")
    if peer_python is not None and peer_python.exists():
        ask_peer(asked)
    else:
        print("peer missing: model_signing 1.1.1 is not installed; ckpt's own verdicts were checked")
sys.exit(1 if failures else 0)
