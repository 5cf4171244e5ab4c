#!/usr/bin/env python3
"""Too little memory and too small a disk, at many sizes; demanded is what faults.py demands.

  memory   the address space of the process is limited, from what the program needs to start to plenty
  disk     a tmpfs (and an ext4 in a file, where one can be mounted) with room or names for a part of
           what a command writes; then the room is there and the same command must succeed

usage: limits.py memory|disk CKPT SHIM TESTDATA [--full]       exit code 77: no right to mount
"""
import argparse
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

from faults import Runner
from scenarios import all_scenarios, snapshot

MEMORY = ("convert_gguf", "convert_nvfp4", "patch_headers", "publish", "verify")
DISK = ("convert_gguf", "convert_shards", "patch_headers", "patch_growth", "patch_gguf", "doctor_fix", "publish")


def starts_with(binary, size):
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))
    return subprocess.run([binary, "--version"], preexec_fn=limit, capture_output=True).returncode == 0


def try_memory(runner, full):
    """(label, problem) for each size."""
    smallest = next(s for s in range(1 << 22, 1 << 30, 1 << 20) if starts_with(runner.binary, s))
    for i in range(40 if full else 10):
        size = smallest + int((1.35 ** i if full else 3.5 ** i) * (1 << 18))
        runner.start()
        runner.preexec = lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))
        code, text = runner.run()
        runner.preexec = None
        yield f"{size >> 20} MiB", runner.judge(code, text, "ENOMEM"), code


def mount(kind, folder, size, inodes):
    if shutil.which("mount") is None or (kind == "ext4" and shutil.which("mkfs.ext4") is None):
        return False
    if kind == "tmpfs":
        return subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},nr_inodes={inodes}", "tmpfs", folder],
                              capture_output=True).returncode == 0
    image = folder.with_suffix(".image")
    with open(image, "wb") as file:
        file.truncate(size + (8 << 20))
    return subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], capture_output=True).returncode == 0 and \
        subprocess.run(["mount", "-o", "loop", image, folder], capture_output=True).returncode == 0


def fill(path, left):
    """Writes a file until about `left` bytes are free."""
    def free():
        space = os.statvfs(path.parent)
        return space.f_bavail * space.f_bsize

    with open(path, "wb", buffering=0) as file:
        try:
            while free() > left:
                file.write(bytes(min(1 << 20, max(4096, free() - left))))
        except OSError:
            pass


def try_disk(runner, full, kind, base):
    disk = base / "disk"
    disk.mkdir(exist_ok=True)
    needed = sum(len(v) for v in {**runner.old, **runner.new}.values() if isinstance(v, bytes)) + (1 << 20)
    old_work = runner.work
    # The size of a disk's blocks decides where bytes go: what is right is found out on such a disk.
    if mount(kind, disk, 4 * needed, 100000):
        try:
            runner.work = disk / "work"
            runner.start()
            runner.run()
            runner.news.append(snapshot(runner.work))
        finally:
            subprocess.run(["umount", disk], check=True)
    points = [("room", i) for i in range(24 if full else 6)]
    if kind == "tmpfs":
        points += [("names", i) for i in range(14 if full else 4)]
    for what, i in points:
        names = len(runner.old) + 4 + i if what == "names" else 100000
        if not mount(kind, disk, 4 * needed, names):
            yield None, None, None
            return
        try:
            runner.work = disk / "work"
            runner.start()
            filler = disk / "filler"
            if what == "room":
                fill(filler, needed * i // (20 if full else 5))
                runner.before_again = lambda: filler.unlink(missing_ok=True)
            else:
                runner.before_again = lambda: subprocess.run(
                    ["mount", "-o", "remount,nr_inodes=100000", disk], check=True)
            code, text = runner.run()
            yield f"{kind} {what} {i}", runner.judge(code, text, "ENOSPC"), code
        finally:
            subprocess.run(["umount", disk], check=True)
    runner.work = old_work


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("limit", choices=["memory", "disk"])
    for name in ("binary", "shim", "testdata"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--full", action="store_true")
    args = parser.parse_args()
    binary, shim, testdata = args.binary.resolve(), args.shim.resolve(), args.testdata.resolve()
    total = failed = refused = mounted = 0
    for scenario in all_scenarios(testdata, binary):
        if scenario.name not in (MEMORY if args.limit == "memory" else DISK):
            continue
        with tempfile.TemporaryDirectory() as folder:
            base = pathlib.Path(folder).resolve()
            runner = Runner(binary, shim, scenario, base)
            runner.count()
            tries = [try_memory(runner, args.full)] if args.limit == "memory" else \
                [try_disk(runner, args.full, kind, base) for kind in ("tmpfs", "ext4")]
            for each in tries:
                for label, problem, code in each:
                    if label is None:
                        continue
                    total, refused, mounted = total + 1, refused + (code == 2), mounted + 1
                    if problem:
                        failed += 1
                        print(f"FAILED {scenario.name} {label}: {problem}", flush=True)
    if not mounted:
        print("SKIPPED: no small disk can be mounted here (that needs root); nothing was tested")
        return 77
    print(f"{args.limit}: {total} sizes, {refused} too small, {failed} failed")
    return 1 if failed or not refused else 0


if __name__ == "__main__":
    sys.exit(main())
