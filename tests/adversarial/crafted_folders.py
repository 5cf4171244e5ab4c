"""Folders that say more than was signed. Each case makes a folder `model` and says how ckpt verify
must end."""
import dataclasses
import os
import pathlib
import typing
import unicodedata

from crafted import GIT_PATHS, bundle, statement, sums, tiny_safetensors, write

KEYS_NAME = "CKPT_TEST_KEYS"
BASE = [("model.safetensors", tiny_safetensors()), ("config.json", b"{}\n"),
        ("sub/notes.txt", b"kept\n"), ("sub/more.txt", b"more\n")]
GIT_FILES = [(".cache/huggingface/x", b"x\n"), (".github/x", b"y\n"), (".gitattributes", b"* text\n"),
             (".gitignore", b"*.tmp\n")]
ONLY_SIGNATURE = ["model.sig"]


def keys():
    return pathlib.Path(os.environ[KEYS_NAME])


def sign(folder, signed, **options):
    (folder / "model.sig").write_bytes(bundle(keys(), signed, **options))


def with_sums(files):
    return files + [("SHA256SUMS", sums(files))]


def make(folder, extra=(), ignored=tuple(GIT_PATHS + ["model.sig"])):
    """The base and `extra` files, with sums of all of them, signed."""
    files = with_sums(BASE + list(extra))
    write(folder, files)
    sign(folder, statement(files, ignored))


@dataclasses.dataclass
class Case:
    exit: int
    make: typing.Callable
    says: str = ""
    words: tuple = ()
    sums_only: bool = False
    has_peer: bool = True


FOLDERS = {}


def case(exit, says="", **options):
    def add(function):
        FOLDERS[function.__name__.replace("_", " ")] = Case(exit, function, says, **options)
        return function
    return add


def replace_by_link(path, target):
    path.unlink()
    path.symlink_to(target)


def outside(folder, content):
    path = folder.parent / "outside"
    path.write_bytes(content)
    return path


# ---- what was signed, and what lies there -------------------------------------------------------
@case(0, "sound: structure, signature by the key given, SHA-256 of 5 files")
def untouched(folder):
    make(folder)


@case(1, "model.safetensors: changed")
def a_flipped_bit(folder):
    make(folder)
    (folder / "model.safetensors").write_bytes(tiny_safetensors(1.0000001))


@case(1, "sub/notes.txt: changed")
def a_file_cut_short(folder):
    make(folder)
    (folder / "sub/notes.txt").write_bytes(b"kep")


@case(1, "sub/notes.txt: changed")
def a_file_with_more_behind_it(folder):
    make(folder)
    (folder / "sub/notes.txt").write_bytes(b"kept\n\n")


@case(1, "config.json: missing")
def a_missing_file(folder):
    make(folder)
    (folder / "config.json").unlink()


@case(1, "renamed; the signature lists it as config.json")
def a_renamed_file(folder):
    make(folder)
    (folder / "config.json").rename(folder / "Config.json")


@case(1, "sub/more.txt: changed")
def two_files_swapped(folder):
    make(folder)
    (folder / "sub/notes.txt").write_bytes(b"more\n")
    (folder / "sub/more.txt").write_bytes(b"kept\n")


@case(1, "modeling_x.py: extra")
def an_extra_file(folder):
    make(folder)
    (folder / "modeling_x.py").write_bytes(b"import os\n")


@case(1, ".hidden: extra")
def an_extra_hidden_file(folder):
    make(folder)
    (folder / ".hidden").write_bytes(b"")


@case(1, "new/deep/x: extra")
def an_extra_file_in_a_new_folder(folder):
    make(folder)
    write(folder, [("new/deep/x", b"")])


@case(1, "sub/.git/config: extra")
def git_below_the_top_is_not_ignored(folder):
    make(folder)
    write(folder, [("sub/.git/config", b"[core]\n")])


