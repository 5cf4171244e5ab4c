#!/usr/bin/env python3
"""hf://, s3:// and https:// as inputs: outputs equal those of local runs, faults of the server end in equal bytes or in a sentence, and nothing goes
where it must not. The server is tests/remote/server.py on 127.0.0.1; each case is a function that returns whether the rule in its name held.

usage: sources.py CKPT TESTDATA [NAME...]
"""
import hashlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from amazon import Amazon
from server import Fault, Server

CKPT, TESTDATA = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
MODEL = TESTDATA / "qwen35-micro"
CASES = []
signal.signal(signal.SIGINT, signal.default_int_handler)   # ignored in the background, then by ckpt too


def case(function):
    CASES.append(function)
    return function


def run(*words, **environment):
    done = subprocess.run([CKPT, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120,
                          env={**os.environ, **SERVER.environment(), **environment})
    deadline = time.monotonic() + 2
    while SERVER.at_once and time.monotonic() < deadline:   # an answer is in the log once all of it was sent
        time.sleep(0.002)
    return done.returncode, done.stdout + done.stderr


def digests(path):
    path = pathlib.Path(path)
    files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    return {str(each.relative_to(path)): hashlib.sha256(each.read_bytes()).hexdigest() for each in files}


def strike(*faults):
    SERVER.faults[:] = faults
    SERVER.log = []   # requests of an earlier case that are still being answered stay in its log


def converts_alike(source, out, *options):
    """Whether `source` gives the bytes that the local folder gives."""
    here, there = f"local-{out}", f"remote-{out}"
    if not os.path.exists(here):
        assert run("convert", "model", here, *options)[0] == 0
    code, text = run("convert", source, there, *options)
    if code != 0:
        print(text)
        return False
    same = digests(here) == digests(there)
    shutil.rmtree(there) if os.path.isdir(there) else os.unlink(there)
    return same


def is_refused(words, *command, **environment):
    """Whether the command ends with exit code 2, one sentence that has `words`, and no output."""
    code, text = run(*command, **environment)
    made = [name for name in os.listdir() if name.startswith("refused")]
    left = [name for name in made if ".partial" not in name]   # work that the next run may resume
    is_fine = code == 2 and words in text and not left and "Traceback" not in text
    if not is_fine:
        print(f"expected '{words}', found {code}: {text} {left}")
    for name in made:
        os.unlink(name)
    return is_fine


HUB, BUCKET, OUT = "hf://org/model", "s3://bucket/models/model", "refused.gguf"


def web(path):
    return f"{SERVER.origin}/web/{path}"


@case
def every_kind_of_source_gives_the_bytes_of_a_local_run():
    strike()
    sources = [HUB, HUB + "@main", HUB + "@v1", HUB + "@refs%2Fpr%2F1", BUCKET, web("summed/model/"), web("indexed/model")]
    return all([converts_alike(source, "out.gguf", "--to", "q8_0") for source in sources])


@case
def inputs_that_are_scanned_first_give_the_bytes_of_a_local_run():
    strike()
    return all([converts_alike(source, "nvfp4", "--to", "nvfp4-w4a16") for source in (HUB, BUCKET, web("indexed/model"))])


@case
def one_file_of_any_source_gives_the_bytes_of_a_local_run():
    strike()
    assert run("convert", "model", "model.gguf", "--force")[0] == 0
    for place in ("hub/org/model", "web", "s3/bucket"):
        shutil.copy("model.gguf", SERVER.root / place)
    assert run("convert", "model.gguf", "from-file.gguf", "--to", "q8_0", "--force")[0] == 0
    good = True
    for source in (HUB + "/model.gguf", "s3://bucket/model.gguf", web("model.gguf")):
        code, text = run("convert", source, "there.gguf", "--to", "q8_0", "--force")
        good = good and code == 0 and digests("from-file.gguf")["."] == digests("there.gguf")["."] or print(source, text)
        asked = {line["path"].split("?")[0].split("/")[-1] for line in SERVER.log if line["status"] == 404}
        good = good and not asked or print("asked for:", asked)
    (SERVER.root / "hub/org/model/model.gguf").unlink()
    return good


@case
def show_diff_and_verify_take_urls():
    strike()
    answers = [run("show", source)[1].replace(source, "X") for source in ("model", HUB, BUCKET)]
    code, text = run("diff", "model", HUB, "--values")
    verified, said = run("verify", web("summed/model/"))
    good = answers[0] == answers[1] == answers[2] and code == 0 and verified == 0
    return good or print(answers, code, text, verified, said)


@case
def verify_hashes_every_file_of_a_hub():
    strike()
    sound, said = run("verify", HUB)
    alone, said_alone = run("verify", HUB + "/model.safetensors")
    good = sound == alone == 0 and "SHA-256 of 1 file, git id of" in said and SERVER.commit("org/model") in said and "SHA-256 of 1 file" in said_alone
    good = good or print(said, said_alone)
    strike(Fault("last", path="*/model.safetensors", only="cdn"))   # the byte that is furthest from the header
    code, text = run("verify", HUB)
    good = good and code == 1 and "model.safetensors: changed: SHA-256 is" in text and "not sound: 1 finding" in text or print(code, text)
    code, text = run("verify", HUB + "/model.safetensors")
    good = good and code == 1 and "model.safetensors: changed: SHA-256 is" in text or print(code, text)
    strike(Fault("flip", path="*/generation_config.json"))
    code, text = run("verify", HUB)
    good = good and code == 1 and "generation_config.json" in text and "another git blob id" in text or print(code, text)
    strike(Fault("bare", "generation_config.json"))
    code, text = run("verify", HUB)
    good = good and code == 0 and "1 file not checked, the hub lists no digest" in text and "not covered: generation_config.json" in text or print(code, text)
    return good


@case
def weights_that_no_digest_was_compared_with_are_noted_once():
    code, text = run("convert", HUB, "unchecked.gguf", "--to", "q8_0")
    good = code == 0 and text.count("not compared with the digest that the server lists") == 1 or print(code, text)
    advice = text.split("'")[1] if "'" in text else ""
    good = good and advice.startswith(f"ckpt verify {HUB}") and run(*advice.split()[1:])[0] == 0 or print(text)
    os.unlink("unchecked.gguf")
    code, text = run("convert", web("indexed/model/"), "unchecked.gguf", "--to", "q8_0")   # lists none
    return good and code == 0 and "not compared" not in text or print(code, text)


@case
def verify_of_a_file_reads_the_sums_next_to_it():
    strike()
    sound, said = run("verify", web("summed/model/model.safetensors"))
    strike(Fault("last", path="*/model.safetensors"))
    code, text = run("verify", web("summed/model/model.safetensors"))
    return sound == 0 and "SHA-256 of 1 file" in said and code == 1 and "changed: SHA-256 is" in text or print(said, code, text)


@case
def provenance_names_the_files_of_a_commit():
    strike()
    assert run("convert", "model", "published", "--to", "nvfp4-w4a16")[0] == 0
    code, text = run("publish", "published", "--source", HUB)
    made = json.loads(pathlib.Path("published/provenance.json").read_text())["predicate"]["buildDefinition"]["resolvedDependencies"]
    named = {each["uri"]: each["digest"]["sha256"] for each in made}
    base = f"{HUB}@{SERVER.commit('org/model')}/"
    good = code == 0 and named == {base + name: digest for name, digest in digests("model").items()} or print(code, text, named)
    good = good and not any(line["at"] == "cdn" for line in SERVER.log) or print("weights were read")
    code, text = run("publish", "published", "--source", HUB + "/model.safetensors", "--source", web("summed/model/config.json"))
    text = pathlib.Path("published/provenance.json").read_text()
    good = good and code == 0 and f'"uri": "{base}model.safetensors"' in text and f'"uri": "{web("summed/model/config.json")}"' in text or print(code, text)
    good = good and all([is_refused(words, "publish", *typed) for words, *typed in (
        ("Repository not found", "published", "--source", "hf://org/missing"), ("does not exist", "published", "--source", HUB + "/x"),
        ("never written", HUB))])
    strike(Fault("last", path="*/model.safetensors", only="cdn"))
    code, text = run("publish", "published", "--source", HUB, "--rehash")
    shutil.rmtree("published")
    return good and code == 2 and "other bytes than its server lists" in text or print(code, text)


@case
def provenance_names_the_commit_that_was_read_when_the_branch_has_moved():
    strike()
    try:
        os.setxattr("model/config.json", "user.test", b"")
    except OSError:
        return True   # a file system without attributes
    commit, moved = SERVER.commit("org/model"), "b" * 40
    assert run("convert", HUB, "published", "--to", "nvfp4-w4a16")[0] == 0
    assert run("convert", "model", "unknown", "--to", "nvfp4-w4a16")[0] == 0
    SERVER.heads = {("org/model", head): moved for head in ("main", moved)}
    try:
        good = True
        for typed in (HUB, HUB + "@main", f"{HUB}@{commit}", HUB + "/config.json"):
            code, text = run("publish", "published", "--source", typed)
            made = pathlib.Path("published/provenance.json").read_text() if code == 0 else ""
            good = good and code == 0 and f"{HUB}@{commit}/config.json" in made and moved not in made or print(typed, code, text)
        code, text = run("publish", "published", "--source", f"{HUB}@{moved}")
        good = good and code == 2 and f"was made from commit {commit}" in text or print(code, text)
        code, text = run("publish", "unknown", "--source", HUB)
        good = good and code == 0 and "does not know from which commit" in text and moved in pathlib.Path("unknown/provenance.json").read_text() or print(code, text)
    finally:
        SERVER.heads = {}
        shutil.rmtree("published")
        shutil.rmtree("unknown")
    return good


@case
def listings_of_many_pages_are_read_to_their_end():
    strike()
    SERVER.page = 2
    try:
        return all([converts_alike(source, "out.gguf", "--to", "q8_0") for source in (HUB, BUCKET)])
    finally:
        SERVER.page = 1000


@case
def a_list_that_is_not_known_to_be_whole_is_refused():
    bucket, hub, web_folder = (BUCKET, "*/s3/bucket*"), (HUB, "*/tree/*"), (web("summed/model/"), "*/SHA256SUMS")
    faults = [
        (bucket, "was cut", Fault("early")), (bucket, "not a list of a bucket", Fault("answer", b"<html>sign in</html>")),
        (bucket, "not a list of a bucket", Fault("answer", b"{}")), (bucket, "not a list of a bucket", Fault("answer", b"")),
        (bucket, "SlowDown", Fault("answer", b"<?xml?><Error><Code>SlowDown</Code><Message>wait</Message></Error>")),
        (bucket, "names no next page", Fault("edit", (b"<IsTruncated>false", b"<IsTruncated>true"))),
        (bucket, "without key or size", Fault("edit", (b"<Key>models/model/tokenizer.json</Key>", b""))),
        (bucket, "XML comments", Fault("edit", (b"<Key>models/model/tokenizer.json</Key>", b"<Key><![CDATA[models/model/tokenizer.json]]></Key>"))),
        (bucket, "does not end", Fault("edit", (b"</Contents></ListBucketResult>", b"</ListBucketResult>"))),
        (hub, "tree", Fault("early")), (hub, "tree", Fault("answer", b"<html>sign in</html>")), (hub, "not an array", Fault("answer", b"{}")),
        (web_folder, "expected 206", Fault("early")), (web_folder, "line 1", Fault("answer", b"<html>sign in</html>")),
    ]
    good = True
    for (source, path), words, fault in faults:
        strike(Fault(fault.name, fault.value, path))
        good = is_refused(words, "convert", source, OUT) and good
    SERVER.page = 2
    try:
        for words, name, value, path in (("read already", "again", "self", "*tree*"), ("twice", "again", "other", "*tree*"), ("Link is", "link", "next", "*tree*")):
            strike(Fault(name, value, path))
            good = is_refused(words, "convert", HUB, OUT) and len(SERVER.log) <= 4 and good or print(words, len(SERVER.log))
        strike(Fault("links", path="*tree*"))
        good = converts_alike(HUB, "out.gguf", "--to", "q8_0") and good
        strike(Fault("edit", (b"Token>4<", b"Token>2<"), "*/s3/bucket*", skip=1, times=1))
        good = is_refused("read already", "convert", BUCKET, OUT) and good
    finally:
        SERVER.page = 1000
    return good


@case
def a_next_page_elsewhere_is_refused():
    SERVER.page, good = 2, True
    port = SERVER.cdn.rsplit(":", 1)[1]
    links = {"is on another host": [SERVER.cdn + "/x", f"//127.0.0.1:{port}/x", "http://localhost:1/x", "https://127.0.0.1/x"],
             "another scheme": ["file:///etc/passwd", "ftp://127.0.0.1/x", "gopher:x"], "a user name": ["http://me:secret@127.0.0.1/x"],
             "%XX": ["/a b", "/\\x"], "Link is": ["x"]}
    try:
        for words, link in [(words, link) for words, each in links.items() for link in each]:
            strike(Fault("link", link if words == "Link is" else f'<{link}>; rel="next"', "*tree*"))
            good = is_refused(words, "convert", HUB, OUT) and all("/api/" in line["path"] for line in SERVER.log) and good or print(link, SERVER.log)
        strike(Fault("redirect", f"/api/models/org/model/tree/{SERVER.commit('org/model')}", "*tree*"))
        return is_refused("more than 8 redirects", "convert", HUB, OUT) and len(SERVER.log) <= 12 and good
    finally:
        SERVER.page = 1000


@case
def an_answer_for_another_commit_is_refused():
    good = True
    for path, commit in itertools.product(("*tree*", "*/resolve/*config.json", "*/resolve/*safetensors", "*resolve-cache*config.json"), ("0" * 40, "main", "", "\x1b[2J")):
        strike(Fault("commit", commit, path))
        good = is_refused("x-repo-commit", "convert", HUB, OUT) and good or print(path, commit)
    strike(Fault("commit", None))   # the commit is part of each URL
    return converts_alike(HUB, "out.gguf", "--to", "q8_0") and good


@case
def answers_in_chunks_end_in_equal_bytes():
    strike(Fault("chunked"))
    good = all([converts_alike(source, "out.gguf", "--to", "q8_0") for source in (HUB, BUCKET, web("summed/model/"), web("indexed/model"))])
    strike(Fault("chunked", path="*safetensors"), Fault("short", path="*safetensors"))
    return is_refused("the server sent bytes", "convert", HUB, OUT, "--to", "q8_0") and good


@case
def redirects_end_and_keep_to_https():
    strike(Fault("redirect", "/web/summed/model/config.json", "*/config.json"))
    good = is_refused("more than 8 redirects", "convert", web("summed/model/"), OUT) and len(SERVER.log) < 40
    origin, certificate = SERVER.encrypt()
    strike(Fault("redirect", web("summed/model/config.json"), "*/config.json"))
    good = is_refused("expected https", "convert", origin + "/web/summed/model/", OUT, SSL_CERT_FILE=str(certificate)) and good
    return good and len([line for line in SERVER.log if line["path"].endswith("/config.json")]) == 1 or print(SERVER.log)


@case
def a_run_that_waits_for_a_server_ends_with_ctrl_c():
    good = True
    for fault, latency in ((Fault("429", 500), 0), (None, 20)):
        strike(*[fault] if fault else [])
        SERVER.latency = latency
        process = subprocess.Popen([CKPT, "convert", HUB, OUT], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **SERVER.environment()})
        while not SERVER.log and not SERVER.at_once:
            time.sleep(0.05)
        time.sleep(0.3)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        text = process.communicate(timeout=60)[0]
        good = process.returncode == 130 and time.monotonic() - start < 5 and good or print(process.returncode, text, time.monotonic() - start)
    SERVER.latency = 0
    return good


