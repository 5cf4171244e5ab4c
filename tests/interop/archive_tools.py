#!/usr/bin/env python3
"""GNU tar and zstd take the archives that ckpt publishes, and ckpt takes what they make.

usage: archive_tools.py CKPT TESTDATA
Exits 77, saying "peer missing", where tar or zstd is not installed.
"""
import io
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile

ckpt, testdata = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
failures = []
for tool in ("tar", "zstd"):
    if shutil.which(tool) is None:
        print(f"peer missing: {tool} is not installed")
        sys.exit(77)


def run(*words, stdin=None):
    return subprocess.run([str(word) for word in words], capture_output=True, input=stdin, cwd=work)


def check(what, holds, done=None):
    if not holds:
        failures.append(what)
        print(f"FAILED {what}" + (f": exit {done.returncode}\n{done.stdout[-800:]}{done.stderr[-800:]}" if done else ""))


def verify(what, wanted, *words):
    done = run(ckpt, "verify", *words, "--quiet")
    check(what, done.returncode == wanted, done)
    return done.stdout.decode() + done.stderr.decode()


def make_model():
    shutil.copytree(testdata / "qwen3-micro", model)
    for name in ("n" * 150, "d" * 120 + "/" + "e" * 90 + "/f", "grüße.txt", "a b'c", "sub/x", "sub-b", "x" * 240):
        (model / name).parent.mkdir(parents=True, exist_ok=True)
        (model / name).write_text(f"{len(name)}\n")
    with open(model / "large.bin", "wb") as out:
        out.write(os.urandom(5 << 20) + bytes(30 << 20))


def frames_of(data):
    """(compressed, uncompressed, checksum) by the seekable format's own words."""
    count, flags, magic = struct.unpack("<IBI", data[-9:])
    check("the seek table's footer", magic == 0x8F92EAB1 and flags == 0x80)
    size = 8 + 12 * count + 9
    check("the seek table's header", struct.unpack("<II", data[-size:][:8]) == (0x184D2A5E, size - 8))
    return [struct.unpack_from("<III", data, len(data) - size + 8 + 12 * i) for i in range(count)]


def ours():
    done = run(ckpt, "publish", "model", "--archive", "m.tar.zst")
    check("publishing", done.returncode == 0, done)
    done = run("zstd", "-t", "m.tar.zst")
    check("zstd -t", done.returncode == 0, done)
    plain = run("zstd", "-dc", "m.tar.zst").stdout
    data, at, tar = (work / "m.tar.zst").read_bytes(), 0, b""
    for compressed, size, checksum in frames_of(data):
        frame = data[at:at + compressed]
        alone = run("zstd", "-dc", stdin=frame).stdout
        check("a frame alone", len(alone) == size and frame[-4:] == struct.pack("<I", checksum))
        tar += alone
        at += compressed
    check("the frames are the tar", tar == plain)
    with tarfile.open(fileobj=io.BytesIO(plain)) as members:
        names = [m.name + "/" * m.isdir() for m in members]
        check("names in the order of their bytes", names == sorted(names, key=lambda n: n.encode()))
        for m in members.getmembers():
            about = (m.uid, m.gid, m.uname, m.gname, m.mtime, m.mode)
            check(f"{m.name}: {about}", about == (0, 0, "", "", 0, 0o755 if m.isdir() else 0o644))
    (work / "unpacked").mkdir()
    done = run("tar", "--zstd", "-xf", "m.tar.zst", "-C", "unpacked")
    check("tar --zstd -xf", done.returncode == 0 and not done.stderr, done)
    done = run("diff", "-r", "model", "unpacked")
    check("the same folder", done.returncode == 0, done)


def theirs():
    for form in ("gnu", "pax"):
        done = run("tar", f"--format={form}", "--zstd", "-cf", f"{form}.tar.zst", "-C", "model", ".")
        check(f"tar --format={form}", done.returncode == 0, done)
        shutil.rmtree(work / "out", ignore_errors=True)
        verify(f"ckpt takes {form}", 0, f"{form}.tar.zst", "--unpack", "out")
        done = run("diff", "-r", "model", "out")
        check(f"{form} unpacked", done.returncode == 0, done)
    plain = run("zstd", "-dc", "m.tar.zst").stdout
    for flags in (["-19", "--long=26"], ["-1", "--no-check"], ["-T2", "-B1MiB"], ["--fast=5"]):
        (work / "other.tar.zst").write_bytes(run("zstd", *flags, "-c", stdin=plain).stdout)
        verify(f"ckpt takes zstd {flags}", 0, "other.tar.zst")
    (work / "other.tar.zst").write_bytes(run("zstd", "--long=30", "-c", "--ultra", "-20", stdin=bytes(200 << 20)).stdout)
    check("a huge window is named", "window" in verify("a huge window", 2, "other.tar.zst"))


def hostile():
    def refused(what, word, *words):
        done = run("tar", "--zstd", "-cf", "bad.tar.zst", *words)
        check(f"tar for {what}", done.returncode == 0, done)
        said = verify(what, 2, "bad.tar.zst", "--unpack", "bad")
        check(f"{what} is named: {said}", word in said and said.count("\n") == 1)
        check(f"{what} leaves nothing", not (work / "bad").exists() and not (work / "bad.partial").exists())

    (work / "links").mkdir()
    (work / "links/target").write_text("t")
    os.symlink("/etc/passwd", work / "links/l")
    refused("a symbolic link", "'links/l': a symbolic link", "links/l")
    os.link(work / "links/target", work / "links/hard")
    refused("a hard link", "a hard link", "links/target", "links/hard")
    os.mkfifo(work / "links/pipe")
    refused("a pipe", "'links/pipe': a pipe", "links/pipe")
    refused("an absolute name", "an absolute name", "-P", work / "links/target")
    refused("a name with ..", "a '..' in its name", "-P", "links/../model/sub-b")
    refused("a name twice", "it comes twice", "--hard-dereference", "model/sub-b", "model/sub-b")
    with open(work / "links/holes", "wb") as out:
        out.truncate(1 << 30)
    refused("a sparse file", "a sparse file", "--sparse", "links/holes")
    refused("a sparse file in pax", "a sparse file", "--format=pax", "--sparse", "links/holes")


with tempfile.TemporaryDirectory() as folder:
    work = pathlib.Path(folder)
    model = work / "model"
    make_model()
    ours()
    theirs()
    hostile()
print("tar, zstd and ckpt agree" if not failures else f"{len(failures)} checks failed")
sys.exit(1 if failures else 0)