@case(1, ".gitmodules: extra")
def a_name_that_only_begins_like_an_ignored_one(folder):
    make(folder)
    (folder / ".gitmodules").write_bytes(b"")


@case(1, "config.json/x: renamed; the signature lists it as config.json")
def a_folder_in_place_of_a_file(folder):
    make(folder)
    (folder / "config.json").unlink()
    write(folder, [("config.json/x", b"{}\n")])


@case(1, "renamed")
def a_name_in_another_unicode_form(folder):
    make(folder, [(unicodedata.normalize("NFC", "grüße.txt"), b"hello\n")])
    (folder / unicodedata.normalize("NFC", "grüße.txt")).rename(
        folder / unicodedata.normalize("NFD", "grüße.txt"))


@case(1)
def an_extra_name_with_a_line_feed(folder):
    make(folder)
    (folder / "x\nmodel.safetensors: SHA-256 as listed").write_bytes(b"")


@case(1, has_peer=False)
def an_extra_name_that_is_no_text(folder):
    make(folder)
    write(folder, [(b"\xff\xfe", b"")])


@case(0)
def a_second_name_of_a_file_outside(folder):
    make(folder)
    content = (folder / "config.json").read_bytes()
    (folder / "config.json").unlink()
    os.link(outside(folder, content), folder / "config.json")


# ---- links and special files --------------------------------------------------------------------
@case(1, "config.json: a symbolic link")
def a_link_to_the_same_bytes_outside(folder):
    make(folder)
    replace_by_link(folder / "config.json", outside(folder, b"{}\n"))


@case(1, "sub/copy.txt: a symbolic link to notes.txt")
def a_link_to_the_same_bytes_inside(folder):
    make(folder, [("sub/copy.txt", b"kept\n")])
    replace_by_link(folder / "sub/copy.txt", "notes.txt")


@case(1, "sub: a symbolic link")
def a_link_to_a_folder_with_the_same_files(folder):
    make(folder)
    (folder / "sub").rename(folder.parent / "sub")
    (folder / "sub").symlink_to(folder.parent / "sub")


def git_file_replaced_by_a_link(name):
    def made(folder):
        make(folder, GIT_FILES, ONLY_SIGNATURE)
        replace_by_link(folder / name, outside(folder, dict(GIT_FILES)[name]))
    made.__name__ = f"signed {name} replaced by a link"
    case(1, f"{name}: a symbolic link")(made)


for signed_name, _ in GIT_FILES:
    git_file_replaced_by_a_link(signed_name)


@case(1, "sub/more.txt: both listed and ignored")
def a_statement_that_ignores_what_it_lists(folder):
    make(folder, ignored=["model.sig", "sub"])


@case(1, ".cache/huggingface/x: a symbolic link", sums_only=True)
def sums_and_a_listed_file_of_a_cache_replaced_by_a_link(folder):
    make(folder, GIT_FILES, ONLY_SIGNATURE)
    replace_by_link(folder / ".cache/huggingface/x", outside(folder, b"x\n"))


@case(1, ".git/hooks: a symbolic link")
def a_link_below_an_ignored_folder(folder):
    make(folder)
    write(folder, [(".git/config", b"")])
    (folder / ".git/hooks").symlink_to("/tmp")


@case(1, "nowhere: a symbolic link")
def a_link_to_nothing(folder):
    make(folder)
    (folder / "nowhere").symlink_to("not/there")


@case(1, "loop: a symbolic link")
def a_link_to_itself(folder):
    make(folder)
    (folder / "loop").symlink_to("loop")


@case(1, "sub/notes.txt: neither file nor folder")
def a_pipe_in_place_of_a_file(folder):
    make(folder)
    (folder / "sub/notes.txt").unlink()
    os.mkfifo(folder / "sub/notes.txt")


@case(1, ".git/pipe: neither file nor folder")
def a_pipe_below_an_ignored_folder(folder):
    make(folder)
    (folder / ".git").mkdir()
    os.mkfifo(folder / ".git/pipe")


