#!/usr/bin/env python3
"""Shares of a plan on "machines" that see one folder through mounts of their own: two mount namespaces, each with another
mount at the same path. What docs/CLUSTER.md says about inode numbers, birth times and late sight is shown here:

    bind        two mounts of one disk: inode numbers and birth times are those of the disk
    late        bindfs twice, with locks: no birth times; names, absent names and attributes are cached, as by NFS
    renumbered  sshfs twice, cached too: each machine has inode numbers of its own, and locks of its own

The output must have the bytes of a single run, always; where shares cannot see each other's work, the last job
(`--part 1/1`) must still make it.

usage: shared_disks.py CKPT TESTDATA     exits 77, saying "peer missing", without root, FUSE, bindfs and sshfs
"""
import hashlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "kill"))
import model

CKPT, TESTDATA = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
SFTP_SERVER = "/usr/lib/openssh/sftp-server"
CACHED_S = 4
LATE = f"entry_timeout={CACHED_S},negative_timeout={CACHED_S},attr_timeout={CACHED_S}"
SHARES = 4


def missing(why):
    print(f"peer missing: file systems in user space ({why})")
    sys.exit(77)


class Machine:
    """Sees `disk` at `path` through a mount of its own."""

    def __init__(self, kind, disk, path, scratch):
        self.path, self.mount, self.served = path, scratch, []
        scratch.mkdir()
        if kind == "bind":
            self.mount = disk
        elif kind == "late":
            self.serve(["bindfs", "-f", "--multithreaded", "--enable-lock-forwarding", "-o", LATE, disk, scratch])
        else:
            ours, theirs = socket.socketpair()
            self.serve([SFTP_SERVER, "-d", disk], stdin=theirs, stdout=theirs)
            self.serve(["sshfs", "-f", "-o", "passive,dir_cache=no," + LATE, f":{disk}", scratch], stdin=ours, stdout=ours)
            ours.close()
            theirs.close()

    def serve(self, words, **streams):
        self.served.append(subprocess.Popen([str(w) for w in words], stderr=subprocess.DEVNULL, **streams))

    def wait(self):
        end = time.monotonic() + 30
        while self.served and not os.path.ismount(self.mount):
            if time.monotonic() > end or self.served[-1].poll() is not None:
                missing(f"{self.served[-1].args[0]} does not mount here")
            time.sleep(0.05)

    def start(self, *words):
        script = 'mount --bind "$1" "$2" && cd "$2" && shift 2 && exec "$@"'
        return subprocess.Popen(["unshare", "-m", "sh", "-c", script, "sh", self.mount, self.path, CKPT, *map(str, words)],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, *words):
        process = self.start(*words)
        said = process.communicate(timeout=120)[0]
        return process.returncode, said

    def close(self):
        if self.served:
            subprocess.run(["umount", "-l", str(self.mount)], check=False)
        for process in self.served:
            process.terminate()
            process.wait()


def fail(kind, why, said):
    raise SystemExit(f"FAILED: {kind}: {why}\n" + "\n".join(f"--- {text}" for text in said))


def convert(kind, work, source, expected, disturb):
    disk, path = work / "disk", work / "models"
    for folder in (disk, path):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    shutil.copytree(source, disk / "m")
    machines = [Machine(kind, disk, path, work / f"{kind}-{disturb}-{i}") for i in range(2)]
    said = []
    try:
        for machine in machines:
            machine.wait()
        # The second machine looks before there is anything to see, so that it remembers that there is not.
        made = machines[0].run("convert", path / "m", path / "a.gguf", "--to", "q8_0", "--tokenizer-pre", "qwen2",
                               "--plan-out", path / "plan.json", "-q")
        said.append(f"plan: {made}")
        if made[0] != 0:
            fail(kind, "no plan", said)
        running = [(i, machines[i % 2].start("execute", path / "plan.json", "--part", f"{i + 1}/{SHARES}", "--threads", 1))
                   for i in range(SHARES)]
        for i, process in running:
            out = process.communicate(timeout=120)[0]
            said.append(f"share {i + 1}: {process.returncode}: {out}")
            if process.returncode != 0:
                fail(kind, "a share failed", said)
        done_by_shares = (disk / "a.gguf").exists()
        if kind != "bind":
            time.sleep(CACHED_S + 1)
        last = machines[1].run("execute", path / "plan.json", "--part", "1/1")
        said.append(f"last: {last}")
        if last[0] != 0 or not (disk / "a.gguf").exists():
            fail(kind, "the last job made no output", said)
        if hashlib.sha256((disk / "a.gguf").read_bytes()).hexdigest() != expected:
            fail(kind, "other bytes than a single run", said)
        left = sorted(p.name for p in disk.iterdir() if ".partial" in p.name)
        if left:
            fail(kind, f"leftovers: {left}", said)
        return done_by_shares, said
    finally:
        for machine in machines:
            machine.close()


def main():
    if os.geteuid() != 0:
        missing("mounting needs root here")
    for program in ("bindfs", "sshfs", "unshare", SFTP_SERVER, "/dev/fuse"):
        if shutil.which(program) is None and not os.path.exists(program):
            missing(f"{program} is missing; apt-get install bindfs sshfs openssh-sftp-server")
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        model.make(work / "m", TESTDATA, 4, 8192)
        subprocess.run([CKPT, "convert", work / "m", work / "single.gguf", "--to", "q8_0", "--tokenizer-pre", "qwen2", "-q"],
                       check=True, stdout=subprocess.DEVNULL)
        expected = hashlib.sha256((work / "single.gguf").read_bytes()).hexdigest()
        for kind in ("bind", "late", "renumbered"):
            by_shares = [convert(kind, work, work / "m", expected, turn)[0] for turn in range(5)]
            print(f"{kind}: same bytes 5 times; the shares alone completed the output {sum(by_shares)} times")


if __name__ == "__main__":
    main()