@case
def the_token_reaches_the_hub_alone():
    strike()
    SERVER.token = "hf_secret"
    try:
        good = converts_alike(HUB, "out.gguf", "--to", "q8_0")
        at_cdn = [line for line in SERVER.log if line["at"] == "cdn"]
        code, text = run("show", HUB, HF_TOKEN="hf_wrong")
        return good and at_cdn and not any(line["token"] for line in at_cdn) and code == 2 and "hf_" not in text.replace("HF_TOKEN", "")
    finally:
        SERVER.token = ""


@case
def every_read_of_a_file_has_a_range():
    strike()
    good = converts_alike(HUB, "out.gguf", "--to", "q8_0") and converts_alike(BUCKET, "out.gguf", "--to", "q8_0")
    bare = [line for line in SERVER.log if line["range"] is None and "/api/models/" not in line["path"] and "list-type" not in line["path"]]
    return good and not bare or print(bare)


@case
def cuts_resets_and_busy_servers_end_in_equal_bytes():
    good = True
    for faults in ([Fault("cut", 3000, "*safetensors", 4)], [Fault("reset", 3000, "*safetensors", 4, only="cdn")], [Fault("429", 1, times=2, skip=3)],
                   [Fault("ratelimit", 1, times=1, skip=2)], [Fault("status", 503, times=2, skip=1)], [Fault("status", 500, "*safetensors", 2, only="cdn")],
                   [Fault("status", 403, "*safetensors", 1, 1, only="cdn")]):
        strike(*faults)
        good = converts_alike(HUB, "out.gguf", "--to", "q8_0") and good
        assert any(line["status"] >= 400 or line["sent"] in (0, 3000) for line in SERVER.log), faults[0].name
    return good


