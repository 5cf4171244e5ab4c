#!/usr/bin/env python3
"""tests/remote/server.py and ckpt against real programs: huggingface_hub reads the server's hub and gets the files, so that the server cannot differ
where the client looks; versitygw serves the bucket that ckpt converts from.

usage: peers.py CKPT TESTDATA        exit code 77, saying "peer missing", where a peer is missing

CKPT_HUB_PYTHON names a Python that has huggingface_hub, CKPT_VERSITYGW the program; by default this Python and PATH are searched.
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

from server import Server

CKPT, TESTDATA = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
MODEL = TESTDATA / "qwen35-micro"
CLIENT = """
import sys
from huggingface_hub import HfApi, hf_hub_download, snapshot_download
folder = snapshot_download("org/model", revision="main")
assert folder.endswith(HfApi().model_info("org/model").sha), folder
hf_hub_download("org/model", "config.json", local_dir="one")
print(folder)
"""


def digests(folder):
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(pathlib.Path(folder).rglob("*")) if path.is_file() and ".cache" not in path.parts}


def hub_client(folder):
    python = os.environ.get("CKPT_HUB_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import huggingface_hub"], capture_output=True).returncode:
        return None
    server = Server(folder / "served", token="hf_secret", page=2)
    shutil.copytree(MODEL, server.root / "hub/org/model")
    environment = {**os.environ, **server.environment(), "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    done = subprocess.run([python, "-c", CLIENT], capture_output=True, text=True, timeout=120, env=environment, cwd=folder)
    assert done.returncode == 0, done.stderr
    got = digests(done.stdout.strip())
    assert got == digests(MODEL), got
    # The cache that the real client wrote serves ckpt: nothing comes from the CDN.
    server.log.clear()
    subprocess.run([CKPT, "convert", "-q", "hf://org/model", folder / "hub.gguf", "--to", "q8_0"], check=True, env=environment, stdout=subprocess.DEVNULL)
    assert not [line for line in server.log if line["at"] == "cdn"], server.log
    return (folder / "hub.gguf").read_bytes() == local(folder)


def local(folder):
    out = folder / "local.gguf"
    if not out.exists():
        shutil.copytree(MODEL, folder / "model")
        subprocess.run([CKPT, "convert", "-q", folder / "model", out, "--to", "q8_0"], check=True, stdout=subprocess.DEVNULL)
    return out.read_bytes()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def s3_gateway(folder):
    program = os.environ.get("CKPT_VERSITYGW") or shutil.which("versitygw")
    if program is None:
        return None
    key = "a b+c=(1)'!*@,:~/model"   # each character that signatures spell in their own way
    shutil.copytree(MODEL, folder / "buckets/bucket" / key)
    port = free_port()
    words = [program, "--access", "testkey", "--secret", "testsecret", "--port", f"127.0.0.1:{port}", "posix", folder / "buckets"]
    gateway = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        environment = {**os.environ, "AWS_ACCESS_KEY_ID": "testkey", "AWS_SECRET_ACCESS_KEY": "testsecret", "AWS_REGION": "us-east-1",
                       "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}
        subprocess.run([CKPT, "convert", "-q", f"s3://bucket/{key}", folder / "s3.gguf", "--to", "q8_0"], check=True, env=environment,
                       stdout=subprocess.DEVNULL)
        wrong = subprocess.run([CKPT, "show", f"s3://bucket/{key}"], capture_output=True, text=True,
                               env={**environment, "AWS_SECRET_ACCESS_KEY": "wrong"})
        assert wrong.returncode == 2 and "SignatureDoesNotMatch" in wrong.stderr, wrong.stderr
        return (folder / "s3.gguf").read_bytes() == local(folder)
    finally:
        gateway.terminate()
        gateway.wait()


missing = 0
with tempfile.TemporaryDirectory() as made:
    for test in (hub_client, s3_gateway):
        held = test(pathlib.Path(made))
        print(f"{test.__name__}: {'peer missing' if held is None else 'as expected' if held else 'DIFFERS'}")
        if held is False:
            sys.exit(1)
        missing += held is None
sys.exit(77 if missing else 0)
