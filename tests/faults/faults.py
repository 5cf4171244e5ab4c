#!/usr/bin/env python3
"""Every call of a command fails once, and every moment of it is its last.

For each scenario (scenarios.py) the calls on its files are counted; then it runs again for each kind
of call and each n, with the n-th call failing (fault_counting.h). Demanded each time:
  exit 0 with the right result, or exit 2 with exactly one sentence that names a file;
  never a signal, never a wait without end;
  files that belong together all old or all new, inputs as they were, nothing else left behind but
  temporaries; after a kill or a failure the same command leads to the right result.

usage: faults.py CKPT SHIM TESTDATA [--full] [--only NAME,...] [--kinds KIND,...]
                 [--random-kills N]
       --random-kills: also SIGKILL after N random times
       --full: every scenario and every n (150 of the many allocations); without it a sample
"""
import argparse
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from random import Random

from scenarios import all_scenarios, is_left, snapshot

KINDS = ("open read write fsync close rename mkdir unlink fallocate truncate mode owner link copy lock "
         "stat list xattr new malloc thread any change").split()
# Possible outcomes of each kind of call.
ERRORS = {
    "open": ["EIO", "ENOSPC", "EINTR", "EACCES", "EMFILE"], "read": ["EIO", "EINTR", "SHORT"],
    "write": ["EIO", "ENOSPC", "EINTR", "SHORT"], "fsync": ["EIO", "ENOSPC", "EINTR"],
    "close": ["EIO", "EINTR"], "rename": ["EIO", "ENOSPC"], "mkdir": ["EIO", "ENOSPC"],
    "unlink": ["EIO", "EACCES"], "fallocate": ["EIO", "ENOSPC", "EINTR", "EOPNOTSUPP"],
    "truncate": ["EIO", "EINTR"], "mode": ["EPERM"], "owner": ["EPERM"], "link": ["EIO"],
    "copy": ["EIO", "ENOSPC", "EINTR", "EOPNOTSUPP", "SHORT"], "lock": ["EIO", "EINTR"],
    "stat": ["EIO", "EACCES"], "list": ["EIO"], "xattr": ["ENOSPC", "EOPNOTSUPP"],
    "thread": ["EAGAIN"],
}
# After these the work must go on as if nothing had been.
HARMLESS = {("read", "EINTR"), ("read", "SHORT"), ("write", "EINTR"), ("write", "SHORT"), ("fsync", "EINTR"),
            ("copy", "SHORT"), ("mode", "EPERM"), ("owner", "EPERM"), ("close", "EINTR"),
            ("fallocate", "EINTR"), ("thread", "EAGAIN"), ("fallocate", "EOPNOTSUPP"), ("xattr", "ENOSPC"), ("xattr", "EOPNOTSUPP")}
# Exit codes of those that end the process. -15: before it listens.
ENDS = {"KILL": (-9,), "TORN": (-9,), "TERM": (130, -15)}
SENTENCE = re.compile(r"ckpt: (?!note:).+")


