#!/usr/bin/env python3
"""`ckpt publish --to` against the servers of stores.py: what arrives, in which order, and what faults leave behind.

usage: publish_targets.py CKPT TESTDATA [NAME...]      only tests of these names; exits 1 when one fails
"""
import hashlib
import io
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import traceback

from stores import PASSWORD, USER, BASIC, IDENTITY, Bucket, Hub, Registry, commit_id, digest_of

CKPT, TESTDATA = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
SECRETS = [PASSWORD, BASIC[6:], "testsecret", "hf_secret", "token-1", IDENTITY]
LARGE = (32 << 20) * 2 + 12345  # three parts, three chunks


class Run:
    def __init__(self, folder, **env):
        self.folder, self.env = folder, env

    def ckpt(self, *words, verb="publish"):
        plain = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "HF_", "DOCKER_", "XDG_", "REGISTRY_"))}
        done = subprocess.run([CKPT, verb, *map(str, words)], cwd=self.folder, capture_output=True, text=True,
                              env={**plain, "HOME": str(self.folder), **self.env}, timeout=120)
        for secret in SECRETS:
            assert secret not in done.stdout + done.stderr, f"{secret} is in a message"
        return done

    def good(self, *words):
        done = self.ckpt(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def bad(self, text, *words):
        done = self.ckpt(*words)
        assert done.returncode == 2 and text in done.stderr, (done.returncode, done.stderr)


def folder_in(scratch, name="out", large=0):
    out = scratch / name
    shutil.copytree(TESTDATA / "qwen3-micro", out)
    (out / "sub").mkdir()
    (out / "sub/a b+c.json").write_text("{}\n")
    if large:
        block = os.urandom(1 << 16)
        with open(out / "large.bin", "wb") as file:
            for at in range(0, large, len(block)):
                file.write(block[:large - at] if large - at < len(block) else at.to_bytes(8, "big") + block[8:])
    return out


def content(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def same_artifact(registry, name, folder):
    manifest = json.loads(registry.manifests[name])
    got = {}
    for layer in manifest["layers"]:
        data = registry.blobs[layer["digest"]]
        assert digest_of(data) == layer["digest"] and len(data) == layer["size"]
        names = set(layer["annotations"].values())
        assert len(names) == 1
        got[names.pop()] = data
    assert got == content(folder), (sorted(got), sorted(content(folder)))
    config = registry.blobs[manifest["config"]["digest"]]
    assert json.loads(config)["modelfs"]["diffIds"] == [layer["digest"] for layer in manifest["layers"]]
    return digest_of(registry.manifests[name])


def oci_equal_folders_give_equal_digests(scratch):
    registry = Registry()
    run, out = Run(scratch), folder_in(scratch)
    to = f"oci://127.0.0.1:{registry.port}/org/name"
    said = run.good(out, "--to", to + ":v1")
    digest = same_artifact(registry, "org/name:v1", out)
    assert f"{to[6:]}:v1  {digest}" in said, said
    methods = [(method, path.split("/")[-2]) for method, path, *_ in registry.log]
    assert methods[-1] == ("PUT", "manifests") and methods.count(("PUT", "manifests")) == 1
    posts = registry.count("^POST")
    shutil.copytree(out, scratch / "elsewhere")
    for name in os.listdir(scratch / "elsewhere"):
        os.utime(scratch / "elsewhere" / name, (1, 1))
    run.good("elsewhere", "--to", to + ":v2", "--rehash")
    assert same_artifact(registry, "org/name:v2", out) == digest
    assert registry.count("^POST") == posts, "blobs that were there were sent again"


def oci_a_tag_is_moved_only_by_force(scratch):
    registry = Registry()
    run, out = Run(scratch), folder_in(scratch)
    to = f"oci://127.0.0.1:{registry.port}/n:v1"
    run.good(out, "--to", to)
    run.good(out, "--to", to)
    (out / "config.json").write_bytes((out / "config.json").read_bytes() + b" ")
    before = registry.manifests["n:v1"]
    run.bad("exists already and is another artifact", out, "--to", to)
    assert registry.manifests["n:v1"] == before
    run.good(out, "--to", to, "--force")
    same_artifact(registry, "n:v1", out)


def oci_logins(scratch):
    out = folder_in(scratch)
    docker = scratch / ".docker"
    docker.mkdir()
    for kind, login in (("basic", "auths"), ("token", "auths"), ("token", "helper")):
        registry = Registry(kind)
        to, run = f"oci://127.0.0.1:{registry.port}/org/name:v1", Run(scratch)
        (docker / "config.json").write_text("{}")
        if kind == "basic":
            run.bad("asks for a login", out, "--to", to)
        else:
            run.bad("403", out, "--to", to)
        wrong = {"auths": {f"127.0.0.1:{registry.port}": {"auth": "dGVzdGVyOndyb25n"}}}
        (docker / "config.json").write_text(json.dumps(wrong))
        run.bad("401", out, "--to", to)
        assert not registry.manifests
        host = f"127.0.0.1:{registry.port}"
        if login == "auths":
            (docker / "config.json").write_text(json.dumps({"auths": {host: {"auth": BASIC[6:]}}}))
        else:
            helper = scratch / "bin/docker-credential-here"
            helper.parent.mkdir()
            answer = json.dumps({"ServerURL": host, "Username": USER, "Secret": PASSWORD})
            helper.write_text(f'#!/bin/sh\n[ "$1" = get ] && [ "$(cat)" = {host} ] && echo \'{answer}\'\n')
            helper.chmod(helper.stat().st_mode | stat.S_IXUSR)
            (docker / "config.json").write_text(json.dumps({"credHelpers": {host: "here"}}))
            run.env["PATH"] = f"{helper.parent}:{os.environ['PATH']}"
        run.good(out, "--to", to)
        same_artifact(registry, "org/name:v1", out)
        if kind == "token":
            assert registry.asked[-1] == (BASIC, {"service": "local", "scope": "repository:org/name:pull,push"})


def oci_identity_tokens_are_exchanged(scratch):
    registry, out = Registry("token"), folder_in(scratch)
    host, docker = f"127.0.0.1:{registry.port}", scratch / ".docker"
    docker.mkdir()
    run, to = Run(scratch), f"oci://{host}/n:v1"
    helper = scratch / "bin/docker-credential-here"
    helper.parent.mkdir()
    helper.write_text("#!/bin/sh\necho '" + json.dumps({"ServerURL": host, "Username": "<token>", "Secret": IDENTITY}) + "'\n")
    helper.chmod(helper.stat().st_mode | stat.S_IXUSR)
    run.env["PATH"] = f"{helper.parent}:{os.environ['PATH']}"
    (docker / "config.json").write_text(json.dumps({"auths": {host: {"auth": BASIC[6:], "identitytoken": "another"}}}))
    run.bad("401", out, "--to", to)
    for login in ({"auths": {host: {"auth": BASIC[6:], "identitytoken": IDENTITY}}}, {"credHelpers": {host: "here"}}):
        (docker / "config.json").write_text(json.dumps(login))
        run.good(out, "--to", to)
        assert registry.asked[-1] == (None, {"grant_type": "refresh_token", "refresh_token": IDENTITY, "service": "local",
                                             "scope": "repository:n:pull,push", "client_id": "ckpt"}), registry.asked[-1]
        same_artifact(registry, "n:v1", out)
    registry = Registry("token", realm_host="localhost")
    (docker / "config.json").write_text(json.dumps({"auths": {f"127.0.0.1:{registry.port}": {"identitytoken": IDENTITY}}}))
    run.bad("403", out, "--to", f"oci://127.0.0.1:{registry.port}/n:v1")
    assert registry.asked and all("refresh_token" not in query for _, query in registry.asked)


def oci_passwords_stay_with_the_registry(scratch):
    registry, out = Registry("token", realm_host="localhost"), folder_in(scratch)
    (scratch / ".docker").mkdir()
    (scratch / ".docker/config.json").write_text(json.dumps({"auths": {f"127.0.0.1:{registry.port}": {"auth": BASIC[6:]}}}))
    Run(scratch).bad("403", out, "--to", f"oci://127.0.0.1:{registry.port}/n:v1")
    assert registry.asked and all(given is None for given, _ in registry.asked)


def oci_a_token_that_ran_out_is_renewed(scratch):
    registry, out = Registry("token"), folder_in(scratch)
    (scratch / ".docker").mkdir()
    (scratch / ".docker/config.json").write_text(json.dumps({"auths": {f"127.0.0.1:{registry.port}": {"auth": BASIC[6:]}}}))
    inner = registry.answer

    def forgetful(request, body, fault):
        if request.command == "PUT" and "manifests" in request.path and len(registry.asked) == 1:
            registry.tokens.clear()
        return inner(request, body, fault)
    registry.answer = forgetful
    Run(scratch).good(out, "--to", f"oci://127.0.0.1:{registry.port}/n:v1")
    assert len(registry.asked) == 2
    same_artifact(registry, "n:v1", out)


def oci_large_blobs_resume(scratch):
    out = folder_in(scratch, large=LARGE)
    for faults in ([["^PATCH", "cut", 1]], [["^PATCH", 503, 2]], [["^PATCH", 429, 1], ["^PATCH", "cut", 2]],
                   [["^PUT .*digest", "cut", 1]]):
        registry = Registry()
        registry.faults = [list(one) for one in faults]
        Run(scratch).good(out, "--to", f"oci://127.0.0.1:{registry.port}/n:v1")
        same_artifact(registry, "n:v1", out)
        assert all(one[2] == 0 for one in registry.faults), registry.faults
        if faults == [["^PATCH", "cut", 1]]:
            starts = [int(h["Content-Range"].split("-")[0]) for m, _, status, h in registry.log if m == "PATCH"]
            assert 1 << 24 in starts and starts[-1] == 3 << 24, starts  # from where it was cut


def patches(log):
    return [(int(h["Content-Range"].split("-")[0]), int(h["Content-Length"])) for m, _, _, h in log if m == "PATCH"]


def oci_large_blobs_resume_after_a_kill(scratch):
    out, notes = folder_in(scratch, large=LARGE), scratch / ".cache/ckpt/uploads"
    for forgets in (False, True):
        registry, run = Registry(), Run(scratch)
        inner, begun, go_on = registry.answer, threading.Event(), threading.Event()

        def stopping(request, body, fault):
            if request.command == "PATCH" and request.headers["Content-Range"].startswith(f"{1 << 25}-") and not begun.is_set():
                begun.set()
                go_on.wait(60)
                registry.cut(request.path, request.headers, body[:1 << 24])  # as much arrived before the kill
                return 500, {}, b"{}"
            return inner(request, body, fault)
        registry.answer = stopping
        words = [CKPT, "publish", out, "--to", f"oci://127.0.0.1:{registry.port}/n:v1"]
        with subprocess.Popen(words, cwd=scratch, env={**os.environ, "HOME": str(scratch)}, stderr=subprocess.DEVNULL) as killed:
            assert begun.wait(60)
            killed.kill()
        go_on.set()
        while registry.count("^PATCH") < 2:
            time.sleep(0.01)
        note, = notes.iterdir()
        assert note.stat().st_mode & 0o777 == 0o600
        confirmed = 0 if forgets else 3 << 24
        assert len(next(s for s in registry.sessions.values() if s)) == 3 << 24
        if forgets:
            registry.sessions.clear()
        before = len(registry.log)
        run.good(out, "--to", f"oci://127.0.0.1:{registry.port}/n:v1")
        sent = patches(registry.log[before:])
        assert sent[0][0] == confirmed and sum(size for _, size in sent) == LARGE - confirmed, sent
        same_artifact(registry, "n:v1", out)
        assert not list(notes.iterdir())


def oci_sessions_with_other_bytes_start_over(scratch):
    registry, out, notes = Registry(), folder_in(scratch, large=LARGE), scratch / ".cache/ckpt/uploads"
    registry.faults = [["^PATCH .*_state=33554432", 403, 1]]
    run, to = Run(scratch), f"oci://127.0.0.1:{registry.port}/n:v1"
    run.bad("403", out, "--to", to)
    session = next(name for name, data in registry.sessions.items() if data)
    registry.sessions[session] = bytes(len(registry.sessions[session]))
    run.good(out, "--to", to)
    same_artifact(registry, "n:v1", out)
    assert not list(notes.iterdir())


def oci_sessions_keep_their_scheme(scratch):
    registry, run, out = Registry(), Run(scratch), folder_in(scratch, "small", 0)
    registry.faults = [["^POST .*uploads", "other scheme", 9]]
    run.bad("redirects to https", out, "--to", f"oci://127.0.0.1:{registry.port}/n:v1")
    assert not registry.manifests
    registry, out = Registry(), folder_in(scratch, "large", LARGE)   # there is another way: without chunks
    registry.faults = [["^PATCH .*uploads", "other scheme", 99]]
    run.good(out, "--to", f"oci://127.0.0.1:{registry.port}/n:v1")
    same_artifact(registry, "n:v1", out)


def oci_without_chunks(scratch):
    registry, out = Registry(), folder_in(scratch, large=LARGE)
    registry.faults = [["^PATCH", 405, 1]]
    Run(scratch).good(out, "--to", f"oci://127.0.0.1:{registry.port}/n:v1")
    same_artifact(registry, "n:v1", out)


def oci_nothing_is_visible_before_all_is_there(scratch):
    registry, run, out = Registry(), Run(scratch), folder_in(scratch)
    to = f"oci://127.0.0.1:{registry.port}/n:v1"
    registry.faults = [["^POST", 403, 1]]
    run.bad("403", out, "--to", to)
    assert not registry.manifests
    blobs = len(registry.blobs)
    posts = registry.count("^POST")
    run.good(out, "--to", to)
    assert len(registry.blobs) - blobs == registry.count("^POST") - posts
    same_artifact(registry, "n:v1", out)
    registry = Registry()
    registry.faults = [["^PUT .*manifests", "digest", 1]]
    run.bad("stored as sha256:", out, "--to", f"oci://127.0.0.1:{registry.port}/n:v1")


def oci_images_hold_the_files_as_tars(scratch):
    registry, run, out = Registry(), Run(scratch), folder_in(scratch)
    (out / "sub/empty").write_bytes(b"")
    said = run.good(out, "--to", f"oci://127.0.0.1:{registry.port}/n:v1", "--as", "image")
    index = json.loads(registry.manifests["n:v1"])
    assert digest_of(registry.manifests["n:v1"]) in said
    (scratch / "reserved/sub").mkdir(parents=True)
    (scratch / "reserved/sub/.wh..wh..opq").write_bytes(b"x")
    run.bad("reserve names that start with .wh.", "reserved", "--to", f"oci://127.0.0.1:{registry.port}/n:v2", "--as", "image")
    assert [one["platform"]["architecture"] for one in index["manifests"]] == ["amd64", "arm64"]
    for one in index["manifests"]:
        manifest = json.loads(registry.manifests[f"n:{one['digest']}"])
        config = json.loads(registry.blobs[manifest["config"]["digest"]])
        assert config["rootfs"]["diff_ids"] == [layer["digest"] for layer in manifest["layers"]]
        assert config["architecture"] == one["platform"]["architecture"]
        got = {}
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=io.BytesIO(registry.blobs[layer["digest"]])) as tar:
                member = tar.getmembers()[0]
                assert (member.mtime, member.uid, len(tar.getmembers())) == (0, 0, 1)
                got[member.name.removeprefix("models/")] = tar.extractfile(member).read()
        assert got == content(out)


def oci_ollama_pulls_the_published_file(scratch):
    registry, run = Registry(), Run(scratch)
    (scratch / "out").mkdir()
    subprocess.run([CKPT, "convert", "-q", TESTDATA / "qwen3-micro", scratch / "out/m.gguf", "--to", "q4_k_m"], check=True,
                   stdout=subprocess.DEVNULL)
    run.good("out", "--to", f"oci://127.0.0.1:{registry.port}/org/name:v1", "--as", "ollama")
    manifest = json.loads(registry.manifests["org/name:v1"])
    assert manifest["mediaType"] == "application/vnd.docker.distribution.manifest.v2+json"
    model = manifest["layers"][0]
    assert model["mediaType"] == "application/vnd.ollama.image.model"
    assert registry.blobs[model["digest"]] == (scratch / "out/m.gguf").read_bytes()
    run.bad("--as image without --to oci://", "out", "--to", "ollama:m", "--as", "image")


def oci_verify_reads_every_blob(scratch):
    for form in ("modelpack", "image"):
        registry, run, out = Registry("token"), Run(scratch), folder_in(scratch, form)
        (scratch / ".docker").mkdir(exist_ok=True)
        (scratch / ".docker/config.json").write_text(json.dumps({"auths": {f"127.0.0.1:{registry.port}": {"auth": BASIC[6:]}}}))
        to = f"oci://127.0.0.1:{registry.port}/n"
        run.good(out, "--to", to + ":v1", "--as", form)
        digest = digest_of(registry.manifests["n:v1"])
        registry.manifests[f"n:{digest}"] = registry.manifests["n:v1"]
        registry.faults = [["^GET .*blobs", "cut", 1], ["^GET .*blobs", 503, 1]]
        for address in (f"{to}@{digest}", to + ":v1", f"{to}:v1@{digest}"):
            done = run.ckpt(address, verb="verify")
            assert done.returncode == 0 and "sound" in done.stdout, (done.stdout, done.stderr)
        name, blob = max(registry.blobs.items(), key=lambda one: len(one[1]))
        registry.blobs[name] = blob[:-1] + bytes([blob[-1] ^ 1])
        done = run.ckpt(f"{to}@{digest}", verb="verify")
        assert done.returncode == 1 and f"expected {name}" in done.stdout, (done.stdout, done.stderr)
        registry.blobs[name] = blob[:-1]
        assert run.ckpt(f"{to}@{digest}", verb="verify").returncode == 1
        del registry.blobs[name]
        done = run.ckpt(f"{to}@{digest}", verb="verify")
        assert done.returncode == 1 and "missing" in done.stdout, (done.stdout, done.stderr)
        registry.blobs[name] = blob
        registry.faults = [["^GET .*blobs", 403, 99]]   # no verdict on what it holds
        done = run.ckpt(f"{to}@{digest}", verb="verify")
        assert done.returncode == 2 and "sound" not in done.stdout, (done.stdout, done.stderr)
        registry.faults = []
        registry.manifests[f"n:{digest}"] += b" "
        assert run.ckpt(f"{to}@{digest}", verb="verify").returncode == 1


def oci_verify_compares_the_sizes_in_an_index(scratch):
    registry, run = Registry(), Run(scratch)
    to = f"oci://127.0.0.1:{registry.port}/n"
    run.good(folder_in(scratch), "--to", to + ":v1", "--as", "image")
    for wrong in (0, 1):
        index = json.loads(registry.manifests["n:v1"])
        index["manifests"][1]["size"] += wrong
        text = json.dumps(index).encode()
        registry.manifests[f"n:{digest_of(text)}"] = text
        done = run.ckpt(f"{to}@{digest_of(text)}", verb="verify")
        assert done.returncode == wrong and ("the index says" in done.stdout) == bool(wrong), (done.stdout, done.stderr)


def s3_run(scratch, bucket):
    return Run(scratch, AWS_ACCESS_KEY_ID="testkey", AWS_SECRET_ACCESS_KEY="testsecret", AWS_ENDPOINT_URL=bucket.origin)


def same_objects(bucket, prefix, folder):
    got = {key.removeprefix(prefix): data for key, (data, _) in bucket.objects.items()}
    assert got == content(folder), (sorted(got), sorted(content(folder)))


def s3_files_arrive_sums_last(scratch):
    bucket, out = Bucket(), folder_in(scratch, large=LARGE)
    (out / "model.safetensors.index.json").write_text('{"weight_map": {}}')
    run = s3_run(scratch, bucket)
    run.good(out, "--to", "s3://models/rel/v1", "--force")
    same_objects(bucket, "/models/rel/v1/", out)
    names = [key.removeprefix("/models/rel/v1/") for key in bucket.made]
    assert names[0] == "large.bin" and names[-2:] == ["model.safetensors.index.json", "SHA256SUMS"], names
    assert not bucket.uploads
    puts = bucket.count("^(PUT|POST)")
    assert "8 already there" not in run.good(out, "--to", "s3://models/rel/v1", "--force")
    assert bucket.count("^(PUT|POST)") == puts, "objects that were there were sent again"


def s3_a_bucket_of_another_region_is_written_there(scratch):
    bucket, out = Bucket(), folder_in(scratch, large=LARGE)
    run, bucket.region = s3_run(scratch, bucket), "eu-west-1"
    run.good(out, "--to", "s3://models/v1")
    assert sum(status == 301 for _, _, status, _ in bucket.log) == 1
    same_objects(bucket, "/models/v1/", out)
    bucket.region, bucket.says_region = "eu-west-2", False
    run.bad("AWS_REGION=REGION", out, "--to", "s3://models/v2")


def s3_objects_are_replaced_only_by_force(scratch):
    bucket, out = Bucket(), folder_in(scratch)
    run = s3_run(scratch, bucket)
    run.good(out, "--to", "s3://models/v1")
    (out / "config.json").write_bytes((out / "config.json").read_bytes() + b" ")
    before, puts = dict(bucket.objects), bucket.count("^PUT")
    run.bad("exists already and is another file", out, "--to", "s3://models/v1")
    assert bucket.objects == before and bucket.count("^PUT") == puts
    run.good(out, "--to", "s3://models/v1", "--force")
    same_objects(bucket, "/models/v1/", out)


def s3_another_writer_is_not_overwritten(scratch):
    bucket, out = Bucket(), folder_in(scratch, large=LARGE)
    run, theirs = s3_run(scratch, bucket), (b"theirs", None)
    inner = bucket.answer

    def racing(request, body, fault):
        if request.command == "POST" and "uploads=" in request.path:
            bucket.objects["/models/v1/large.bin"] = theirs
        return inner(request, body, fault)
    bucket.answer = racing
    run.bad("412", out, "--to", "s3://models/v1")
    assert bucket.objects == {"/models/v1/large.bin": theirs} and not bucket.uploads


def s3_memory_does_not_grow_with_the_parts(scratch):
    def peak_mib(out):
        run = s3_run(scratch, Bucket())
        process = subprocess.Popen([CKPT, "publish", "-q", out, "--to", "s3://models/v1", "--memory", "16M"], cwd=scratch, stdout=subprocess.DEVNULL,
                                   env={**os.environ, "HOME": str(scratch), **run.env})
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        assert status == 0, status
        return usage.ru_maxrss / 1024

    small, large = peak_mib(folder_in(scratch, "small")), peak_mib(folder_in(scratch, "large", large=2 * LARGE))
    assert large < small + 40, (small, large)


def s3_parts_resume(scratch):
    bucket, out = Bucket(), folder_in(scratch, large=LARGE)
    run = s3_run(scratch, bucket)
    bucket.faults = [["^PUT .*partNumber=2", "cut", 1000]]
    run.bad("127.0.0.1", out, "--to", "s3://models/v1")
    bucket.faults = []
    assert not bucket.objects and len(bucket.uploads) == 1
    kept = {n for _, _, parts in bucket.uploads.values() for n in parts}
    before = len(bucket.log)
    run.good(out, "--to", "s3://models/v1")
    sent = [path for method, path, *_ in bucket.log[before:] if method == "PUT" and "partNumber" in path]
    assert kept and 2 not in kept and len(sent) == 3 - len(kept), (kept, sent)
    same_objects(bucket, "/models/v1/", out)


def s3_upload_of_a_file_that_changed_starts_over(scratch):
    bucket, out = Bucket(), folder_in(scratch, large=LARGE)
    run, large = s3_run(scratch, bucket), out / "large.bin"
    bucket.faults = [["^PUT .*partNumber=2", "cut", 1000]]
    run.bad("127.0.0.1", out, "--to", "s3://models/v1")
    bucket.faults = []
    first = large.read_bytes()
    for content in (first[:-1] + b"!", first):   # a part that was not sent changed; then it is as it was
        large.write_bytes(content)
        run.good(out, "--to", "s3://models/v1", "--force")
        data, note = bucket.objects["/models/v1/large.bin"]
        assert data == content and note == hashlib.sha256(content).hexdigest(), note
        assert not bucket.uploads and not list((scratch / ".cache/ckpt/uploads").iterdir())


def s3_uploads_without_hope_are_removed(scratch):
    bucket, out = Bucket(), folder_in(scratch, large=LARGE)
    bucket.faults = [["^PUT .*partNumber=2", 400, 1]]
    s3_run(scratch, bucket).bad("400", out, "--to", "s3://models/v1")
    assert not bucket.objects and not bucket.uploads


def s3_faults_that_pass(scratch):
    bucket, out = Bucket(), folder_in(scratch, large=LARGE)
    bucket.faults = [["^PUT .*partNumber=1", 429, 1], ["^PUT .*partNumber=3", "cut", 1], ["^PUT .*config", 503, 1],
                     ["^HEAD", 500, 1]]
    s3_run(scratch, bucket).good(out, "--to", "s3://models/v1")
    same_objects(bucket, "/models/v1/", out)


def hub_run(scratch, hub):
    return Run(scratch, HF_TOKEN="hf_secret", HF_ENDPOINT=hub.origin)


def hub_one_commit(scratch):
    hub, out = Hub(), folder_in(scratch, large=3_500_000)
    (out / "empty.gguf.txt").write_bytes(b"")
    run = hub_run(scratch, hub)
    assert f"hf://org/name@{commit_id(1)}" in run.good(out, "--to", "hf://org/name")
    assert hub.files == content(out) and hub.commits == 1
    run.good(out, "--to", "hf://org/name")
    assert hub.commits == 1, "nothing new, and a commit"
    (out / "config.json").write_bytes((out / "config.json").read_bytes() + b" ")
    before = len(hub.cdn.log)
    run.good(out, "--to", "hf://org/name")
    assert hub.files == content(out) and hub.commits == 2 and len(hub.cdn.log) == before


def hub_a_lost_answer_makes_no_second_commit(scratch):
    hub, out = Hub(), folder_in(scratch)
    hub.faults = [["/commit/", "lost", 1]]
    assert f"hf://org/name@{commit_id(1)}" in hub_run(scratch, hub).good(out, "--to", "hf://org/name")
    assert hub.files == content(out) and hub.commits == 1
    hub, hub.faults = Hub(), []
    hub.faults = [["/commit/", 503, 1]]
    hub_run(scratch, hub).good(out, "--to", "hf://org/name")
    assert hub.files == content(out) and hub.commits == 1


def hub_another_commit_in_between(scratch):
    hub, out = Hub(), folder_in(scratch)
    inner = hub.answer

    def racing(request, body, fault):
        if "/commit/" in request.path:
            hub.head = commit_id(99)
        return inner(request, body, fault)
    hub.answer = racing
    words = "The branch was updated since you opened this page. Try: the same command again, on top of the other commit"
    hub_run(scratch, hub).bad(words, out, "--to", "hf://org/name")
    assert not hub.files


def hub_resumes_and_says_who_is_missing(scratch):
    hub, out = Hub(), folder_in(scratch, large=3_500_000)
    run = hub_run(scratch, hub)
    hub.cdn.faults = [["^PUT", 429, 1], ["^PUT", "cut", 1]]
    hub.faults = [["/commit/", 403, 1]]
    run.bad("403", out, "--to", "hf://org/name")
    assert not hub.files
    before = len(hub.cdn.log)
    run.good(out, "--to", "hf://org/name")
    assert len(hub.cdn.log) == before and hub.files == content(out)
    run.bad("Repository not found", out, "--to", "hf://org/other")
    run.env["HF_TOKEN"] = "hf_other"
    run.bad("Invalid credentials", out, "--to", "hf://org/name")
    del run.env["HF_TOKEN"]
    run.bad("no token to write with", out, "--to", "hf://org/name")


def addresses_that_leave_their_place(scratch):
    run, out = Run(scratch, HF_TOKEN="hf_secret"), folder_in(scratch)
    before = content(out)
    for to in ("oci://127.0.0.1:1/../x:v1", "oci://127.0.0.1:1/a//b:v1", "oci://127.0.0.1:1/UP:v1", "oci://127.0.0.1:1/n",
               "oci://127.0.0.1:1/n:", "oci://127.0.0.1:1/n:../v", "oci:///n:v", "oci://127.0.0.1:1/a._b:v",
               "s3://models/../x", "s3://models/a//b", "s3:///x", "s3://Mo/x", "s3://models/./x",
               "hf://name", "hf://../x", "hf://org/..", "hf://org/a/b", "hf://org/na me", "hf://org/n@../x", "hf://org/n@"):
        run.bad("--to", out, "--to", to)
    run.bad("a user name or password", out, "--to", "oci://u:p@127.0.0.1:1/n:v")
    assert content(out) == before


def dry_runs_open_no_connection(scratch):
    out, registry, hub = folder_in(scratch), Registry(), Hub()
    bucket = Bucket()
    run = s3_run(scratch, bucket)
    run.env.update(HF_TOKEN="hf_secret", HF_ENDPOINT=hub.origin)
    said = run.good(out, "--dry-run", "--to", f"oci://127.0.0.1:{registry.port}/n:v1", "--to", "s3://models/v1",
                    "--to", "hf://org/name")
    assert not registry.log and not bucket.log and not hub.log
    for place in (f"127.0.0.1:{registry.port}/n:v1", "s3://models/v1/sub/a b+c.json", "hf://org/name@main/config.json"):
        assert place in said, said


TESTS = [f for name, f in list(globals().items()) if name.startswith(("oci_", "s3_", "hub_", "addresses_", "dry_"))
         and not name.endswith("_run")]
failed = []
for test in TESTS:
    if sys.argv[3:] and test.__name__ not in sys.argv[3:]:
        continue
    with tempfile.TemporaryDirectory() as scratch:
        try:
            test(pathlib.Path(scratch))
            print("ok", test.__name__, flush=True)
        except Exception:  # the next one tests something else
            traceback.print_exc()
            failed.append(test.__name__)
print(f"{len(failed)} failed: {', '.join(failed)}" if failed else "all good")
sys.exit(1 if failed else 0)
