#!/usr/bin/env python3
"""Attempts of a stranger, another user and a careless command: unintended option values, digests planted next to files,
imports of recipes from elsewhere, --force on folders that hold more than a checkpoint, secrets and leftovers in what is published, and
folders that changed after they were signed. Each case is a function that returns whether the rule in its name held.

usage: attacks.py CKPT TESTDATA [NAME...]
"""
import atexit
import functools
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

CKPT, TESTDATA = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
KEY, PUBLIC, OTHER_PUBLIC = (TESTDATA / "publish" / name for name in ("p256.pem", "p256.pub", "p384.pub"))
OTHER_KEY = TESTDATA / "publish/p384.pem"
RECIPE = TESTDATA / "export/recipes/experts_nvfp4-attention_fp8_blocks.yaml"
SNIPPET = ("# modelopt-schema: modelopt.torch.quantization.config.QuantizerAttributeConfig\n"
           "num_bits: e2m1\nblock_sizes: {-1: 16, type: dynamic, scale_bits: e4m3}\n")
IS_ROOT = os.getuid() == 0
OTHER, THIRD = 12345, 12346   # users
CASES = []
UNTRIED = []   # once for each case that needs root, for files of another user


def not_tried():
    UNTRIED.append(None)
    return True


def case(function):
    CASES.append(function)
    return function