@case
def answers_that_are_not_what_was_asked_for_end_in_a_sentence():
    weights = "*safetensors"
    faults = {
        "expected 206": Fault("whole", path=weights, only="cdn", skip=1), "the server sent bytes": Fault("short", path=weights, only="cdn"),
        "the file has": Fault("shifted", path=weights, only="cdn"), "another ETag": Fault("etag", path=weights, only="cdn"),
        "Content-Encoding 'gzip'": Fault("gzip", path=weights, only="cdn"), "answered 403": Fault("status", 403, weights, only="cdn"),
        "more than 33554432": Fault("endless", path="*tree*"), "the server sent more than": Fault("endless", path="*cache*config.json"),
        "header": Fault("headers", 200_000, "*tree*"),
        "expected http": Fault("redirect", "https://127.0.0.1:1/x", weights, only="hub"), "another scheme": Fault("redirect", "file:///etc/passwd", weights),
        "than the list of files says": Fault("flip", path="*config.json"), "another SHA-256": Fault("stale", path=weights, only="hub"),
    }
    good = True
    for words, fault in faults.items():
        strike(fault)
        good = is_refused(words, "convert", HUB, OUT, "--to", "q8_0") and good
    return good


@case
def answers_that_say_nothing_of_the_bytes_are_no_verdict():
    """verify, diff and doctor exit 2 and call nothing unsound; bytes that differ from the list are a verdict."""
    weights, good = "*safetensors", True
    faults = [Fault("whole", path=weights), Fault("short", path=weights), Fault("etag", path=weights), Fault("gzip", path=weights),
              Fault("headers", 200_000, weights), Fault("redirect", "https://127.0.0.1:1/x", weights), Fault("status", 403, weights)]
    commands = [["verify"], ["diff", "model"], ["doctor", "--for", "vllm"]]
    for fault in faults:
        for command, source in itertools.product(commands, (HUB, web("summed/model/"))):
            if fault.name == "etag" and command[0] != "diff":
                continue   # bytes as listed are sound, and one answer tells nothing of a change
            strike(Fault(fault.name, fault.value, fault.path))
            code, text = run(*command, source)
            good = (code == 2 and "sound:" not in text and "not load" not in text or print(fault.name, command, source, code, text)) and good
    strike(Fault("endless", path="*tree*"))
    good = (run("diff", "model", HUB)[0] == 2 or print("the hub's list")) and good
    for source, fault in ((HUB, Fault("shifted", path=weights, only="cdn")), (HUB, Fault("flip", path="*config.json")),
                          (web("summed/model/"), Fault("last", path=weights))):
        strike(fault)
        code, text = run("verify", source)
        good = (code == 1 and "not sound" in text or print(fault.name, source, code, text)) and good
    return good


