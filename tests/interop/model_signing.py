#!/usr/bin/env python3
"""The real model_signing 1.1.1 accepts what ckpt signs and ckpt accepts what it signs, with keys and
with certificates; both find every kind of tampering.

usage: model_signing.py CKPT TESTDATA FOLDER     FOLDER keeps the environment between runs
Exits 77, saying "peer missing", when it cannot be had.
"""
import pathlib
import shutil
import subprocess
import sys

ckpt, testdata, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
keys = testdata / "publish"
failures = []


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def peer():
    """The command model_signing, installed into FOLDER."""
    tool = work / "model_signing" / "bin" / "model_signing"
    here = pathlib.Path(__file__).resolve().parent
    if run(here / "python_packages.sh", work / "model_signing", here / "packages/model_signing.txt").returncode != 0:
        print("peer missing: model_signing 1.1.1 cannot be installed from PyPI")
        sys.exit(77)
    return tool


def check(what, wanted, done):
    """wanted: must it succeed?"""
    if (done.returncode == 0) != wanted:
        failures.append(what)
        print(f"FAILED {what}: exit {done.returncode}\n{done.stdout[-800:]}{done.stderr[-800:]}")


def fresh(name):
    folder = work / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(testdata / "qwen3-micro", folder)
    (folder / "sub").mkdir()
    (folder / "sub" / "notes.txt").write_text("kept\n")
    (folder / "sub-b.txt").write_text("a name that sorts between\n")
    (folder / ".gitattributes").write_text("* text\n")
    return folder


def ours(folder, method):
    if method == "key":
        return run(ckpt, "verify", folder, "--public-key", keys / "p384.pub", "--quiet")
    return run(ckpt, "verify", folder, "--ca", keys / "root.crt", "--quiet")


def theirs(folder, method):
    words = [tool, "verify", method, folder, "--signature", folder / "model.sig"]
    if method == "key":
        return run(*words, "--public_key", keys / "p384.pub")
    return run(*words, "--certificate_chain", keys / "root.crt")


def sign_ours(folder, method):
    chain = work / "chain.pem"
    chain.write_text((keys / "leaf.crt").read_text() + (keys / "issuer.crt").read_text())
    words = [ckpt, "publish", folder, "--quiet"]
    if method == "key":
        return run(*words, "--sign", keys / "p384.pem")
    return run(*words, "--sign", keys / "leaf.pem", "--certificate", chain)


def sign_theirs(folder, method):
    words = [tool, "sign", method, folder, "--signature", folder / "model.sig"]
    if method == "key":
        return run(*words, "--private_key", keys / "p384.pem")
    return run(*words, "--private_key", keys / "leaf.pem", "--signing_certificate", keys / "leaf.crt",
               "--certificate_chain", keys / "issuer.crt")


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def other_signature(folder):
    other = fresh("other")
    (other / "config.json").write_text("{}")
    sign_ours(other, "key")
    shutil.copy(other / "model.sig", folder / "model.sig")


TAMPERINGS = {
    "a byte of the weights": lambda f: flip(f / "model.safetensors"),
    "a byte in a subfolder": lambda f: flip(f / "sub/notes.txt"),
    "a name": lambda f: (f / "config.json").rename(f / "Config.json"),
    "an added file": lambda f: (f / "extra.txt").write_text("x"),
    "an added hidden file": lambda f: (f / ".hidden").write_text("x"),
    "a missing file": lambda f: (f / "tokenizer.json").unlink(),
    "a link for a file": lambda f: ((f / "config.json").rename(work / "elsewhere.json"),
                                    (f / "config.json").symlink_to(work / "elsewhere.json")),
    "another folder's signature": other_signature,
    "a byte of the signature": lambda f: flip(f / "model.sig"),
}

tool = peer()
for method in ("key", "certificate"):
    for signer in (sign_ours, sign_theirs):
        name = f"{signer.__name__} {method}"
        folder = fresh("model")
        check(f"{name}: signing", True, signer(folder, method))
        check(f"{name}: ckpt verifies", True, ours(folder, method))
        check(f"{name}: model_signing verifies", True, theirs(folder, method))
        for what, tamper in TAMPERINGS.items():
            folder = fresh("model")
            signer(folder, method)
            if signer is sign_ours and what == "a byte of the weights":
                (folder / "SHA256SUMS").touch()
            tamper(folder)
            check(f"{name}: ckpt notices {what}", False, ours(folder, method))
            check(f"{name}: model_signing notices {what}", False, theirs(folder, method))
folder = fresh("model")
sign_ours(folder, "key")
check("another key, ckpt", False, run(ckpt, "verify", folder, "--public-key", keys / "p256.pub"))
check("another key, model_signing", False,
      run(tool, "verify", "key", folder, "--signature", folder / "model.sig", "--public_key", keys / "p256.pub"))
check("another authority, ckpt", False, run(ckpt, "verify", folder, "--ca", keys / "stranger.crt"))
check("sha256sum -c", True, subprocess.run(["sha256sum", "-c", "--strict", "SHA256SUMS"], cwd=folder,
                                           capture_output=True, text=True))
print("model_signing and ckpt agree" if not failures else f"{len(failures)} checks failed")
sys.exit(1 if failures else 0)
