#!/usr/bin/env python3
"""Runs the job file that `ckpt plan split --print slurm` prints under a real Slurm with four nodes on this machine, started
here: an array of four shares, of which one is requeued, one is killed (kill -9), one gets SIGTERM as before the end of
its time, and the job that depends on them. The output must have the bytes of a single run. An array that is canceled
stays canceled.

usage: slurm.py CKPT TESTDATA     exits 77, saying "peer missing", without root, slurm-wlm and munge
"""
import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "kill"))
import model

CKPT, TESTDATA = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
SHARES = 4
LIMIT_S = 300
# A place that a shell and sbatch must quote.
FOLDER = "models of $HOME's"
WORDS = ["--to", "q4_k_m", "--tokenizer-pre", "qwen2"]


def missing(why):
    print(f"peer missing: Slurm ({why})")
    sys.exit(77)


def run(*words, **more):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, **more).stdout


# ---- a cluster ----

CONFIGURATION = """\
ClusterName=local
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SlurmdParameters=config_overrides
NodeName=n[1-{shares}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=1 RealMemory=4000
PartitionName=all Nodes=n[1-{shares}] Default=NO MaxTime=INFINITE State=UP
"""


class Cluster:
    """munged, slurmctld and four slurmd, all with files in `folder`; close() ends them by their pids."""

    def __init__(self, folder):
        self.folder, self.processes = folder, []
        for name in ("state", *(f"spool/n{i}" for i in range(1, SHARES + 1))):
            (folder / name).mkdir(parents=True)
        host, port = run("hostname", "-s").strip(), 20000 + os.getpid() % 9000
        (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        (folder / "slurm.conf").write_text(CONFIGURATION.format(host=host, folder=folder, port=port, shares=SHARES,
                                                                first=port + 1, last=port + SHARES))
        self.environment = dict(os.environ, SLURM_CONF=str(folder / "slurm.conf"),
                                PATH=f"{folder / 'bin'}:{os.environ['PATH']}")
        for name in [name for name in self.environment if re.match("SLURM_(?!CONF$)|SBATCH_", name)]:
            del self.environment[name]
        (folder / "bin").mkdir()
        (folder / "bin/ckpt").symlink_to(CKPT)

    def start(self):
        (self.folder / "munge.key").write_bytes(os.urandom(1024))
        (self.folder / "munge.key").chmod(0o400)
        self.daemon("munged", "--foreground", "--force", f"--key-file={self.folder}/munge.key",
                    f"--socket={self.folder}/munge.socket", f"--pid-file={self.folder}/munged.pid",
                    f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/munged.seed")
        self.wait_for("munged", lambda: (self.folder / "munge.socket").exists())
        self.daemon("slurmctld", "-D")
        for i in range(1, SHARES + 1):
            self.daemon("slurmd", "-D", "-N", f"n{i}")
        self.wait_for("idle nodes", lambda: self.ask("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split() ==
                      [f"n{i}" for i in range(1, SHARES + 1)])

    # A step closes every descriptor up to the limit, one by one.
    def daemon(self, *words):
        self.processes.append(subprocess.Popen(["sh", "-c", 'ulimit -n 1024; exec "$@"', "sh", *words], env=self.environment,
                                               cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def ask(self, *words):
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    def wait_for(self, what, is_so):
        end = time.monotonic() + LIMIT_S
        while not is_so():
            if time.monotonic() > end:
                logs = "".join(f"--- {path.name}\n{path.read_text(errors='replace')[-2000:]}\n"
                               for path in sorted(self.folder.glob("*.log")))
                raise SystemExit(f"FAILED: waited {LIMIT_S} s for {what}\n{self.ask('squeue', '-r', '-t', 'all')}\n{logs}")
            time.sleep(0.1)

    def close(self):
        self.ask("scancel", "--user=root", "--full")
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


# ---- jobs ----

def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def pid_of(part):
    """The ckpt that works on a share, by its command line; None: it does not run."""
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if len(words) > 4 and words[1] == b"execute" and FOLDER.encode() in words[2] and words[4] == f"{part}/{SHARES}".encode():
            return int(entry.parent.name)
    return None


def resume(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # Slurm may have killed it
            os.kill(pid, signal.SIGCONT)


class Conversion:
    def __init__(self, cluster, folder):
        self.cluster, self.folder = cluster, folder
        (folder / "plan.json").unlink(missing_ok=True)
        run(CKPT, "convert", "m", "a.gguf", *WORDS, "--plan-out", "plan.json", "--quiet", cwd=folder)
        (folder / "ckpt.sbatch").write_text(run(CKPT, "plan", "split", "plan.json", "--parts", SHARES, "--print", "slurm",
                                                "--threads", 1, "--memory", "64M", cwd=folder))

    def submit(self):
        """(array, job that finishes), with every share running and its ledger begun, and stopped there."""
        said = run("bash", "ckpt.sbatch", "--partition=all", cwd=self.folder, env=self.cluster.environment)
        array, last = re.findall(r"Submitted batch job (\d+)", said)
        pids = {}

        def all_have_begun():
            for part in set(range(1, SHARES + 1)) - set(pids):
                pid = pid_of(part)
                ledger = self.folder / f"a.gguf.partial.ledger-{part}-of-{SHARES}"
                if pid and ledger.exists() and b"\nwrote" in ledger.read_bytes():
                    os.kill(pid, signal.SIGSTOP)
                    pids[part] = pid
            return len(pids) == SHARES

        self.cluster.wait_for("four shares in mid-run", all_have_begun)
        return array, last, pids

    def states(self, job):
        return self.cluster.ask("squeue", "-h", "-r", "-t", "all", "-o", "%T", "-j", job).split()

    def log(self):
        return "".join(path.read_text() for path in sorted(self.folder.glob("slurm-*.out")))


def disturbed(cluster, folder, expected):
    conversion = Conversion(cluster, folder)
    array, last, pids = conversion.submit()
    os.kill(pids[1], signal.SIGKILL)
    cluster.ask("scontrol", "requeue", f"{array}_2")
    cluster.ask("scancel", "--signal=TERM", "--batch", f"{array}_3")
    resume(pids.values())
    cluster.wait_for("the last job", lambda: conversion.states(last) == ["COMPLETED"])
    log = conversion.log()
    if conversion.states(array) != ["COMPLETED"] * SHARES:
        raise SystemExit(f"FAILED: {conversion.states(array)}\n{log}")
    if digest(folder / "a.gguf") != expected or list(folder.glob("*.partial*")):
        raise SystemExit(f"FAILED: another output, or leftovers: {sorted(p.name for p in folder.iterdir())}\n{log}")
    resumed = sum("resuming" in path.read_text() for path in folder.glob(f"slurm-{array}_*.out"))
    if resumed < 3 or log.count("the output is complete already") < 1:
        raise SystemExit(f"FAILED: {resumed} shares resumed, or the last job found an incomplete output\n{log}")
    print(f"a share requeued, one killed, one ended by SIGTERM: {resumed} resumed, same bytes as a single run")


def canceled(cluster, folder):
    (folder / "a.gguf").unlink()
    conversion = Conversion(cluster, folder)
    array, last, pids = conversion.submit()
    cluster.ask("scancel", array)
    resume(pids.values())
    cluster.wait_for("the canceled array", lambda: set(conversion.states(array)) == {"CANCELLED"})
    cluster.wait_for("the job that depends on it", lambda: conversion.states(last) == ["CANCELLED"])
    if (folder / "a.gguf").exists() or not (folder / "a.gguf.partial").exists():
        raise SystemExit("FAILED: a canceled array finished its output")
    print("a canceled array stays canceled")


def main():
    if os.geteuid() != 0:
        missing("its daemons need root here")
    for program in ("slurmctld", "slurmd", "sbatch", "munged"):
        if shutil.which(program) is None:
            missing(f"{program} is not installed; apt-get install slurm-wlm munge")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / FOLDER
        folder.mkdir()
        model.make(folder / "m", TESTDATA, 6, 32768)
        run(CKPT, "convert", "m", "single.gguf", *WORDS, "--quiet", cwd=folder)
        # Slurm replaces % in the names of files of its own, and its own files are in a plain folder.
        cluster_folder = pathlib.Path(name) / "slurm"
        cluster_folder.mkdir()
        cluster = Cluster(cluster_folder)
        try:
            cluster.start()
            disturbed(cluster, folder, digest(folder / "single.gguf"))
            canceled(cluster, folder)
        finally:
            cluster.close()


if __name__ == "__main__":
    main()
