#!/usr/bin/env python3
"""`ckpt publish --to` with a real program at the other end: what was sent is what that program gives out.

usage: publish_peers.py CKPT TESTDATA PEER        PEER is one of PEERS below, with the programs that it needs
Programs come from PATH or ~/go/bin (or $GOBIN). With Go installed:
  go install github.com/distribution/distribution/v3/cmd/registry@v3.1.2   oras.land/oras/cmd/oras@latest
  go install github.com/versity/versitygw/cmd/versitygw@latest
containerd (with ctr; it needs root) comes from Debian, huggingface_hub from PyPI (CKPT_HUB_PYTHON names a Python
that has it). Says "peer missing" and exits 77 where a program is missing.
"""
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "remote"))
from stores import Hub

CKPT, TESTDATA = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
PLACES = os.pathsep.join([os.environ["PATH"], os.environ.get("GOBIN", ""), os.path.expanduser("~/go/bin")])
HUB_PYTHON = os.environ.get("CKPT_HUB_PYTHON", sys.executable)
LARGE = (32 << 20) * 2 + 12345


def program(name):
    return shutil.which(name, path=PLACES)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def served(words, where, scratch, **env):
    """A server that runs until the block ends; `where` is its port or its socket."""
    with open(scratch / "log", "a") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log, cwd=scratch, env={
            **os.environ, "HOME": str(scratch), "OTEL_TRACES_EXPORTER": "none", **env})
    try:
        for _ in range(600):
            with socket.socket() if isinstance(where, int) else socket.socket(socket.AF_UNIX) as s:
                if s.connect_ex(("127.0.0.1", where) if isinstance(where, int) else str(where)) == 0:
                    break
            time.sleep(0.05)
        else:
            sys.exit(f"{words[0]} does not listen on {where}: {(scratch / 'log').read_text()[-2000:]}")
        yield process
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def registry(scratch):
    port = free_port()
    (scratch / "config.yml").write_text(json.dumps({
        "version": 0.1, "log": {"level": "error"}, "http": {"addr": f"127.0.0.1:{port}", "secret": "local"},
        "storage": {"filesystem": {"rootdirectory": str(scratch / "registry")}}}))
    with served([program("registry"), "serve", str(scratch / "config.yml")], port, scratch):
        yield f"127.0.0.1:{port}"


def publish(scratch, *words, **env):
    done = subprocess.run([CKPT, "publish", "out", *words], cwd=scratch, capture_output=True, text=True,
                          env={**os.environ, "HOME": str(scratch), **env})
    return done.returncode, done.stdout + done.stderr


def published(scratch, *words, **env):
    code, said = publish(scratch, *words, **env)
    assert code == 0, said
    return said


