#!/usr/bin/env python3
"""`ckpt publish --to` with a real program at the other end: what was sent is what that program gives out.

usage: publish_peers.py CKPT TESTDATA PEER [TEST...]     PEER is one of PEERS below, with the programs that it needs
get_peers.sh brings the programs and prints how to name them here; they come from PATH or ~/go/bin (or $GOBIN). CKPT_HUB_PYTHON names a Python
that has huggingface_hub. Says "peer missing" and exits 77 where a program is missing; containerd needs root.
"""
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "remote"))
from server import Server
from stores import BASIC, PASSWORD, USER, Hub

CKPT, TESTDATA = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
PLACES = os.pathsep.join([os.environ["PATH"], os.environ.get("GOBIN", ""), os.path.expanduser("~/go/bin")])
HUB_PYTHON = os.environ.get("CKPT_HUB_PYTHON", sys.executable)
BCRYPT = "$2b$04$W/b93Y4kRu9GBe/M/z282.fyjJ6EJvcwlHUVfvJNCkXYTgcpmlJHa"   # of PASSWORD
PART = 32 << 20   # above it, ckpt sends a file in parts or chunks
LARGE = PART * 2 + 12345


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
def registry(scratch, **more):
    port = free_port()
    (scratch / "config.yml").write_text(json.dumps({
        "version": 0.1, "log": {"level": "error"}, "http": {"addr": f"127.0.0.1:{port}", "secret": "local"},
        "storage": {"filesystem": {"rootdirectory": str(scratch / "registry")}}, **more}))
    with served([program("registry"), "serve", str(scratch / "config.yml")], port, scratch):
        yield f"127.0.0.1:{port}"


def environment(scratch, **env):
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "HF_", "DOCKER_", "XDG_", "REGISTRY_"))}
    return {**plain, "HOME": str(scratch), **env}


def publish(scratch, *words, folder="out", **env):
    done = subprocess.run([CKPT, "publish", folder, *words], cwd=scratch, capture_output=True, text=True,
                          env=environment(scratch, **env))
    return done.returncode, done.stdout + done.stderr