def run(*words, **more):
    done = subprocess.run([CKPT, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, **more)
    return done.returncode, done.stdout + done.stderr


@functools.cache
def copy_for_all():
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    os.chmod(folder, 0o755)
    shutil.copy(CKPT, folder)
    return folder + "/" + CKPT.name


def as_other(*words, user=OTHER, group=OTHER, umask=0o022):
    """The same by a user who is not root, whoever runs this."""
    who = {"user": user, "group": group, "extra_groups": []} if IS_ROOT else {}
    done = subprocess.run([copy_for_all(), *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, umask=umask, **who)
    return done.returncode, done.stdout + done.stderr


def give(path, user=OTHER, group=OTHER):
    for each in (pathlib.Path(path), *pathlib.Path(path).rglob("*")):
        if IS_ROOT:
            os.chown(each, user, group)


def refused(*words, **more):
    return run(*words, **more)[0] == 2


def write(path, text):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


def text_of(path):
    return pathlib.Path(path).read_text()


def is_there(*paths):
    return all(os.path.lexists(path) for path in paths)


def model(name="m", source="qwen3-micro"):
    shutil.copytree(TESTDATA / source, name)


def gguf(name, *more):
    pathlib.Path(name).parent.mkdir(exist_ok=True)
    assert run("convert", TESTDATA / "qwen3-micro", name, "-q", *more)[0] == 0


def signed():
    model()
    assert run("publish", "m", "--sign", KEY, "-q")[0] == 0


# ---- options ------------------------------------------------------------------------------------


def refuses_words(*words):
    model()
    before = sorted(os.listdir("m"))
    return refused(*words) and sorted(os.listdir("m")) == before and sorted(os.listdir(".")) == ["m"]


OPTIONS = {
    "short_name_with_nothing_behind_equals": ["convert", "m", "-o="],
    "long_name_with_nothing_behind_equals": ["convert", "m", "--outfile="],
    "empty_word": ["convert", "m", "-o", ""],
    "a_key_that_is_a_blank": ["verify", "m", "--public-key", " "],
    "a_bool_of_another_language": ["verify", "m", "--public-key=True"],
    "two_dashes_before_an_option": ["verify", "--", "--public-key=x"],
    "an_abbreviation": ["verify", "m", f"--public={PUBLIC}"],
    "an_underscore": ["publish", "m", f"--password_file={KEY}"],
    "one_dash": ["publish", "m", "-sign", KEY],
    "capitals": ["publish", "m", "--SIGN", KEY],
    "two_keys": ["publish", "m", "--sign", KEY, "--sign", OTHER_KEY],
    "a_flag_that_is_neither_on_nor_off": ["convert", "m", "o", "--force=perhaps"],
    "short_names_in_a_bundle": ["convert", "m", "o", "-qj"],
}


@case
def a_flag_that_is_said_to_be_off_is_off():
    signed()
    gguf("o.gguf")
    before = pathlib.Path("o.gguf").stat().st_ino
    write("m/config.json", text_of("m/config.json") + " ")
    return refused("convert", "m", "o.gguf", "--force=false") and pathlib.Path("o.gguf").stat().st_ino == before \
        and refused("publish", "m", "--unsigned=no") and is_there("m/model.sig")


@case
def ignores_no_folder_as_a_whole():
    signed()
    write("m/evil.py", "x")
    return all(run("verify", "m", "--public-key", PUBLIC, "--ignore", path)[0] in (1, 2) for path in (".", "*", "..", "/"))


@case
def ignores_no_file_that_is_listed():
    signed()
    write("m/config.json", "{}")
    return run("verify", "m", "--public-key", PUBLIC, "--ignore", "config.json")[0] == 1


# ---- digests ------------------------------------------------------------------------------------


def plant(path, digit):
    status = os.stat(path)
    try:
        seconds, nanoseconds = divmod(status.st_mtime_ns, 10 ** 9)
        stamp = f"{status.st_size} {seconds} {nanoseconds} {status.st_ino} {status.st_ctime_ns + 10 ** 10}"
        os.setxattr(path, "user.ckpt.sha256", f"{digit * 64} {stamp}".encode())
    except OSError:
        pass  # a file system without attributes has none to be fooled by


@case
def signs_no_planted_digest():
    model()
    for name in os.listdir("m"):
        plant("m/" + name, "0")
    return run("publish", "m", "--sign", KEY)[0] == 0 and "0" * 64 not in text_of("m/SHA256SUMS")


@case
def records_no_planted_digest_of_a_source():
    model()
    model("s")
    plant("s/config.json", "2")
    return run("publish", "m", "--source", "s", "--sign", KEY)[0] == 0 and "2" * 64 not in text_of("m/provenance.json")


@case
def reads_what_others_may_write():
    model()
    os.chmod("m", 0o777)
    plant("m/config.json", "3")
    return run("publish", "m")[0] == 0 and "3" * 64 not in text_of("m/SHA256SUMS")


@case
def finds_a_change_that_keeps_size_and_time():
    gguf("m/a.gguf")
    run("publish", "m")
    status = os.stat("m/a.gguf")
    with open("m/a.gguf", "r+b") as file:
        file.seek(-3, 2)
        file.write(b"zzz")
    os.utime("m/a.gguf", ns=(status.st_atime_ns, status.st_mtime_ns))
    return run("verify", "m")[0] == 1


# ---- imports of recipes -------------------------------------------------------------------------


def recipe(imported):
    model("q", "qwen35moe-micro")
    write("w/r.yaml", RECIPE.read_text().replace("configs/numerics/nvfp4", imported))


def plan_with(path="w/r.yaml", **more):
    return run("convert", "q", "o", "--to", "nvfp4", "--preset", path, "--dry-run", **more)


@case
def imports_from_its_folder_without_a_home():
    recipe("own")
    write("w/own.yaml", SNIPPET)
    os.chmod("w", 0o755)
    code, said = plan_with(env={name: value for name, value in os.environ.items() if name != "HOME"})
    return code == 0 and "own.yaml" in said


@case
def imports_nothing_from_above():
    ways = ("../own", os.getcwd() + "/own", "a/../../own", "./../own", "", '"own\\0x"')
    for i, way in enumerate(ways):
        os.mkdir(str(i))
        os.chdir(str(i))
        recipe(way)
        write("own.yaml", SNIPPET)
        if plan_with()[0] != 2:
            return False
        os.chdir("..")
    return True


@case
def imports_no_pipe_folder_or_itself():
    recipe("own")
    os.mkfifo("w/own.yaml")
    held = plan_with()[0] == 2
    os.remove("w/own.yaml")
    os.mkdir("w/own.yaml")
    held = held and plan_with()[0] == 2
    os.rmdir("w/own.yaml")
    write("w/own.yaml", "imports: {a: own}\n---\n" + SNIPPET)
    return held and plan_with()[0] == 2


@case
def imports_nothing_through_a_folder_that_others_may_write():
    recipe("d/own")
    write("elsewhere/own.yaml", SNIPPET)
    os.chmod("elsewhere", 0o777)
    os.symlink("../elsewhere", "w/d")
    return plan_with()[0] == 2


@case
def imports_nothing_of_another_user():
    if not IS_ROOT:
        return not_tried()
    recipe("own")
    os.mkdir("u")
    os.symlink("../w/r.yaml", "u/link.yaml")
    write("u/own.yaml", SNIPPET)
    os.chown("u/own.yaml", 12345, -1)
    return plan_with("u/link.yaml")[0] == 2


# ---- --force ------------------------------------------------------------------------------------

# Files added to a folder that a conversion wrote; they must still exist afterwards.
COMPANIONS = {
    "another_checkpoint_below": lambda: model("o/old"),
    "an_own_checkpoint_below": lambda: run("convert", TESTDATA / "llama-micro", "o/sub", "-q"),
    "the_hub_s_cache": lambda: write("o/.cache/huggingface/hub/x/blob", "1"),
    "a_git_repository": lambda: write("o/.git/HEAD", "x"),
    "a_card": lambda: write("o/README.md", "mine"),
    "an_adapter": lambda: write("o/adapter_model.safetensors", "x" * 100),
    "a_gguf": lambda: gguf("o/q8.gguf"),
    "code": lambda: write("o/modeling_x.py", "#"),
    "weights_of_another_name": lambda: shutil.copy("o/model.safetensors", "o/notes.safetensors"),
    "a_link": lambda: (write("keep", "k"), os.symlink("../keep", "o/link")),
    "a_second_name": lambda: (write("keep", "k"), os.link("keep", "o/notes.md")),
    "a_card_that_the_index_lists": lambda: (
        write("o/README.md", "mine"), write("keep", "k"),
        write("o/model.safetensors.index.json", json.dumps({"weight_map": {"a": "README.md", "b": "../keep"}}))),
    "a_text_that_sums_list": lambda: (
        write("o/thesis.tex", "mine"),
        write("o/SHA256SUMS", "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
                                      for path in sorted(pathlib.Path("o").iterdir())))),
}


def force_keeps(name):
    assert run("convert", TESTDATA / "qwen3-micro", "o", "-q")[0] == 0
    own = set(map(str, pathlib.Path(".").rglob("*")))
    COMPANIONS[name]()
    came = set(map(str, pathlib.Path(".").rglob("*"))) - own - {"o/SHA256SUMS", "o/model.safetensors.index.json"}
    model()
    run("convert", "m", "o", "--force", "-q")
    return all(map(os.path.lexists, came))


@case
def force_replaces_no_file_of_another_kind():
    model()
    os.mkdir("folder.gguf")
    write("folder.gguf/x", "x")
    for name in ("text.gguf", "plan.json", "a.tar.zst", "cache", "i.gguf", "r.html", "man/ckpt.1", "l/x"):
        write(name, "mine")
    run("convert", "m", "folder.gguf", "--force")
    run("convert", "m", "text.gguf", "--force")
    run("convert", "m", "o", "--plan-out", "plan.json", "--force")
    run("publish", "m", "--archive", "a.tar.zst", "--force")
    run("convert", "m", "o.gguf", "--target-bits", "6", "--target-cache", "cache", "-q")
    run("imatrix", "merge", "i.gguf", "--out", "i.gguf", "--force")
    run("report", "m", "--out", "r.html", "--force")
    run("man", "--into", "man")
    run("publish", "m", "--lfs", "l", "--force")
    names = ("text.gguf", "plan.json", "a.tar.zst", "cache", "i.gguf", "r.html", "man/ckpt.1", "l/x")
    return is_there("folder.gguf/x") and all(text_of(name) == "mine" for name in names)


# ---- records of --if-needed ---------------------------------------------------------------------


def shared_folder(mode):
    model("in")
    os.mkdir("s")
    os.chmod("s", mode)
    os.chmod(".", 0o711)
    os.chdir("s")


def makes_if_needed(umask=0o022):
    return as_other("convert", "../in", "o.gguf", "--to", "q8_0", "--if-needed", umask=umask)


@case
def believes_no_record_that_others_may_write():
    shared_folder(0o777)
    made, again = makes_if_needed(0o002), makes_if_needed(0o002)
    held = made[0] == again[0] == 0 and "up to date" in again[1]   # also under this umask
    os.chmod(".o.gguf.ckpt-made", 0o664)
    return held and makes_if_needed(0o002)[0] == 2


@case
def makes_nothing_where_another_s_record_stays():
    if not IS_ROOT:
        return not_tried()
    shared_folder(0o1777)
    os.mkfifo(".o.gguf.ckpt-made")
    give(".o.gguf.ckpt-made", THIRD)
    code, said = makes_if_needed()
    held = code == 2 and f"belongs to user {THIRD}" in said and os.listdir() == [".o.gguf.ckpt-made"]
    os.chmod(".", 0o777)   # here it is replaced
    return held and makes_if_needed()[0] == 0 and "up to date" in makes_if_needed()[1]


@case
def makes_nothing_where_a_folder_has_the_name_of_the_record():
    shared_folder(0o777)
    os.mkdir(".o.gguf.ckpt-made")
    return makes_if_needed()[0] == 2 and os.listdir() == [".o.gguf.ckpt-made"]


@case
def gives_the_digest_where_no_record_can_be_written():
    if not IS_ROOT:
        return not_tried()
    shared_folder(0o1777)
    write(".ckpt-.o.gguf.ckpt-made.partial", "x")
    give(".ckpt-.o.gguf.ckpt-made.partial", THIRD)
    code, said = makes_if_needed()
    return code == 0 and hashlib.sha256(pathlib.Path("o.gguf").read_bytes()).hexdigest() in said


# ---- umasks -------------------------------------------------------------------------------------

CLOSED_FOLDERS = """patch m --step config:set=a=1|set x.safetensors a=b|convert m o|convert m o.gguf --to q8_0|man --into man|
patch m --step config:set=a=1 --out p|publish m --lfs l/new|publish m --archive a.tar.zst""".replace("\n", "").split("|")


def leaves_nothing_under(umask):
    """Whatever cannot be made names the umask, and the same command works with another one."""
    model("source")
    os.chmod(".", 0o711)
    held = []
    for number, words in enumerate(CLOSED_FOLDERS):
        here = f"{number:o}"
        shutil.copytree("source", here + "/m")
        shutil.copy(here + "/m/model.safetensors", here + "/x.safetensors")
        give(here)
        os.chdir(here)
        before = sorted(map(str, pathlib.Path(".").rglob("*")))
        code, said = as_other(*words.split(), umask=umask)
        after = sorted(map(str, pathlib.Path(".").rglob("*")))
        if "publish" in words:
            after = [name for name in after if name != "m/SHA256SUMS"]
        held.append(code == 0 or ("Try: umask 022" in said and after == before and as_other(*words.split())[0] == 0))
        os.chdir("..")
    return all(held)


# ---- what is published --------------------------------------------------------------------------

SECRETS = """.env.local .ENV conf/.env.production .envrc id_ed25519 keys/ID_RSA id_ecdsa_sk credentials.json x.p12 .netrc .aws/config
sub/.aws/sso/cache/a.json .kube/config .docker/config.json .config/gh/hosts.yml secrets.toml client_secret_123.json vault.kdbx a.ppk
.config/gcloud/application_default_credentials.json release.key .git-credentials .cache/huggingface/stored_tokens
out.partial/model.bin x.partial.ledger""".split()
BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n" * 3
CONTENTS = {
    "an_ssh_key": "-----BEGIN OPENSSH PRIVATE KEY-----\n" + BODY,
    "a_key_in_json": json.dumps({"private_key": "-----BEGIN PRIVATE KEY-----\n" + BODY}),
    "a_key_in_utf16": ("-----BEGIN PRIVATE KEY-----\n" + BODY).encode("utf-16"),
    "a_token_of_the_hub": "export HF_TOKEN=hf_" + "a" * 34,
    "a_token_in_a_notebook": 'token=\\"hf_' + "c" * 34 + '\\"',
    "a_token_of_github": "url: https://x:ghp_" + "d" * 36 + "@github.com",
    "a_token_of_an_app_on_github": "ghu_" + "e" * 36,
    "a_token_behind_a_line_break_in_json": json.dumps(["login\nhf_" + "f" * 34]),
    "a_token_behind_a_sign_in_json": '"token\\u003Dhf_' + "g" * 34 + '"',
    "a_key_for_an_hour_of_aws": "AWS_ACCESS_KEY_ID=ASIA" + "B" * 16,
    "a_key_of_aws": "AWS_ACCESS_KEY_ID=AKIA" + "A" * 16,
}


def publishes_not(name, content):
    model()
    write("m/" + name, content)
    return refused("publish", "m") and not is_there("m/SHA256SUMS")


# ---- what changed after it was signed -----------------------------------------------------------

CHANGES = {
    "a_renamed_file": lambda: os.rename("m/config.json", "m/config2.json"),
    "another_case": lambda: os.rename("m/config.json", "m/Config.json"),
    "an_added_file": lambda: write("m/x.py", "x"),
    "a_hidden_file": lambda: write("m/.hidden", "x"),
    "a_name_that_looks_alike": lambda: write("m/confi\u0301g.json", "x"),
    "a_name_of_two_lines": lambda: write("m/a\nb", "x"),
    "a_link_where_git_keeps_files": lambda: (os.mkdir("m/.github"), os.symlink("/etc/passwd", "m/.github/x")),
    "a_missing_file": lambda: os.remove("m/tokenizer.json"),
    "two_files_that_change_places": lambda: (
        os.rename("m/config.json", "t"), os.rename("m/tokenizer_config.json", "m/config.json"), os.rename("t", "m/tokenizer_config.json")),
    "no_sums": lambda: os.remove("m/SHA256SUMS"),
    "empty_sums": lambda: write("m/SHA256SUMS", ""),
    "a_signature_through_a_link": lambda: (os.rename("m/model.sig", "s"), os.symlink("../s", "m/model.sig")),
}


def verify_finds(name):
    signed()
    CHANGES[name]()
    return run("verify", "m", "--public-key", PUBLIC)[0] == 1


@case
def verify_finds_a_rename_once():
    signed()
    os.rename("m/config.json", "m/config2.json")
    return "1 finding" in run("verify", "m", "--public-key", PUBLIC)[1]


@case
def no_gguf_that_is_cut_or_not_all_there_is_published():
    for gone in range(3):
        shutil.rmtree("m", ignore_errors=True)
        gguf("m/a.gguf", "--split-tensors", "10")
        name = sorted(pathlib.Path("m").iterdir())[gone % 2]
        os.truncate(name, 3000) if gone == 2 else os.remove(name)
        if not refused("publish", "m") or run("verify", "m")[0] == 0:
            return False
    return True


@case
def no_archive_is_unpacked_over_files():
    model()
    run("publish", "m", "--archive", "a.tar.zst")
    write("d/x", "x")
    return refused("verify", "a.tar.zst", "--unpack", "d") and os.listdir("d") == ["x"]


def all_cases():
    for function in CASES:
        yield function.__name__, function
    for name, words in OPTIONS.items():
        yield "refuses_" + name, lambda words=words: refuses_words(*words)
    for umask in ("111", "177", "277", "577", "777"):
        yield "leaves_nothing_under_umask_" + umask, lambda umask=umask: leaves_nothing_under(int(umask, 8))
    for name in COMPANIONS:
        yield "force_keeps_" + name, lambda name=name: force_keeps(name)
    for name in SECRETS:
        yield "publishes_not_" + name, lambda name=name: publishes_not(name, "x")
    for name, content in CONTENTS.items():
        yield "publishes_not_" + name, lambda content=content: publishes_not("notes.txt", content)
    for name in CHANGES:
        yield "verify_finds_" + name, lambda name=name: verify_finds(name)


def main():
    os.umask(0o022)
    tried, bad = 0, []
    for name, attack in all_cases():
        if sys.argv[3:] and name not in sys.argv[3:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            tried += 1
            try:
                held = attack()
            except (OSError, AssertionError, subprocess.TimeoutExpired) as error:
                held, name = False, f"{name}: {error!r}"
            os.chdir("/")
            if not held:
                bad.append(name)
    print("\n".join(bad))
    print(f"{tried - len(UNTRIED)} attacks, {len(bad)} not held off; {len(UNTRIED)} not tried, as they need root")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