@case
def sums_on_the_web_are_read_like_those_of_a_folder():
    strike()
    folder = SERVER.root / "web/sums"
    shutil.copytree("model", folder)
    (folder / "empty.txt").write_text("")
    subprocess.run([CKPT, "publish", "-q", folder], check=True, stdout=subprocess.DEVNULL)
    sums, good = folder / "SHA256SUMS", True
    text = sums.read_text()
    forms = {"as it is": (text, 0), "line ends": (text.replace("\n", "\r\n"), 0), "dots": (text.replace("  ", "  ./"), 0),
             "comment": ("# sums\n" + text, 0), "capitals": ("".join(line[:64].upper() + line[64:] for line in text.splitlines(True)), 0),
             "missing": (text + "0" * 64 + "  more.txt\n", 1), "changed": (text.replace(text[:8], "0" * 8, 1), 1),
             "no line": (text + "no line of sums\n", 1), "outside": (text + "0" * 64 + "  ../x\n", 1)}
    for name, (form, expected) in forms.items():
        sums.write_bytes(form.encode())
        codes = [run("verify", "-q", place)[0] for place in (folder, web("sums/"))]
        good = (codes == [expected, expected] or print(name, codes)) and good
    shutil.rmtree(folder)
    return good


@case
def secrets_in_urls_and_proxies_are_not_shown():
    good, secret = True, "S3CRET"
    for proxy in ("http://user:S3CRET@PW@127.0.0.1:1", "http://user:S3CRET/PW@127.0.0.1:1", "user:S3CRET@127.0.0.1:x", "http://user:S3CRET/PW"):
        for more in ([], ["--json"]):
            code, text = run("show", "http://example.invalid/x.gguf", *more, http_proxy=proxy)
            good = (code == 2 and secret not in text or print(proxy, code, text)) and good
    for name, url in itertools.product(("HF_ENDPOINT", "AWS_ENDPOINT_URL"), ("http://u:S3CRET@h", "http://u:S3CRET/x@h", "u:S3CRET@h/x")):
        code, text = run("show", HUB if name == "HF_ENDPOINT" else BUCKET, **{name: url})
        good = (code == 2 and secret not in text and name in text or print(name, url, code, text)) and good
    strike(Fault("redirect", "http://u:S3CRET/x@127.0.0.1:1/", "*"))
    code, text = run("show", web("summed/model/"))
    return (code == 2 and secret not in text or print(code, text)) and good


@case
def names_that_leave_the_folder_are_refused():
    good = True
    for name in ("../x.json", "/etc/passwd", "a/../../x", "a\\..\\x", "a\nb", "./x"):
        strike()
        SERVER.made_up[:] = [name]
        good = is_refused("leads out of its folder", "convert", HUB, OUT, "--to", "q8_0") and good
    SERVER.made_up.clear()
    return good


@case
def a_plan_names_the_commit_and_reads_it_later():
    strike()
    commit = SERVER.commit("org/model")
    assert run("convert", HUB, "planned.gguf", "--to", "q8_0", "--plan-out", "plan.json", "--force")[0] == 0
    plan = json.loads(pathlib.Path("plan.json").read_text())
    good = plan["convert"]["in"] == f"hf://org/model@{commit}" and "hf_" not in json.dumps(plan)
    code, text = run("execute", "plan.json")
    return good and code == 0 and digests("planned.gguf") == digests("local-out.gguf") or print(plan["convert"], text)