def run(scratch, name, *words, **env):
    done = subprocess.run([program(name), *words], cwd=scratch, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, "HOME": str(scratch), **env})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def content(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def folder_of_names(scratch):
    shutil.copytree(TESTDATA / "qwen3-micro", scratch / "out")
    (scratch / "out/sub").mkdir()
    (scratch / "out/sub/a b+c=é.json").write_text("{}\n")
    (scratch / "out/large.bin").write_bytes(os.urandom(1 << 20) * (LARGE >> 20) + b"end")


def oras_pulls_the_files(scratch):
    folder_of_names(scratch)
    with registry(scratch) as host:
        digest = published(scratch, "--to", f"oci://{host}/org/name:v1").split("/org/name:v1  ")[1].split()[0]
        said = published(scratch, "--to", f"oci://{host}/org/name:v2")
        assert digest in said and " 0 files sent" in said, said
        run(scratch, "oras", "pull", "--plain-http", f"{host}/org/name@{digest}", "-o", "pulled")
        assert content(scratch / "pulled") == content(scratch / "out")


def registry_resumes_after_a_kill(scratch):
    """The registry keeps each upload in a file; the rerun resumes the upload that the kill left, and begins no other."""
    size = 256 << 20
    (scratch / "out").mkdir()
    (scratch / "out/large.bin").write_bytes(os.urandom(1 << 20) * (size >> 20))
    repository = scratch / "registry/docker/registry/v2/repositories/org/name"

    def uploads():
        return {p.parent.name: p.stat().st_size for p in repository.glob("_uploads/*/data")}
    with registry(scratch) as host:
        words = [CKPT, "publish", "out", "--to", f"oci://{host}/org/name:v1"]
        with subprocess.Popen(words, cwd=scratch, env={**os.environ, "HOME": str(scratch)}, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as killed:
            while max(uploads().values(), default=0) < 64 << 20:
                assert killed.poll() is None, "it ended before it could be killed"
                time.sleep(0.001)
            killed.kill()
        time.sleep(0.5)
        (left, kept), = ((name, size) for name, size in uploads().items() if size)
        assert 64 << 20 <= kept < size
        again = subprocess.Popen(words, cwd=scratch, env={**os.environ, "HOME": str(scratch)}, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
        most = {}
        while again.poll() is None:
            for name, there in uploads().items():
                most[name] = max(there, most.get(name, 0))
            time.sleep(0.001)
        assert again.returncode == 0, again.stdout.read()
        assert most.pop(left) > kept and max(most.values(), default=0) < 1 << 20, most
        run(scratch, "oras", "pull", "--plain-http", f"{host}/org/name:v1", "-o", "pulled")
        assert content(scratch / "pulled") == content(scratch / "out")


def containerd_mounts_the_files(scratch):
    folder_of_names(scratch)
    address = scratch / "c.sock"
    (scratch / "c.toml").write_text(f'version = 2\nroot = "{scratch}/root"\nstate = "{scratch}/state"\n'
                                    f'disabled_plugins = ["io.containerd.grpc.v1.cri"]\n[grpc]\naddress = "{address}"\n')
    with registry(scratch) as host, served([program("containerd"), "-c", str(scratch / "c.toml")], address, scratch):
        published(scratch, "--to", f"oci://{host}/org/name:v1", "--as", "image")
        words = ["-a", str(address)]
        run(scratch, "ctr", *words, "images", "pull", "--plain-http", "--snapshotter", "native", f"{host}/org/name:v1")
        (scratch / "mounted").mkdir()
        run(scratch, "ctr", *words, "images", "mount", "--snapshotter", "native", f"{host}/org/name:v1", str(scratch / "mounted"))
        try:
            assert content(scratch / "mounted/models") == content(scratch / "out")
        finally:
            run(scratch, "ctr", *words, "images", "unmount", str(scratch / "mounted"))


def versitygw_stores_the_files(scratch):
    folder_of_names(scratch)
    port, bucket = free_port(), scratch / "s3/models"
    bucket.mkdir(parents=True)
    words = [program("versitygw"), "--access", "testkey", "--secret", "testsecret", "--port", f"127.0.0.1:{port}", "posix",
             str(bucket.parent)]
    env = {"AWS_ACCESS_KEY_ID": "testkey", "AWS_SECRET_ACCESS_KEY": "testsecret", "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}
    with served(words, port, scratch):
        published(scratch, "--to", "s3://models/rel v1/x", **env)
        assert content(bucket / "rel v1/x") == content(scratch / "out")
        said = published(scratch, "--to", "s3://models/rel v1/x", **env)
        assert " 0 files sent" in said, said
        (scratch / "out/config.json").write_bytes((scratch / "out/config.json").read_bytes() + b" ")
        code, said = publish(scratch, "--to", "s3://models/rel v1/x", **env)
        assert code == 2 and "exists already and is another file" in said, said
        published(scratch, "--to", "s3://models/rel v1/x", "--force", **env)
        assert content(bucket / "rel v1/x") == content(scratch / "out")


def huggingface_hub_finds_nothing_left_to_send(scratch):
    """The real client and ckpt send the same folder to the hub of the other tests: who comes second finds every file there."""
    folder_of_names(scratch)
    client = "import sys\nfrom huggingface_hub import HfApi\nHfApi().upload_folder(repo_id='org/name', folder_path='out')"

    def upload(hub):
        done = subprocess.run([HUB_PYTHON, "-c", client], cwd=scratch, capture_output=True, text=True, timeout=300, env={
            **os.environ, "HOME": str(scratch), "HF_TOKEN": hub.token, "HF_ENDPOINT": hub.origin, "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1"})
        assert done.returncode == 0, done.stderr

    def send(hub):
        published(scratch, "--to", "hf://org/name", HF_TOKEN=hub.token, HF_ENDPOINT=hub.origin)
    published(scratch)   # with its sums: both send the same files
    for first, second in ((upload, send), (send, upload)):
        hub = Hub(part=1 << 24)
        first(hub)
        assert hub.files == content(scratch / "out") and hub.commits == 1
        sent = len(hub.cdn.log)
        second(hub)
        assert hub.files == content(scratch / "out") and len(hub.cdn.log) == sent and hub.commits == 1, hub.commits


PEERS = {
    "oras": (["registry", "oras"], oras_pulls_the_files),
    "registry": (["registry", "oras"], registry_resumes_after_a_kill),
    "containerd": (["registry", "containerd", "ctr"], containerd_mounts_the_files),
    "versitygw": (["versitygw"], versitygw_stores_the_files),
    "huggingface_hub": ([], huggingface_hub_finds_nothing_left_to_send),
}


def main():
    peer = sys.argv[3]
    programs, test = PEERS[peer]
    missing = [name for name in programs if program(name) is None]
    if peer == "huggingface_hub" and subprocess.run([HUB_PYTHON, "-c", "import huggingface_hub"], capture_output=True).returncode:
        missing = [peer]
    if peer == "containerd" and os.geteuid() != 0:
        missing = ["root"]
    if missing:
        print(f"peer missing: {', '.join(missing)}")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        test(pathlib.Path(folder))
    print(f"{peer}: as expected")
    return 0


sys.exit(main())