class Runner:
    def __init__(self, binary, shim, scenario, base):
        self.binary, self.shim, self.scenario = binary, shim, scenario
        self.prepared, self.work = base / "prepared", base / "work"
        self.counts = base / "counts"
        self.before_again = lambda: None
        self.preexec = None
        self.prepared.mkdir()
        scenario.prepare(self.prepared)
        self.old = snapshot(self.prepared)

    def start(self):
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.prepared, self.work, symlinks=True)
        if self.scenario.begin:
            self.scenario.begin(self.work)

    def run(self, fault=None):
        """Exit code (negative: a signal, None: it did not end) and stderr."""
        env = dict(os.environ, LC_ALL="C")
        if fault is not None:
            env.update(LD_PRELOAD=str(self.shim), CKPT_FAULT_ROOT=str(self.work), CKPT_FAULT_COUNTS=str(self.counts))
        if fault:
            env["CKPT_FAULT"] = fault
        try:
            done = subprocess.run([self.binary, *self.scenario.argv, "--quiet", "--threads", "1"], cwd=self.work,
                                  env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                                  preexec_fn=self.preexec)
        except subprocess.TimeoutExpired:
            return None, ""
        return done.returncode, done.stderr.decode(errors="replace")

    def run_and_kill(self, seconds):
        """SIGKILL after a time, wherever it is by then, with all threads."""
        process = subprocess.Popen([self.binary, *self.scenario.argv, "--quiet"], cwd=self.work,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        text = process.communicate()[1]
        return process.returncode, text.decode(errors="replace")

    def count(self):
        self.start()
        code, text = self.run("")
        if code != 0:
            raise SystemExit(f"{self.scenario.name}: exit {code} without any fault: {text}")
        # A file system that cannot insert room makes other, equally right files: the second column.
        counts = struct.unpack(f"{len(KINDS)}Q", self.counts.read_bytes())
        self.news = [snapshot(self.work)]
        self.start()
        if self.run("fallocate:1:EOPNOTSUPP")[0] == 0 and self.scenario.argv[0] != "convert":
            self.news.append(snapshot(self.work))
        self.new = self.news[0]
        left = [name for name in self.new if is_left(name)]
        if left:
            raise SystemExit(f"{self.scenario.name}: left behind without any fault: {left}")
        return dict(zip(KINDS, counts))

    # ---- judging ----

    def same(self, name, a, b):
        if name in self.scenario.ignored:  # differs from run to run: there or not there
            return (a is None) == (b is None)
        return a == b

    def states(self, found):
        """For each group: 'old', 'new', 'both' (where nothing changes) or what is wrong; and strays."""
        groups, problems = {}, []
        for name in sorted(set(found) | set(self.old) | set(self.new)):
            if is_left(name):
                continue
            group = self.scenario.group_of(name)
            old = self.same(name, found.get(name), self.old.get(name))
            new = any(self.same(name, found.get(name), one.get(name)) for one in self.news)
            if group is None:
                if not old:
                    problems.append(f"{name} is not what it was")
                continue
            was_old, was_new, odd = groups.get(group, (True, True, None))
            groups[group] = (was_old and old, was_new and new, odd or (None if old or new else name))
        return groups, problems

    def judge(self, code, text, what, kind=""):
        harmless = (kind, what) in HARMLESS
        killed = what in ENDS and code in ENDS[what]
        if code is None:
            return "it did not end"
        if not killed and code not in (0, 2):
            return f"exit {code}: {text[:300]}"
        if harmless and code != 0:
            return f"exit {code} where the work should have gone on: {text[:300]}"
        if not killed and code == 2:
            said = text.rstrip("\n").split("\n")
            if len(said) != 1 or not SENTENCE.fullmatch(said[0]):
                return f"not one sentence: {text[:500]!r}"
            if what != "ENOMEM" and not self.names_a_file(said[0]):
                return f"names no file: {said[0]!r}"
            if "another ckpt" in said[0]:
                return f"names another run, and there is none: {said[0]!r}"
        if code == 0 and text:
            return f"exit 0, but said: {text[:300]!r}"
        unfinished = any(self.work.rglob("*.ckpt-patch/journal")) or any(self.work.rglob(".ckpt-patch/journal"))
        groups, problems = self.states(snapshot(self.work))
        if problems:
            return "; ".join(problems)
        for number, (old, new, odd) in groups.items():
            if code == 0 and not new:
                return f"exit 0, but not the right result: {self.scenario.groups[number]}, {odd}"
            if not old and not new and not unfinished:
                return f"half done: {self.scenario.groups[number]}, {odd}"
        if code == 0 and self.scenario.check and not self.scenario.check(self.work):
            return "exit 0, but the result does not verify"
        return None if code == 0 or self.scenario.reads_only else self.judge_again(groups, kind, what)

    def names_a_file(self, sentence):
        if str(self.work) in sentence or sentence.startswith("ckpt: .: "):  # the folder one is in
            return True
        if re.search(r"[ /]\.ckpt-\S+\.partial\b", sentence):
            return True
        names = {name.split("/")[0] for name in [*self.old, *self.new]} | set(self.scenario.argv) | {"SHA256SUMS"}
        words = "|".join(re.escape(name) for name in sorted(names))
        return re.search(rf"(^|[ ./'\"])({words})([/:.,' ]|$)", sentence) is not None

    def judge_again(self, groups, kind, what):
        if all(new for _, new, _ in groups.values()) and self.scenario.refuses_done:
            return None  # all is there: the command would refuse to replace it
        self.before_again()
        code, text = self.run()
        found = snapshot(self.work)
        groups, problems = self.states(found)
        left = [name for name in found if is_left(name)]
        wrong = [self.scenario.groups[n] for n, (_, new, _) in groups.items() if not new]
        # A step that was done already may find nothing to do.
        done_before = code == 2 and self.scenario.name.startswith("patch_") and not wrong
        if what in ("EIO", "EACCES") and kind == "stat":
            left = []  # a folder treated as a file: its temporaries have other names
        if problems or wrong or left or (code != 0 and not done_before):
            return f"again: exit {code}, wrong {wrong}, left {left}, {problems}: {text[:300]}"
        if self.scenario.check and not self.scenario.check(self.work):
            return "again: the result does not verify"
        return None


# Run without --full; between them they meet every kind of call.
QUICK = ("convert_gguf", "convert_shards", "execute_share", "execute_lone_share", "imatrix_merge", "patch_headers", "patch_gguf", "publish", "verify")


def chosen(total, full, share, salt=""):
    """`share` numbers from 1 to `total`, spread evenly; another offset for each salt. All, when full."""
    if full or total <= share:
        return list(range(1, total + 1))
    offset = zlib.crc32(salt.encode()) % 997 / 997
    return sorted({int((i + offset) * total / share) + 1 for i in range(share)})


def points(counts, full, reads_only, kinds):
    """(kind, n, error), in words of the shim."""
    for kind, errors in ERRORS.items():
        if kinds and kind not in kinds:
            continue
        for error in errors:
            for n in chosen(counts[kind], full, 1, kind + error):
                yield kind, str(n), error
    if counts["thread"] and (not kinds or "thread" in kinds):
        yield "thread", "1+", "EAGAIN"  # none at all
    if not kinds or "any" in kinds:
        for n in chosen(counts["any"], full, 3):  # the disk goes away and stays away
            yield "any", f"{n}+", "EIO"
    if not kinds or "open" in kinds:
        for n in chosen(counts["open"], full, 4, "no descriptors"):  # none is left from there on
            yield "open", f"{n}+", "EMFILE"
    if not reads_only and (not kinds or "change" in kinds):
        for what, share in (("KILL", 4), ("TORN", 4), ("TERM", 8)):
            for n in chosen(counts["change"], full, share, what):
                yield "change", str(n), what
    for kind in ("new", "malloc"):
        if not kinds or kind in kinds:
            for n in chosen(counts[kind], False, 150 if full else 2, kind):
                yield kind, str(n), "ENOMEM"


def kill_at_random(runner, count):
    """Problems of `count` runs that were killed at times between the start and the usual end."""
    runner.start()
    began = time.time()
    runner.run_and_kill(60)
    usual = time.time() - began
    random = Random(runner.scenario.name)  # the same times in every run, as far as clocks go
    killed = 0
    while killed < count:
        runner.start()
        seconds = usual * random.random()
        code, text = runner.run_and_kill(seconds)
        killed += code == -9
        problem = runner.judge(code, text, "KILL")
        if problem:
            yield f"killed after {seconds:.4f} s: {problem}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("shim", type=pathlib.Path)
    parser.add_argument("testdata", type=pathlib.Path)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--kinds", default="")
    parser.add_argument("--random-kills", type=int, default=0)
    args = parser.parse_args()
    binary, shim, testdata = args.binary.resolve(), args.shim.resolve(), args.testdata.resolve()
    only, kinds = args.only.split(",") if args.only else [], args.kinds.split(",") if args.kinds else []
    failed = total = 0
    for scenario in all_scenarios(testdata, binary):
        if scenario.name not in (only or QUICK) and (only or not args.full):
            continue
        with tempfile.TemporaryDirectory() as base:
            runner = Runner(binary, shim, scenario, pathlib.Path(base).resolve())
            counts = runner.count()
            began, kills, faults, bad = time.time(), 0, 0, 0
            for kind, n, what in points(counts, args.full, scenario.reads_only, kinds):
                runner.start()
                code, text = runner.run(f"{kind}:{n}:{what}")
                killed = what in ENDS and code in ENDS[what]
                problem = runner.judge(code, text, what, kind)
                kills, faults = kills + killed, faults + (not killed)
                if problem:
                    bad += 1
                    print(f"FAILED {scenario.name} {kind}:{n}:{what}: {problem}", flush=True)
            if args.random_kills and not scenario.reads_only:
                for problem in kill_at_random(runner, args.random_kills):
                    bad += 1
                    print(f"FAILED {scenario.name} {problem}", flush=True)
                kills += args.random_kills
            shown = " ".join(f"{k}={v}" for k, v in counts.items() if v)
            print(f"{scenario.name}: {faults} faults, {kills} kills, {bad} failed, {time.time() - began:.0f} s"
                  f" (calls: {shown})", flush=True)
            failed, total = failed + bad, total + kills + faults
    print(f"{total} points, {failed} failed")
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
