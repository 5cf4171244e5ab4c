#!/usr/bin/env python3
"""`ckpt publish --to` with a real registry (distribution), oras and a real S3 server (versitygw).

usage: publish_peers.py CKPT TESTDATA
Programs come from PATH or ~/go/bin: go install github.com/distribution/distribution/v3/cmd/registry@v3.1.2,
oras.land/oras/cmd/oras@latest, github.com/versity/versitygw/cmd/versitygw@latest. Says "peer missing" and exits 77
without all three.
"""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

CKPT, TESTDATA = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
PLACES = os.environ["PATH"] + os.pathsep + os.path.expanduser("~/go/bin")
PROGRAMS = {name: shutil.which(name, path=PLACES) for name in ("registry", "oras", "versitygw")}
LARGE = (32 << 20) * 2 + 12345


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def started(words, port, log):
    process = subprocess.Popen(words, stdout=log, stderr=log, env={**os.environ, "OTEL_TRACES_EXPORTER": "none"})
    for _ in range(200):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return process
        time.sleep(0.05)
    process.kill()
    sys.exit(f"{words[0]} does not listen on {port}")


def publish(scratch, *words, **env):
    done = subprocess.run([CKPT, "publish", "out", *words], cwd=scratch, capture_output=True, text=True,
                          env={**os.environ, "HOME": str(scratch), **env})
    return done.returncode, done.stdout + done.stderr


def content(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def with_registry(scratch, log):
    port = free_port()
    (scratch / "config.yml").write_text(json.dumps({
        "version": 0.1, "log": {"level": "error"}, "http": {"addr": f"127.0.0.1:{port}", "secret": "local"},
        "storage": {"filesystem": {"rootdirectory": str(scratch / "registry")}}}))
    server, host = started([PROGRAMS["registry"], "serve", str(scratch / "config.yml")], port, log), f"127.0.0.1:{port}"
    try:
        code, said = publish(scratch, "--to", f"oci://{host}/org/name:v1")
        assert code == 0, said
        digest = said.split("/org/name:v1  ")[1].split()[0]
        code, said = publish(scratch, "--to", f"oci://{host}/org/name:v2")
        assert code == 0 and digest in said and " 0 files sent" in said, said
        subprocess.run([PROGRAMS["oras"], "pull", "--plain-http", f"{host}/org/name@{digest}", "-o", "pulled"], cwd=scratch,
                       check=True, stdout=log, stderr=log)
        assert content(scratch / "pulled") == content(scratch / "out")
    finally:
        server.terminate()
    print(f"registry and oras: {digest}")


def with_versitygw(scratch, log):
    port, bucket = free_port(), scratch / "s3/models"
    bucket.mkdir(parents=True)
    words = [PROGRAMS["versitygw"], "--access", "testkey", "--secret", "testsecret", "--port", f"127.0.0.1:{port}", "posix",
             str(bucket.parent)]
    server = started(words, port, log)
    env = {"AWS_ACCESS_KEY_ID": "testkey", "AWS_SECRET_ACCESS_KEY": "testsecret", "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}
    try:
        code, said = publish(scratch, "--to", "s3://models/rel v1/x", **env)
        assert code == 0, said
        assert content(bucket / "rel v1/x") == content(scratch / "out")
        code, said = publish(scratch, "--to", "s3://models/rel v1/x", **env)
        assert code == 0 and " 0 files sent" in said, said
        (scratch / "out/config.json").write_bytes((scratch / "out/config.json").read_bytes() + b" ")
        code, said = publish(scratch, "--to", "s3://models/rel v1/x", **env)
        assert code == 2 and "exists already and is another file" in said, said
        code, said = publish(scratch, "--to", "s3://models/rel v1/x", "--force", **env)
        assert code == 0 and content(bucket / "rel v1/x") == content(scratch / "out"), said
    finally:
        server.terminate()
    print("versitygw: objects equal the files")


def main():
    if missing := [name for name, path in PROGRAMS.items() if path is None]:
        print(f"peer missing: {', '.join(missing)}")
        return 77
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "log"), "w") as log:
        scratch = pathlib.Path(folder)
        shutil.copytree(TESTDATA / "qwen3-micro", scratch / "out")
        (scratch / "out/sub").mkdir()
        (scratch / "out/sub/a b+c=é.json").write_text("{}\n")
        (scratch / "out/large.bin").write_bytes(os.urandom(1 << 20) * (LARGE >> 20) + b"end")
        with_registry(scratch, log)
        with_versitygw(scratch, log)
    return 0


sys.exit(main())