@case(1, "model.sig: a symbolic link")
def the_signature_is_a_link(folder):
    make(folder)
    replace_by_link(folder / "model.sig", outside(folder, (folder / "model.sig").read_bytes()))


@case(1, "SHA256SUMS: a symbolic link")
def the_sums_are_a_link(folder):
    make(folder)
    replace_by_link(folder / "SHA256SUMS", outside(folder, (folder / "SHA256SUMS").read_bytes()))


# ---- what may be there unsigned -----------------------------------------------------------------
@case(0, "SHA-256 of 9 files")
def git_files_that_are_signed(folder):
    make(folder, GIT_FILES, ONLY_SIGNATURE)


@case(1, ".gitattributes: changed")
def a_signed_git_file_changed(folder):
    make(folder, GIT_FILES, ONLY_SIGNATURE)
    (folder / ".gitattributes").write_bytes(b"* filter=x\n")


@case(1, ".gitignore: missing")
def a_signed_git_file_missing(folder):
    make(folder, GIT_FILES, ONLY_SIGNATURE)
    (folder / ".gitignore").unlink()


@case(0, "not covered: .git/ (2 files), .gitattributes")
def unsigned_git_files_are_named(folder):
    make(folder)
    write(folder, [(".git/config", b"[core]\n"), (".git/hooks/x", b""), (".gitattributes", b"")])


@case(1, ".git/config: extra")
def git_where_the_statement_ignores_the_signature_alone(folder):
    make(folder, ignored=ONLY_SIGNATURE)
    write(folder, [(".git/config", b"[core]\n")])


@case(0, "not covered: .gitattributes")
def a_statement_that_does_not_say_what_it_ignores(folder):
    make(folder, ignored=None)
    (folder / ".gitattributes").write_bytes(b"")


@case(1, ".git/config: extra")
def a_statement_that_does_not_say_what_it_ignores_and_lists_git_files(folder):
    make(folder, [(".gitattributes", b"")], ignored=None)
    write(folder, [(".git/config", b"")])


@case(1, ".cache/huggingface/x: extra")
def an_unsigned_cache(folder):
    make(folder)
    write(folder, [(".cache/huggingface/x", b"")])


@case(1, ".cache: a symbolic link")
def a_cache_that_is_a_link(folder):
    make(folder)
    (folder / ".cache").symlink_to("/tmp")


@case(1, ".cache/x: extra; SHA256SUMS")
def a_cache_that_the_statement_ignores_and_the_sums_do_not(folder):
    make(folder, ignored=GIT_PATHS + ["model.sig", ".cache"])
    write(folder, [(".cache/x", b"")])


@case(1, "config.json: changed", words=("--ignore", "config.json"))
def a_listed_file_cannot_be_ignored(folder):
    make(folder)
    (folder / "config.json").write_bytes(b"[]\n")


@case(1, "lists no file")
def sums_without_a_line(folder):
    files = BASE + [("SHA256SUMS", b"")]
    write(folder, files)
    sign(folder, statement(files))


@case(1, "SHA256SUMS: changed")
def a_file_and_its_sum_changed_together(folder):
    make(folder)
    files = [(name, b"[]\n" if name == "config.json" else content) for name, content in BASE]
    write(folder, with_sums(files))


# ---- the signature itself -----------------------------------------------------------------------
@case(1, "missing; the model is not signed")
def no_signature(folder):
    make(folder)
    (folder / "model.sig").unlink()


@case(1)
def the_signature_of_another_model(folder):
    make(folder)
    sign(folder, statement([("config.json", b"{}\n")]))


@case(1)
def signed_by_a_stranger_under_the_right_hint(folder):
    make(folder)
    sign(folder, statement(with_sums(BASE)), key="stranger")


@case(1)
def the_hint_of_another_key(folder):
    make(folder)
    sign(folder, statement(with_sums(BASE)), hint="p384")


