#!/usr/bin/env python3
"""A static binary, where nothing else is: in an empty root, and under kernels that lack what is newer than 4.18.

usage: static.py BINARY CKPT [FOLDER...]     BINARY is checked, CKPT a build that runs here, for the bytes that are expected;
                                             each FOLDER is the root of another system (debootstrap) to run it in

Of another processor's, qemu-user runs it. Exits 77 where no root can be changed (needs root or user namespaces).
"""
import ctypes
import errno
import hashlib
import os
import pathlib
import platform
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODEL = ROOT / "testdata/qwen35-micro"
MACHINES = {62: "x86_64", 183: "aarch64"}
# x86-64's numbers of calls that are newer, or that a file system or sandbox refuses.
CALLS = {"fallocate": 285, "renameat2": 316, "getrandom": 318, "copy_file_range": 326, "statx": 332, "rseq": 334,
         "clone3": 435, "openat2": 437, "faccessat2": 439}
RUNS = (["convert", "model", "a.gguf", "--to", "q4_k_m"], ["convert", "model", "w4a16", "--to", "nvfp4-w4a16"],
        ["convert", "a.gguf", "back", "--to", "bf16"], ["publish", "w4a16"], ["verify", "w4a16"],
        ["patch", "w4a16", "--step", "config:set=a=1"], ["publish", "w4a16", "--archive", "w.tar.zst"],
        ["verify", "w.tar.zst", "--unpack", "unpacked"], ["doctor", "model", "--for", "llama.cpp"])
PT_INTERP, PT_DYNAMIC, DT_NEEDED = 3, 2, 1


def segments(data):
    start, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    for i in range(count):
        yield struct.unpack_from("<IIQQQQ", data, start + i * size)


def check_alone(binary):
    data = binary.read_bytes()
    kinds = [one[0] for one in segments(data)]
    assert PT_INTERP not in kinds, "asks for a dynamic linker"
    for kind, _, offset, _, _, size in segments(data):
        tags = [struct.unpack_from("<Q", data, at)[0] for at in range(offset, offset + size, 16)] if kind == PT_DYNAMIC else []
        assert DT_NEEDED not in tags, "needs a library"
    for place in (str(ROOT).encode(), str(pathlib.Path.home()).encode() + b"/"):
        assert place not in data, f"holds a path of the machine that built it: {place}"
    return MACHINES[struct.unpack_from("<H", data, 18)[0]]


def refuse(numbers, error):
    """For a child: these calls fail with `error` from now on (seccomp)."""
    count = len(numbers)
    program = [(0x20, 0, 0, 0)] + [(0x15, count - i, 0, number) for i, number in enumerate(numbers)]
    program += [(0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x00050000 | error)]
    code = b"".join(struct.pack("<HBBI", *one) for one in program)
    held = ctypes.create_string_buffer(code)
    filter_ = struct.pack("<HxxxxxxQ", len(program), ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_char_p(filter_), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def digests(folder):
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "ckpt"}


def do_runs(folder, words_of, before=None):
    """All of RUNS in `folder`; gives the digests of everything that is there afterwards."""
    shutil.copytree(MODEL, folder / "model")
    for words in RUNS:
        done = subprocess.run(words_of(words), cwd=folder, preexec_fn=before, capture_output=True, text=True)
        assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
    return digests(folder)


def in_root(root, program):
    """Its words, in a root of its own whose /work is the folder that is current."""
    maps = [] if os.geteuid() == 0 else ["unshare", "--map-root-user"]
    return lambda words: [*maps, "chroot", str(root), *program, *words]


def check_root(root, binary, emulator, expected):
    """In a copy of nothing but the program, or in the system that is there."""
    place = root / "ckpt-run"
    place.mkdir()
    try:
        shutil.copy(binary, place / "ckpt")
        for tool in emulator:
            shutil.copy(tool, place / "emulator")
        program = [*(["/ckpt-run/emulator"] if emulator else []), "/ckpt-run/ckpt"]
        # chroot is at /: paths below place are typed with it
        shutil.copytree(MODEL, place / "model")
        for words in RUNS:
            typed = [f"/ckpt-run/{word}" if (place / word).exists() or word in OUTPUTS else word for word in words]
            done = subprocess.run(in_root(root, program)(typed), capture_output=True, text=True)
            assert done.returncode == 0, (root, words, done.returncode, done.stdout, done.stderr)
        found = {name: one for name, one in digests(place).items() if name != "emulator"}
        assert found == expected, {name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)}
    finally:
        shutil.rmtree(place)


OUTPUTS = {word for words in RUNS for word in words[1:] if word in ("a.gguf", "w4a16", "back", "w.tar.zst", "unpacked")}


def check_signing(binary, folder):
    """The system's OpenSSL may be configured for modules that this one cannot load, or without what it needs."""
    folder.mkdir()
    shutil.copytree(MODEL, folder / "model")
    (folder / "openssl.cnf").write_text("openssl_conf = a\n[a]\nproviders = b\n[b]\nlegacy = c\n[c]\n"
                                        "module = /nonexistent/legacy.so\nactivate = 1\n")
    key = ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "key.pem"]
    subprocess.run(key, cwd=folder, check=True, capture_output=True)
    env = dict(os.environ, OPENSSL_CONF=str(folder / "openssl.cnf"))
    done = subprocess.run([binary, "publish", "model", "--sign", "key.pem"], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr)


def can_change_root():
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(in_root("/", ["true"])([]), capture_output=True, cwd=folder)
    return done.returncode == 0


def main():
    binary, ckpt = (pathlib.Path(one).resolve() for one in sys.argv[1:3])
    machine = check_alone(binary)
    is_here = machine == platform.machine()
    emulator = [] if is_here else [shutil.which(f"qemu-{machine}-static")]
    if None in emulator or not can_change_root():
        print("peer missing: qemu-user-static, or leave to change the root")
        sys.exit(77)
    shown = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "expected").mkdir()
        expected = do_runs(folder / "expected", lambda words: [ckpt, *words])
        (folder / "empty").mkdir()
        for root in [folder / "empty", *(pathlib.Path(one) for one in sys.argv[3:])]:
            check_root(root, binary, emulator, expected)
            shown.append(root.name)
        for error in (errno.ENOSYS, errno.EPERM, errno.EOPNOTSUPP) if machine == "x86_64" and is_here else ():
            (folder / str(error)).mkdir()
            calls = [number for name, number in CALLS.items() if error == errno.ENOSYS or name in REFUSED[error]]
            found = do_runs(folder / str(error), lambda words: [binary, *words], lambda: refuse(calls, error))
            assert found == expected, error
            shown.append(os.strerror(error))
        if is_here:
            check_signing(binary, folder / "signing")
    print(f"{binary.name}: the bytes of {ckpt.name} in: {', '.join(shown)}")


# Errors of sandboxes for unknown calls, and of file systems for unsupported ones.
REFUSED = {errno.EPERM: {"openat2", "rseq"}, errno.EOPNOTSUPP: {"fallocate", "copy_file_range"}}

if __name__ == "__main__":
    main()