@contextlib.contextmanager
def publishing(scratch, *words, **env):
    """`ckpt publish out` at a pace at which a test can act in the middle; killed (SIGKILL) if it runs as the block ends."""
    words = [CKPT, "publish", "out", *words, "--limit-rate", "64M"]
    with subprocess.Popen(words, cwd=scratch, env=environment(scratch, **env), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(process, is_so):
    while not is_so():
        assert process.poll() is None, f"it ended before it could be interrupted: {process.stdout.read()}"
        time.sleep(0.002)


def settled(state):
    """What `state` gives once it no longer changes: a server may still write what it has received."""
    last = None
    while last != (last := state()):
        time.sleep(0.5)
    return last


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
    write_large(scratch / "out/large.bin", LARGE)


def write_large(path, size):
    """No two parts of it are equal."""
    block = os.urandom(1 << 20)
    with open(path, "wb") as file:
        for at in range(0, size, len(block)):
            file.write((at.to_bytes(8, "big") + block[8:])[:size - at])


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def oras_pulls_the_files(scratch):
    folder_of_names(scratch)
    with registry(scratch) as host:
        digest = published(scratch, "--to", f"oci://{host}/org/name:v1").split("/org/name:v1  ")[1].split()[0]
        said = published(scratch, "--to", f"oci://{host}/org/name:v2")
        assert digest in said and " 0 files sent" in said, said
        run(scratch, "oras", "pull", "--plain-http", f"{host}/org/name@{digest}", "-o", "pulled")
        assert content(scratch / "pulled") == content(scratch / "out")


def status_of(url, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD", headers=headers)) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def registry_resumes_after_a_kill(scratch):
    """The registry keeps each upload in a file; the rerun resumes the upload that the kill left, and begins no other."""
    size = 256 << 20
    (scratch / "out").mkdir()
    write_large(scratch / "out/large.bin", size)
    repository = scratch / "registry/docker/registry/v2/repositories/org/name"

    def uploads():
        found = {}
        for path in repository.glob("_uploads/*/data"):
            with contextlib.suppress(FileNotFoundError):   # it was completed meanwhile
                found[path.parent.name] = path.stat().st_size
        return found
    with registry(scratch) as host:
        to = f"oci://{host}/org/name:v1"
        with publishing(scratch, "--to", to) as killed:
            wait_until(killed, lambda: max(uploads().values(), default=0) >= 64 << 20)
        (left, kept), = ((name, size) for name, size in settled(uploads).items() if size)
        assert 64 << 20 <= kept < size
        digest = f"sha256:{sha256(scratch / 'out/large.bin')}"
        accept = "application/vnd.oci.image.manifest.v1+json"
        for place in ("manifests/v1", f"blobs/{digest}"):
            assert status_of(f"http://{host}/v2/org/name/{place}", Accept=accept) == 404, f"{place} is there before the end"
        again = subprocess.Popen([CKPT, "publish", "out", "--to", to], cwd=scratch, env=environment(scratch),
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        most = {}
        while again.poll() is None:
            for name, there in uploads().items():
                most[name] = max(there, most.get(name, 0))
            time.sleep(0.001)
        assert again.returncode == 0, again.stdout.read()
        assert most.pop(left) > kept and max(most.values(), default=0) < 1 << 20, most
        assert status_of(f"http://{host}/v2/org/name/manifests/v1", Accept=accept) == 200
        run(scratch, "oras", "pull", "--plain-http", f"{host}/org/name:v1", "-o", "pulled")
        assert content(scratch / "pulled") == content(scratch / "out")
        print(f"  {kept >> 20} of {size >> 20} MiB were there after the kill, and were not sent again")


def registry_moves_tags_only_by_force(scratch):
    shutil.copytree(TESTDATA / "qwen3-micro", scratch / "out")
    with registry(scratch) as host:
        to = f"oci://{host}/org/name:v1"
        published(scratch, "--to", to)
        before = run(scratch, "oras", "resolve", "--plain-http", to[6:])
        (scratch / "out/config.json").write_bytes((scratch / "out/config.json").read_bytes() + b" ")
        code, said = publish(scratch, "--to", to)
        assert code == 2 and "exists already and is another artifact" in said, said
        assert run(scratch, "oras", "resolve", "--plain-http", to[6:]) == before
        published(scratch, "--to", to, "--force")
        run(scratch, "oras", "pull", "--plain-http", to[6:], "-o", "pulled")
        assert content(scratch / "pulled") == content(scratch / "out")


def registry_takes_the_login_that_oras_keeps(scratch):
    shutil.copytree(TESTDATA / "qwen3-micro", scratch / "out")
    (scratch / "htpasswd").write_text(f"{USER}:{BCRYPT}\n")
    login = {"htpasswd": {"realm": "local", "path": str(scratch / "htpasswd")}}
    with registry(scratch, auth=login) as host:
        to = f"oci://{host}/org/name:v1"
        code, said = publish(scratch, "--to", to)
        assert code == 2 and "asks for a login" in said, said
        run(scratch, "oras", "login", "--plain-http", "-u", USER, "-p", PASSWORD, host)
        said = published(scratch, "--to", to)
        assert PASSWORD not in said and BASIC[6:] not in said
        run(scratch, "oras", "pull", "--plain-http", to[6:], "-o", "pulled")
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


class Gateway:
    """A versitygw that runs until the block ends: its bucket, on the disk and as others see it, and what was asked of it."""

    def __init__(self, scratch):
        self.scratch, self.bucket, self.port = scratch, scratch / "s3/models", free_port()
        self.bucket.mkdir(parents=True)
        self.env = {"AWS_ACCESS_KEY_ID": "testkey", "AWS_SECRET_ACCESS_KEY": "testsecret",
                    "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}"}
        self.server = served([program("versitygw"), "--access", "testkey", "--secret", "testsecret", "--port",
                              f"127.0.0.1:{self.port}", "--access-log", str(scratch / "s3.log"), "posix",
                              str(self.bucket.parent)], self.port, scratch)

    def __enter__(self):
        self.server.__enter__()
        return self

    def __exit__(self, *failed):
        return self.server.__exit__(*failed)

    def publish(self, *words, **more):
        return publish(self.scratch, *words, **self.env, **more)

    def published(self, *words, **more):
        return published(self.scratch, *words, **self.env, **more)

    def publishing(self, *words):
        return publishing(self.scratch, *words, **self.env)

    def visible(self):
        return {name: data for name, data in content(self.bucket).items() if not name.startswith(".sgwtmp/")}

    def parts(self):
        """{upload: the numbers of its parts}, of uploads that are neither completed nor aborted"""
        return {path.name: {int(part.name) for part in path.glob("[0-9]*")}
                for path in self.bucket.glob(".sgwtmp/multipart/*/*") if path.is_dir()}

    def count(self, operation):
        """How many of these succeeded."""
        return len(re.findall(rf" s3_{operation} .*? 200 - ", (self.scratch / "s3.log").read_text()))


def versitygw_stores_the_files(scratch):
    folder_of_names(scratch)
    with Gateway(scratch) as s3:
        s3.published("--to", "s3://models/rel v1/x")
        assert content(s3.bucket / "rel v1/x") == content(scratch / "out")
        said = s3.published("--to", "s3://models/rel v1/x")
        assert " 0 files sent" in said, said


def versitygw_replaces_objects_only_by_force(scratch):
    """Small ones and those in parts, ckpt's and those of others."""
    folder_of_names(scratch)

    def change(name):
        with open(scratch / "out" / name, "ab") as file:
            file.write(b" ")

    def overwrite(name):
        (s3.bucket / "x" / name).unlink()
        (s3.bucket / "x" / name).write_bytes(b"theirs")
    with Gateway(scratch) as s3:
        s3.published("--to", "s3://models/x")
        for act in (change, overwrite):
            for name in ("config.json", "large.bin"):
                act(name)
                before, sent = s3.visible(), s3.count("UploadPart")
                code, said = s3.publish("--to", "s3://models/x")
                assert code == 2 and f"x/{name} exists already and is another file" in said, said
                assert s3.visible() == before and s3.count("UploadPart") == sent and not s3.parts()
                s3.published("--to", "s3://models/x", "--force")
                assert content(s3.bucket / "x") == content(scratch / "out") and not s3.parts()


def versitygw_resumes_after_a_kill(scratch):
    """Parts that the kill left are listed and not sent again; before the end no object is visible."""
    parts = 9
    (scratch / "out").mkdir()
    write_large(scratch / "out/large.bin", PART * (parts - 1) + 12345)
    (scratch / "out/config.json").write_text("{}\n")
    notes = scratch / ".cache/ckpt/uploads"
    with Gateway(scratch) as s3:
        with s3.publishing("--to", "s3://models/x") as killed:
            wait_until(killed, lambda: any(len(numbers) >= 3 for numbers in s3.parts().values()))
        (upload, kept), = settled(s3.parts).items()
        assert 3 <= len(kept) < parts and not s3.visible(), (kept, list(s3.visible()))
        assert len(list(notes.iterdir())) == 1
        sent = s3.count("UploadPart")
        s3.published("--to", "s3://models/x")
        assert s3.count("UploadPart") - sent == parts - len(kept), (s3.count("UploadPart"), sent, kept)
        assert s3.count("CreateMultipartUpload") == 1 and s3.count("ListParts") >= 1 and not s3.parts()
        assert sha256(s3.bucket / "x/large.bin") == sha256(scratch / "out/large.bin")
        assert content(s3.bucket / "x") == content(scratch / "out") and not list(notes.iterdir())
        print(f"  {len(kept)} of {parts} parts were there after the kill, and were not sent again")


def versitygw_keeps_no_parts_of_a_file_that_changed(scratch):
    """After the kill the file is another: its parts are removed, and none of them gets into the object."""
    (scratch / "out").mkdir()
    write_large(scratch / "out/large.bin", PART * 4)
    with Gateway(scratch) as s3:
        with s3.publishing("--to", "s3://models/x") as killed:
            wait_until(killed, lambda: any(s3.parts().values()))
        (upload, _), = settled(s3.parts).items()
        write_large(scratch / "out/large.bin", PART * 4)
        with s3.publishing("--to", "s3://models/x") as killed:
            wait_until(killed, lambda: any(s3.parts().values()) and upload not in s3.parts())
            killed.wait()
            assert killed.returncode == 0, killed.stdout.read()
        assert s3.count("UploadPart") >= 4 and content(s3.bucket / "x") == content(scratch / "out") and not s3.parts()


def versitygw_keeps_no_parts_of_an_aborted_upload(scratch):
    """Somebody else makes the object, or the file changes, while parts are sent: the upload fails and leaves nothing."""
    def an_object_appears(s3):
        (s3.scratch / "theirs").mkdir()
        (s3.scratch / "theirs/large.bin").write_bytes(b"theirs")
        s3.published("--to", "s3://models/x", folder="theirs")
        return content(s3.scratch / "theirs")

    def the_file_changes(s3):
        with open(s3.scratch / "out/large.bin", "r+b") as file:
            file.write(b"changed!")
        return {}
    for act, words in ((an_object_appears, "PreconditionFailed"), (the_file_changes, "was written to")):
        folder = scratch / act.__name__
        (folder / "out").mkdir(parents=True)
        write_large(folder / "out/large.bin", PART * 4)
        with Gateway(folder) as s3:
            with s3.publishing("--to", "s3://models/x") as failing:
                wait_until(failing, lambda: any(s3.parts().values()))
                theirs = act(s3)
                said = failing.stdout.read()
                failing.wait()
            assert failing.returncode == 2 and words in said, said
            assert not settled(s3.parts), s3.parts()
            assert s3.visible() == {f"x/{name}": data for name, data in theirs.items()}, list(s3.visible())
            assert not list((folder / ".cache/ckpt/uploads").iterdir())


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


def huggingface_hub_downloads_what_was_published(scratch):
    """The hub gives out what it received; the real client downloads it, and `ckpt verify` accepts the download."""
    folder_of_names(scratch)
    hub = Hub(part=1 << 24)
    published(scratch, "--to", "hf://org/name", HF_TOKEN=hub.token, HF_ENDPOINT=hub.origin)
    server = Server(scratch / "served", token="hf_secret", page=2)
    server.cdn = server.cdn.replace("127.0.0.1", "localhost")   # clients differ in what another port of one host is
    for name, data in hub.files.items():
        path = server.root / "hub/org/name" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    client = "from huggingface_hub import snapshot_download\nsnapshot_download('org/name', local_dir='got', max_workers=2)"
    done = subprocess.run([HUB_PYTHON, "-c", client], cwd=scratch, capture_output=True, text=True, timeout=300, env=environment(
        scratch, **server.environment(), HF_HUB_DISABLE_XET="1", HF_HUB_DISABLE_PROGRESS_BARS="1"))
    assert done.returncode == 0, done.stderr
    got = {name: data for name, data in content(scratch / "got").items() if not name.startswith(".cache/")}
    assert got == content(scratch / "out"), (sorted(got), sorted(content(scratch / "out")))
    verify = [CKPT, "verify", "got", "--ignore", ".cache"]
    for code in (0, 1):
        done = subprocess.run(verify, cwd=scratch, capture_output=True, text=True, env=environment(scratch))
        assert done.returncode == code, done.stdout + done.stderr
        with open(scratch / "got/large.bin", "r+b") as file:
            file.write(b"changed!")


PEERS = {
    "oras": (["registry", "oras"], [oras_pulls_the_files, registry_moves_tags_only_by_force, registry_takes_the_login_that_oras_keeps]),
    "registry": (["registry", "oras"], [registry_resumes_after_a_kill]),
    "containerd": (["registry", "containerd", "ctr"], [containerd_mounts_the_files]),
    "versitygw": (["versitygw"], [
        versitygw_stores_the_files, versitygw_replaces_objects_only_by_force, versitygw_resumes_after_a_kill,
        versitygw_keeps_no_parts_of_a_file_that_changed, versitygw_keeps_no_parts_of_an_aborted_upload]),
    "huggingface_hub": ([], [huggingface_hub_finds_nothing_left_to_send, huggingface_hub_downloads_what_was_published]),
}


def main():
    peer, *names = sys.argv[3:]
    programs, tests = PEERS[peer]
    missing = [name for name in programs if program(name) is None]
    if peer == "huggingface_hub" and subprocess.run([HUB_PYTHON, "-c", "import huggingface_hub"], capture_output=True).returncode:
        missing = [peer]
    if peer == "containerd" and os.geteuid() != 0:
        missing = ["root"]
    if missing:
        print(f"peer missing: {', '.join(missing)}")
        return 77
    for test in [test for test in tests if not names or test.__name__ in names]:
        with tempfile.TemporaryDirectory() as folder:
            test(pathlib.Path(folder))
        print(f"{test.__name__}: as expected", flush=True)
    return 0


sys.exit(main())