@case
def missing_things_are_named():
    strike()
    return all([is_refused("Repository not found", "show", "hf://org/absent"), is_refused("Invalid rev id", "show", HUB + "@absent"),
                is_refused("does not exist", "show", HUB + "/absent"), is_refused("does not exist", "show", BUCKET + "/absent"),
                is_refused("NoSuchBucket", "show", "s3://absent/x"), is_refused("does not exist", "show", web("absent/")),
                is_refused("SignatureDoesNotMatch", "show", BUCKET, AWS_SECRET_ACCESS_KEY="wrong"),
                is_refused("not the name of a repository", "show", "hf://org/na me"), is_refused("names no repository", "show", "hf://org"),
                is_refused("not a URL that is read here", "show", "ftp://host/model"), is_refused("has a query", "show", web("summed/model/?token=secret")), is_refused("a user name", "show", "http://me:secret@127.0.0.1/x")])


@case
def a_page_of_a_hub_leads_to_the_form_that_is_read():
    strike()
    forms = {"page": "hf://web/page", "repo/blob/main/x.gguf": "hf://web/repo@main/x.gguf", "repo/tree/main": "hf://web/repo", "repo/tree/v2/q": "hf://web/repo@v2/q"}
    for path in forms:
        page = SERVER.root / "web" / path
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_bytes(b"\n<!doctype html><title>ORG/NAME</title>")
    good = [is_refused(f"Try: {form} with HF_ENDPOINT={SERVER.origin}", "convert", web(path), OUT) for path, form in forms.items()]
    strike(Fault("page", value="web/page"))   # a hub answers every path below a page with one
    for path, form in (("some/", "hf://web/some"), ("repo/tree/v2/", "hf://web/repo@v2")):
        good.append(is_refused(f"Try: {form} with HF_ENDPOINT={SERVER.origin}", "show", web(path)))
    return all(good)


@case
def urls_are_never_written():
    strike()
    return all([is_refused("never written", "convert", "model", url, "--to", "q8_0") for url in (HUB, BUCKET, web("x.gguf"))] +
               [is_refused("never written", "patch", HUB, "--step", "drop:tensors=*")])


@case
def the_doctor_advises_a_copy_and_patch_makes_it():
    strike()
    step = ["--step", "tokenizer:for=transformers-4.57"]
    good = all(run("patch", source, "--out", out, *step)[0] == 0 for source, out in (("model", "local-patched"), (HUB, "patched")))
    code, text = run("doctor", HUB, "--for", "transformers-4.57")
    advised = f"ckpt patch {HUB} --out model-fixed {' '.join(step)}" in text and f"ckpt doctor {HUB} --fix --out model-fixed" in text
    return good and advised and digests("patched") == digests("local-patched") or print(code, text)


@case
def files_of_the_hub_s_cache_are_read_from_there():
    strike()
    weights = next(MODEL.glob("*.safetensors"))
    blobs = pathlib.Path(SERVER.root / "hf_home/hub/models--org--model/blobs")
    blobs.mkdir(parents=True)
    shutil.copy(weights, blobs / hashlib.sha256(weights.read_bytes()).hexdigest())
    good = converts_alike(HUB, "out.gguf", "--to", "q8_0") and not any(line["at"] == "cdn" for line in SERVER.log)
    shutil.rmtree(blobs)
    return good


@case
def one_of_several_files_is_no_model_and_its_folder_is_advised():
    strike()
    cut = SERVER.root / "web/cut"
    cut.mkdir()
    shutil.copy(next(MODEL.glob("*.safetensors")), cut / "model-00001-of-00002.safetensors")
    source = web("cut/model-00001-of-00002.safetensors")
    good = is_refused(f"one of 2 files that a model was cut into. Try: the same command with {web('cut')}\n", "convert", source, "refused")
    shutil.rmtree(cut)
    return good