@case(1)
def another_payload_than_was_signed(folder):
    make(folder)
    changed = [(name, b"[]\n" if name == "config.json" else content) for name, content in BASE]
    write(folder, changed)
    (folder / "SHA256SUMS").unlink()
    sign(folder, statement(with_sums(BASE)), payload=statement(changed))


@case(1)
def another_type_of_payload(folder):
    make(folder)
    sign(folder, statement(with_sums(BASE)), payload_type="text/plain")


@case(1)
def no_signature_in_the_envelope(folder):
    make(folder)
    sign(folder, statement(with_sums(BASE)), signatures=0)


@case(1)
def two_signatures_in_the_envelope(folder):
    make(folder)
    sign(folder, statement(with_sums(BASE)), signatures=2)


@case(1, "listed twice")
def a_name_with_two_digests(folder):
    make(folder)
    sign(folder, statement(with_sums(BASE) + [("config.json", b"[]\n")]))


@case(1)
def a_root_digest_of_something_else(folder):
    make(folder)
    sign(folder, statement(with_sums(BASE), root="0" * 64))


def unsound_statement(name, exit, **options):
    def made(folder):
        write(folder, with_sums(BASE))
        sign(folder, statement(with_sums(BASE), **options))
    made.__name__ = name
    case(exit)(made)


unsound_statement("everything is ignored", 1, ignored=["."])
unsound_statement("what is above is ignored", 1, ignored=[".."])
unsound_statement("an absolute path is ignored", 1, ignored=["/"])
unsound_statement("an empty path is ignored", 1, ignored=[""])
unsound_statement("hashed in shards", 2, method="shards", shard_size=1)
unsound_statement("hashed in another way", 2, hash_type="blake2b")


@case(1)
def a_resource_outside(folder):
    files = with_sums(BASE)
    write(folder, files)
    outside(folder, b"x\n")
    sign(folder, statement(files + [("../outside", b"x\n")]))


@case(1)
def a_resource_spelled_in_another_way(folder):
    files = with_sums(BASE)
    write(folder, files)
    sign(folder, statement([("./config.json" if name == "config.json" else name, content)
                            for name, content in files]))


@case(1, "resources is empty; expected at least one file")
def a_statement_that_lists_nothing(folder):
    write(folder, with_sums(BASE))
    sign(folder, statement([]))


# ---- sums alone ---------------------------------------------------------------------------------
@case(0, "SHA-256 of 4 files; model.sig not checked", sums_only=True)
def sums_of_an_untouched_folder(folder):
    make(folder)


@case(1, ".cache/x: extra", sums_only=True)
def sums_and_a_cache(folder):
    make(folder)
    write(folder, [(".cache/x", b"")])


@case(0, "not covered: .git/ (1 file), model.sig", sums_only=True)
def sums_and_git(folder):
    make(folder)
    write(folder, [(".git/config", b"")])


@case(1, ".git: a symbolic link", sums_only=True)
def sums_and_a_link_for_git(folder):
    make(folder)
    (folder / ".git").symlink_to("/tmp")


@case(1, "model.sig/x: extra", sums_only=True)
def a_folder_called_as_the_signature(folder):
    write(folder, with_sums(BASE) + [("model.sig/x", b"")])


@case(1, "listed before with another digest", sums_only=True)
def sums_that_contradict_themselves(folder):
    write(folder, BASE + [("SHA256SUMS", sums(BASE) + sums([("config.json", b"[]\n")]))])


@case(1, "../outside: missing", sums_only=True)
def sums_that_lead_outside(folder):
    outside(folder, b"x\n")
    write(folder, BASE + [("SHA256SUMS", sums(BASE + [("../outside", b"x\n")]))])


@case(1, "expected 64 hex digits", sums_only=True)
def sums_that_are_none(folder):
    write(folder, BASE + [("SHA256SUMS", b"all is well\n")])