@case
def show_reads_headers_and_documents_alone():
    strike()
    big = SERVER.root / "hub/org/big"
    big.mkdir()
    for number in range(1, 13):
        header = json.dumps({f"w{number}": {"dtype": "BF16", "shape": [1024, 1024], "data_offsets": [0, 1 << 21]}}).encode()
        (big / f"model-{number:05}-of-00012.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(1 << 21))
    (big / "tokenizer.json").write_bytes(bytes(1 << 21))
    code, text = run("show", "hf://org/big")
    asked = [line["sent"] for line in SERVER.log if "org/big" in line["path"]]
    sent, count = sum(asked), len(asked)
    shutil.rmtree(big)
    return code == 0 and "25.2 MB" in text and sent < 250_000 and count <= 2 + 2 * 12 or print(code, text, sent, count)


def write_gguf(path, size_bytes):
    """One F32 tensor."""
    def text(word):
        return struct.pack("<Q", len(word)) + word

    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + text(b"general.architecture") + struct.pack("<I", 8) + text(b"llama")
    head += text(b"blk.0.ffn_up.weight") + struct.pack("<IQQIQ", 2, 4096, size_bytes // 4 // 4096, 0, 0)
    path.write_bytes(head + bytes(-len(head) % 32) + bytes(size_bytes))


def start_and_kill(source, out):
    """A run that had half of a file of 192 MB when it was killed."""
    SERVER.log = []
    SERVER.latency = 0.8
    words = ["convert", source, out, "--threads", "1", "--memory", "128M"]
    process = subprocess.Popen([CKPT, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **SERVER.environment()})
    while process.poll() is None and sum(line["sent"] for line in SERVER.log) < 96 << 20:
        time.sleep(0.05)
    time.sleep(0.6)   # the ledger is written each 0.1 s
    process.kill()
    process.wait()
    SERVER.latency = 0
    while SERVER.waiting:   # for the killed run: the next case would count them among its own
        time.sleep(0.01)
    return words


@case
def a_killed_run_fetches_no_finished_range_again():
    strike()
    size = 192 << 20
    write_gguf(SERVER.root / "web/big.gguf", size)
    words = start_and_kill(web("big.gguf"), "big.gguf")   # 30 MB under way
    strike()
    code, text = run(*words)
    sent = sum(line["sent"] for line in SERVER.log)
    (SERVER.root / "web/big.gguf").rename("local-big.gguf")
    good = code == 0 and "resuming" in text and sent < 3 * size // 4 and digests("big.gguf") == digests("local-big.gguf")
    return good or print(code, text, sent)


@case
def many_ranges_are_asked_for_at_once_and_fewer_of_a_server_that_refuses():
    strike()
    size = 48 << 20
    write_gguf(SERVER.root / "web/wide.gguf", size)
    SERVER.latency, SERVER.most_at_once = 0.1, 0
    code, text = run("convert", web("wide.gguf"), "wide.gguf", "--threads", "1", "--memory", "128M")
    good = code == 0 and 8 <= SERVER.most_at_once <= 17 or print(code, text, SERVER.most_at_once)
    strike(Fault("crowd", 4))
    code, text = run("convert", web("wide.gguf"), "wide.gguf", "--threads", "1", "--memory", "128M", "--force")
    SERVER.latency = 0
    refused = sum(line["status"] == 429 for line in SERVER.log)
    good = good and (code == 0 and 1 <= refused < 60 or print(code, text, refused))
    (SERVER.root / "web/wide.gguf").rename("local-wide.gguf")
    return good and digests("wide.gguf") == digests("local-wide.gguf")


@case
def measuring_reads_many_weights_at_once():
    strike()
    SERVER.latency, SERVER.most_at_once = 0.1, 0
    code, text = run("convert", HUB, "measured.gguf", "--target-size", "2MB", "--threads", "1", "--dry-run")
    SERVER.latency = 0
    return code == 0 and 8 <= SERVER.most_at_once <= 16 or print(code, text, SERVER.most_at_once)


@case
def verify_asks_for_many_ranges_of_a_file_at_once():
    strike()
    folder = SERVER.root / "web/large"
    folder.mkdir()
    write_gguf(folder / "large.gguf", 48 << 20)
    subprocess.run([CKPT, "publish", "-q", folder], check=True, stdout=subprocess.DEVNULL)
    SERVER.latency, SERVER.most_at_once = 0.1, 0
    code, text = run("verify", web("large/large.gguf"))
    SERVER.latency = 0
    shutil.rmtree(folder)
    return code == 0 and "SHA-256 of 1 file" in text and 4 <= SERVER.most_at_once <= 9 or print(code, text, SERVER.most_at_once)


@case
def the_rate_keeps_its_limit():
    strike()
    write_gguf(SERVER.root / "web/slow.gguf", 3 << 20)
    start = time.monotonic()
    code, text = run("convert", web("slow.gguf"), "slow.gguf", "--limit-rate", "2M")
    return code == 0 and time.monotonic() - start >= 1.4 or print(code, text, time.monotonic() - start)


@case
def what_is_read_twice_comes_from_the_cache_the_second_time():
    """A tensor of 8 MB, for whose scan 8 MB of memory are too little."""
    rows, columns = 4096, 1024
    folder = SERVER.root / "web/scanned"
    folder.mkdir()
    header = json.dumps({"model.layers.0.mlp.up_proj.weight": {"dtype": "BF16", "shape": [rows, columns], "data_offsets": [0, 2 * rows * columns]}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\x80\x3f" * (rows * columns))
    shutil.copy("model/config.json", folder)
    subprocess.run([CKPT, "publish", "-q", folder], check=True, stdout=subprocess.DEVNULL)
    os.mkdir("cache")
    words, sent, outputs = ["convert", web("scanned/"), "scanned", "--to", "nvfp4-w4a16", "--memory", "8M", "--force"], [], []
    for more in ([], ["--cache-dir", "cache"], ["--cache-dir", "cache", "--cache-size", "1M"]):
        strike()
        code, text = run(*words, *more)
        assert code == 0, text
        sent.append(sum(line["sent"] for line in SERVER.log if line["path"].endswith("model.safetensors")) / (2 * rows * columns))
        outputs.append(digests("scanned"))
    good = outputs[0] == outputs[1] == outputs[2] and sent[0] > 1.5 and sent[1] < 1.1 and 1.1 < sent[2] < sent[0] or print(sent)
    good = good and not os.listdir("cache")
    good = good and is_refused("--cache-size needs --cache-dir", "convert", web("scanned/"), "refused", "--to", "nvfp4-w4a16", "--cache-size", "8M")
    good = good and is_refused("nothing is read twice from a URL", "convert", "model", "refused", "--to", "nvfp4-w4a16", "--cache-dir", "cache")
    cached = ["--to", "nvfp4-w4a16", "--cache-dir", "cache"]
    good = good and is_refused("not part of a plan", "convert", web("scanned/"), "refused", *cached, "--plan-out", "refused.json")
    good = good and is_refused("nothing is read twice from a URL", "convert", "model", "refused", *cached, "--dry-run")
    good = good and is_refused("only for one output", "convert", web("scanned/"), "refused", *cached, "--also", "refused2=bf16")
    return good and is_refused("nowhere", "convert", web("scanned/"), "refused", "--to", "nvfp4-w4a16", "--cache-dir", "nowhere")


@case
def shares_of_a_remote_plan_give_the_bytes_of_a_local_run():
    strike()
    assert run("convert", HUB, "shared.gguf", "--to", "q8_0", "--plan-out", "shares.json", "--force")[0] == 0
    done = [run("execute", "shares.json", "--part", f"{part}/3") for part in (2, 3, 1)]
    return all(code == 0 for code, _ in done) and digests("shared.gguf") == digests("local-out.gguf") or print(done)


@case
def each_share_of_a_remote_plan_reads_its_own_part():
    """Two shares may meet in a tensor, or in a block of 8 MB; where tensors are scanned first, both read it."""
    folder, size = SERVER.root / "web/parts", 1 << 20
    folder.mkdir()
    shutil.copy("model/config.json", folder)
    names = [f"model.layers.{number}.mlp.down_proj.weight" for number in range(12)]
    for shard in range(2):
        rows = {name: {"dtype": "BF16", "shape": [1024, 1024], "data_offsets": [2 * size * at, 2 * size * (at + 1)]} for at, name in enumerate(names[6 * shard:6 * shard + 6])}
        header = json.dumps(rows).encode()
        (folder / f"model-{shard + 1:05}-of-00002.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\x80\x3f" * (6 * size))
    index = {"metadata": {}, "weight_map": {name: f"model-{at // 6 + 1:05}-of-00002.safetensors" for at, name in enumerate(names)}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    subprocess.run([CKPT, "publish", "-q", folder], check=True, stdout=subprocess.DEVNULL)
    whole, good = 24 * size, True
    for options, most in ((["--step", "cast:type=f32"], 1.05), (["--to", "nvfp4-w4a16"], 1.6)):
        assert run("convert", folder, "parts-local", *options, "--force")[0] == 0
        code, text = run("convert", web("parts/"), "parts", *options, "--plan-out", "parts.json", "--force")
        assert code == 0, text
        sent = []
        for part in (2, 4, 1, 3):
            strike()
            code, text = run("execute", "parts.json", "--part", f"{part}/4")
            good = code == 0 and good or print(code, text)
            sent.append(sum(line["sent"] for line in SERVER.log if line["path"].endswith(".safetensors")) / whole)
        good = max(sent) < 0.6 and sum(sent) < most and digests("parts") == digests("parts-local") and good or print(options, sent)
        shutil.rmtree("parts")
    shutil.rmtree(folder)
    return good


@case
def a_change_between_plan_and_run_is_noticed():
    strike()
    write_gguf(SERVER.root / "web/moving.gguf", 1 << 20)
    assert run("convert", web("moving.gguf"), "refused.gguf", "--plan-out", "moving.json", "--force")[0] == 0
    data = (SERVER.root / "web/moving.gguf").read_bytes()
    (SERVER.root / "web/moving.gguf").write_bytes(data[:-4] + b"abc?")
    return is_refused("moving.gguf", "execute", "moving.json")


def replace_with_another_of_that_size(path):
    data = bytearray(path.read_bytes())
    data[-4:] = b"abc?"
    path.write_bytes(data)
    os.utime(path, (time.time() + 100, time.time() + 100))


@case
def last_modified_tells_a_file_from_another_where_the_server_sends_no_etag():
    path, source = SERVER.root / "web/dated.gguf", web("dated.gguf")
    write_gguf(path, 192 << 20)
    strike(Fault("modified", 0), Fault("modified", 60, "*.gguf", skip=6))
    good = is_refused("another Last-Modified", "convert", source, OUT)
    strike(Fault("modified", 0))
    assert run("convert", source, "refused.gguf", "--plan-out", "dated.json", "--force")[0] == 0
    words = start_and_kill(source, "refused.gguf")
    code, text = run("convert", source, "needed.gguf", "--if-needed")
    good = good and code == 0 or print(code, text)
    replace_with_another_of_that_size(path)
    good = is_refused("begun before its input changed", *words) and is_refused("dated.gguf was written to in between", "execute", "dated.json") and good
    code, text = run("convert", source, "needed.gguf", "--if-needed", "--force")
    good = good and code == 0 and "up to date" not in text and digests("needed.gguf") == digests(path) or print(code, text)
    code, text = run("convert", source, "needed.gguf", "--if-needed", "--force")
    good = good and code == 0 and "up to date" in text or print(code, text)
    path.unlink()
    return good


@case
def a_file_whose_changes_nothing_tells_is_noted_once_and_never_resumed():
    path, source = SERVER.root / "web/stateless.gguf", web("stateless.gguf")
    write_gguf(path, 192 << 20)
    strike(Fault("stateless"))
    code, text = run("convert", source, "stateless.gguf", "--if-needed")
    good = code == 0 and text.count("neither ETag nor Last-Modified") == 1 and "cannot resume" in text or print(code, text)
    code, text = run("convert", source, "stateless.gguf", "--if-needed", "--force")
    good = good and code == 0 and "up to date" not in text or print(code, text)
    words = start_and_kill(source, "refused.gguf")
    good = is_refused("may have been replaced", *words) and good
    assert run("convert", source, "refused.gguf", "--plan-out", "stateless.json", "--force")[0] == 0
    good = is_refused("may have been replaced", "execute", "stateless.json") and good
    path.unlink()
    strike(Fault("stateless", path="*/model.safetensors"))   # named by SHA256SUMS
    code, text = run("convert", web("summed/model/"), "stateless", "--if-needed")
    good = good and code == 0 and text.count("neither ETag nor Last-Modified") == 1 and "cannot resume" not in text or print(code, text)
    code, text = run("convert", web("summed/model/"), "stateless", "--if-needed")
    good = good and code == 0 and "up to date" in text or print(code, text)
    shutil.rmtree("stateless")
    strike(Fault("stateless", path="*model.safetensors", skip=1))   # the first answer told a state
    return is_refused("the server sent no ETag", "convert", web("summed/model/"), OUT, "--to", "q8_0") and good


@case
def a_bucket_of_amazon_is_read_in_its_own_region():
    strike()
    shutil.copytree(SERVER.root / "s3/bucket", SERVER.root / "s3/dotted.bucket")
    amazon, good = Amazon(SERVER, "eu-west-1"), True
    assert run("convert", "model", "local-region.gguf", "--to", "q8_0")[0] == 0
    for bucket, region in itertools.product(("bucket", "dotted.bucket"), ("eu-west-1", "us-east-1")):
        amazon.asked.clear()
        code, text = run("convert", f"s3://{bucket}/models/model", "region.gguf", "--to", "q8_0", "--force", **amazon.environment, AWS_REGION=region)
        host = f"s3.eu-west-1.amazonaws.com" if "." in bucket else f"{bucket}.s3.eu-west-1.amazonaws.com"
        strays = [each for each in amazon.asked[1:] if each[0] != host or "//" in each[1]]
        good = good and code == 0 and digests("region.gguf") == digests("local-region.gguf") and not strays or print(code, text, strays)
    return good


@case
def an_authority_of_ones_own_is_trusted_where_it_is_named():
    strike()
    origin, certificate = SERVER.encrypt()
    os.environ["SSL_CERT_FILE"] = str(certificate)
    try:
        good = converts_alike(origin + "/web/summed/model/", "out.gguf", "--to", "q8_0")
    finally:
        del os.environ["SSL_CERT_FILE"]
    return good and is_refused("SSL_CERT_FILE", "convert", origin + "/web/summed/model/", OUT)


def lay_out_adapters():
    """A model, an adapter of it as a folder and as a file, and the model as a file, here and at each kind of source; the words that name a source's."""
    os.mkdir("near")
    for name, files in (("base", TESTDATA / "llama-micro"), ("adapter", TESTDATA / "lora/plain-bf16")):
        shutil.copytree(files, f"near/{name}")
    assert run("convert", "near/base", "near/base.gguf", "--to", "q8_0")[0] == 0
    assert run("convert", "near/adapter", "near/adapter.gguf", "--base", "near/base")[0] == 0
    for place in ("web", "s3/bucket"):
        shutil.copytree("near", SERVER.root / place / "near")
    for name in ("base", "adapter"):
        shutil.copytree(f"near/{name}", SERVER.root / "hub/org" / name)
        shutil.copy(f"near/{name}.gguf", SERVER.root / "hub/org" / name)
        subprocess.run([CKPT, "publish", "-q", SERVER.root / "web/near" / name], check=True, stdout=subprocess.DEVNULL)
    names = {"base": "base/", "adapter": "adapter/", "base_file": "base.gguf", "adapter_file": "adapter.gguf"}
    near, bucket, pages = ({name: front + path for name, path in names.items()} for front in ("near/", "s3://bucket/near/", web("near/")))
    hub = {"base": "hf://org/base", "adapter": "hf://org/adapter", "base_file": "hf://org/base/base.gguf", "adapter_file": "hf://org/adapter/adapter.gguf"}
    mixed = {"base": pages["base"], "adapter": bucket["adapter"], "base_file": bucket["base_file"], "adapter_file": pages["adapter_file"]}
    return {"near": near, "hub": hub, "mixed": mixed}


@case
def adapters_and_bases_of_any_source_give_the_bytes_of_a_local_run():
    strike()
    sources = lay_out_adapters()
    recipe = {"in": "{base}", "to": "q8_0", "steps": [{"name": "lora", "from": "{adapter}"}, {"name": "lora", "from": "{adapter_file}", "scale": 0.5}]}
    commands = {
        "merged": ["{base}", "--step", "lora:from={adapter}"],
        "merged.gguf": ["{base}", "--to", "q8_0", "--step", "lora:from={adapter}"],
        "of-a-file.gguf": ["{base}", "--to", "q8_0", "--step", "lora:from={adapter_file},scale=0.5"],
        "into-a-file.gguf": ["{base_file}", "--step", "lora:from={adapter},base={base}"],
        "adapter.gguf": ["{adapter}", "--base", "{base}"],
        "back": ["{base_file}", "--step", "from-gguf", "--base", "{base}"],
        "back-by-step": ["{base_file}", "--step", "from-gguf:base={base},tokenizer={base}"],
        "grafted": ["{base}", "--step", "graft:from={base},tensors=lm_head.weight,replace=yes", "--tokenizer", "{base}"],
        "of-a-recipe.gguf": ["--recipe", "recipes/{place}.json"],
    }
    os.mkdir("recipes")   # paths in it are relative to its folder, URLs are not
    good = True
    for place, words in sources.items():
        inside = {name: word if "://" in word else "../" + word for name, word in words.items()}
        steps = [{key: value.format(**inside) if isinstance(value, str) else value for key, value in step.items()} for step in recipe["steps"]]
        pathlib.Path("recipes", place + ".json").write_text(json.dumps({**recipe, "in": recipe["in"].format(**inside), "steps": steps}))
        for out, command in commands.items():
            made = f"{place}-{out}"
            first, *rest = [word.format(place=place, **words) for word in command]
            typed = [first, rest[0], "-o", made] if first == "--recipe" else [first, made, *rest]
            SERVER.log = []
            code, text = run("convert", *typed)
            is_alike = code == 0 and digests(made) == digests(f"near-{out}")
            # A range for each row that the kept share samples would be 6,000 and more.
            good = (is_alike and len(SERVER.log) < 1000 or print(place, out, code, text, len(SERVER.log))) and good
    return bool(good)


def lay_out(root):
    shutil.copytree(MODEL, "model")
    for name in ("README.md", "LICENSE", "chat_templates.json", "sentence_bert_config.json"):   # on no model's list of files
        pathlib.Path("model", name).write_text("{}")
    for place in ("hub/org/model", "web/summed/model", "web/indexed/model", "s3/bucket/models/model"):
        shutil.copytree("model", root / place)
    subprocess.run([CKPT, "publish", "-q", root / "web/summed/model"], check=True, stdout=subprocess.DEVNULL)
    (root / "s3/bucket/models/model-more").mkdir()
    (root / "s3/bucket/models/model-more/config.json").write_text("{}")   # not below the prefix "model"


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    SERVER = Server(pathlib.Path(folder) / "served")
    lay_out(SERVER.root)
    failed = []
    wanted = set(sys.argv[3:]) or {function.__name__ for function in CASES}
    assert wanted <= {function.__name__ for function in CASES}, wanted
    for function in CASES:
        if function.__name__ not in wanted:
            continue
        if not function():
            failed.append(function.__name__)
            print("FAILED:", function.__name__)
    print(f"{len(wanted)} rules, {len(failed)} broken")
    sys.exit(1 if failed else 0)
