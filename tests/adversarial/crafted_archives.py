"""Archives that hold more, or other things, than they say. Each case makes a tar and says how ckpt
verify must end, with the key, and which files --unpack must make: those and no others."""
import dataclasses
import struct
import typing

from crafted import (GIT_PATHS, bundle, header, member, padded, pax, statement, sums,
                     tar, tiny_safetensors, zstd)
from crafted_folders import keys

BASE = [("config.json", b"{}\n"), ("model.safetensors", tiny_safetensors()),
        ("sub/notes.txt", b"kept\n")]
END = bytes(1024)
ALL = ["SHA256SUMS", "config.json", "model.safetensors", "model.sig", "sub/notes.txt"]
IGNORED = GIT_PATHS + ["model.sig"]


def published(files=tuple(BASE), ignored=tuple(IGNORED)):
    """`files` with their sums and signature, as a list."""
    files = list(files) + [("SHA256SUMS", sums(files))]
    return files + [("model.sig", bundle(keys(), statement(files, ignored)))]


def replaced(files, name, content):
    return [(other, content if other == name else old) for other, old in files]


def members(files):
    return b"".join(member(name, content) for name, content in files)


@dataclasses.dataclass
class Case:
    exit: int
    make: typing.Callable
    says: str = ""
    unpacks: list | None = None
    sums_only: bool = False
    wrap: typing.Callable = zstd
    unpack_exit: int | None = None

    def unpacking_fails(self):
        return dataclasses.replace(self, exit=self.exit if self.unpack_exit is None else self.unpack_exit,
                                   says="")


ARCHIVES = {}


def case(exit, says="", **options):
    def add(function):
        if exit == 0 and "unpack_exit" not in options:
            options.setdefault("unpacks", ALL)
        name = function.__name__.replace("_", " ") + " in an archive"
        ARCHIVES[name] = Case(exit, function, says, **options)
        return function
    return add


# ---- sound ones, however they are written -------------------------------------------------------
@case(0, "sound: the archive, signature by the key given, SHA-256 of 4 files")
def untouched():
    return tar(published())


@case(0)
def names_that_begin_with_a_dot_and_a_slash():
    return header("./", kind=b"5") + tar([("./" + name, content) for name, content in published()])


@case(0)
def folders_of_their_own():
    return header("sub/", kind=b"5") + tar(published())


@case(0)
def headers_older_than_ustar():
    return b"".join(member(name, content, magic=b"", kind=b"\0")
                    for name, content in published()) + END


@case(0)
def names_in_pax_records():
    return b"".join(pax([(b"path", name.encode())]) + member("short", content)
                    for name, content in published()) + END


@case(0)
def names_as_gnu_writes_long_ones():
    return b"".join(member("././@LongLink", name.encode() + b"\0", kind=b"L") + member("x", content)
                    for name, content in published()) + END


@case(0)
def sizes_in_pax_records():
    return b"".join(pax([(b"size", b"%d" % len(content))]) + header(name) + padded(content)
                    for name, content in published()) + END


@case(0)
def frames_that_readers_skip():
    return tar(published())


ARCHIVES["frames that readers skip in an archive"].wrap = (
    lambda data: struct.pack("<II", 0x184D2A50, 5) + b"x" * 5 + zstd(data[:512]) + zstd(data[512:]))


# ---- other content than was signed --------------------------------------------------------------
@case(1, "config.json: changed")
def a_changed_file():
    return tar(replaced(published(), "config.json", b"[]\n"))


@case(1, "sub/notes.txt: missing")
def a_missing_file():
    return tar([one for one in published() if one[0] != "sub/notes.txt"])


@case(1, "extra.py: extra")
def an_extra_file():
    return tar(published() + [("extra.py", b"")])


@case(1, "renamed; the signature lists it as config.json")
def a_renamed_file():
    return tar([("Config.json" if name == "config.json" else name, content)
                for name, content in published()])


@case(1, "config.json: missing")
def a_folder_in_place_of_a_file():
    return header("config.json/", kind=b"5") + tar(
        [one for one in published() if one[0] != "config.json"])


@case(1, ".cache/x: extra")
def an_unsigned_cache():
    return tar([(".cache/x", b"")] + published())


@case(1, "SHA256SUMS: changed")
def a_file_and_its_sum_changed_together():
    changed = replaced(BASE, "config.json", b"[]\n")
    return tar(replaced(replaced(published(), "config.json", b"[]\n"), "SHA256SUMS", sums(changed)))


@case(1, "signed by key")
def the_hint_of_another_key():
    files = BASE + [("SHA256SUMS", sums(BASE))]
    return tar(files + [("model.sig", bundle(keys(), statement(files), hint="p384"))])


@case(1)
def signed_by_a_stranger():
    files = BASE + [("SHA256SUMS", sums(BASE))]
    return tar(files + [("model.sig", bundle(keys(), statement(files), key="stranger"))])


@case(1, "missing; the model is not signed")
def no_signature():
    return tar(published()[:-1])


@case(1, "not signed")
def nothing_at_all():
    return END


# ---- what is not covered is never unpacked ------------------------------------------------------
@case(0, "not covered: .git/ (2 files), .gitattributes")
def unsigned_git_files():
    return tar([(".git/config", b"[core]\nfsmonitor = touch x\n"), (".git/HEAD", b""),
                (".gitattributes", b"")] + published())


@case(0, "not covered: .git/ (1 file)")
def unsigned_git_files_behind_the_signature():
    return tar(published() + [(".git/config", b"")])


@case(0, "not covered: .git/ (1 file), model.sig", sums_only=True)
def git_files_that_the_sums_do_not_list():
    return tar([(".git/config", b"")] + published())


@case(0, "not covered: .git/ (1 file), SHA256SUMS")
def sums_that_are_not_signed_list_git_files():
    files = BASE + [(".git/config", b"")]
    signed = bundle(keys(), statement(BASE, IGNORED + ["SHA256SUMS"]))
    return tar(files + [("SHA256SUMS", sums(files)), ("model.sig", signed)])


@case(0, unpacks=[".github/x"] + ALL)
def signed_git_files():
    return tar(published(BASE + [(".github/x", b"")], ["model.sig"]))


@case(0, "no SHA256SUMS in it", sums_only=True, unpack_exit=2)
def nothing_that_says_what_the_files_must_be():
    return tar(BASE)


@case(1, "lists no file", sums_only=True)
def sums_without_a_line():
    return tar(BASE + [("SHA256SUMS", b"")])


@case(0, "no SHA256SUMS in it", sums_only=True, unpack_exit=2)
def a_folder_called_as_the_sums():
    return header("SHA256SUMS/", kind=b"5") + tar(BASE)


@case(1, "model.sig/x: extra", sums_only=True)
def a_folder_called_as_the_signature():
    return tar(published()[:-1] + [("model.sig/x", b"")])


@case(1, "../outside: missing", sums_only=True)
def sums_that_lead_outside():
    return tar(BASE + [("SHA256SUMS", sums(BASE + [("../outside", b"")]))])


# ---- members that are not files, or are elsewhere -----------------------------------------------
def refused_member(name, says, *raw):
    def made():
        return members(published()) + b"".join(raw) + END
    made.__name__ = name
    case(2, says)(made)


refused_member("a symbolic link", "a symbolic link", header("link", kind=b"2", link=b"/etc/passwd"))
refused_member("a file through a link", "a symbolic link",
               header("link", kind=b"2", link=b"/tmp"), member("link/x", b"x"))
refused_member("a hard link", "a hard link", header("link", kind=b"1", link=b"config.json"))
refused_member("a device", "a device", header("null", kind=b"3"))
refused_member("a pipe", "a pipe", header("pipe", kind=b"6"))
refused_member("a sparse file", "a sparse file", header("sparse", kind=b"S"))
refused_member("a sparse file by pax", "sparse", pax([(b"GNU.sparse.major", b"1")]), member("x", b"x"))
refused_member("a long link name", "neither file nor folder", member("x", b"y", kind=b"K"))
refused_member("an absolute name", "absolute", member("/tmp/ckpt-escaped", b"x"))
refused_member("a name that leads up", "'..'", member("../escaped", b"x"))
refused_member("a name that leads up from below", "'..'", member("sub/../../escaped", b"x"))
refused_member("a name that leads up by pax", "'..'", pax([(b"path", b"a/../../escaped")]), member("x"))
refused_member("a dot inside a name", "'.' inside", member("sub/./notes.txt", b"x"))
refused_member("an empty part of a name", "empty part", member("sub//notes.txt", b"x"))
refused_member("no name", "no name", member("", b"x"))
refused_member("a zero byte in a name by pax", "zero byte", pax([(b"path", b"x\0y")]), member("x"))
refused_member("a name that is not a text", "not UTF-8", member(b"\xff", b"x"))
refused_member("one name for all members", "for all members",
               pax([(b"path", b"config.json")], kind=b"g"), member("x", b"x"))
refused_member("the same name again", "twice", member("config.json", b"[]\n"))
refused_member("the same name spelled in another way", "twice", member("./config.json", b"[]\n"))
refused_member("other sums again", "twice", member("SHA256SUMS", sums([("config.json", b"[]\n")])))
refused_member("a file inside a file", "which is a file", member("config.json/x", b"x"))
refused_member("a file where others have their folder", "folder", member("sub", b"x"))


# ---- tars and frames that lie -------------------------------------------------------------------
def refused_tar(name, says, change):
    def made():
        return change(members(published()))
    made.__name__ = name
    case(2, says)(made)


refused_tar("a size beyond the end", "too early", lambda data: data + header("x", 1 << 30) + b"x" * 512)
refused_tar("a negative size", "size", lambda data: data + header("x", size_field=b"\xff" * 12) + END)
refused_tar("a size that is not a number", "size",
            lambda data: data + header("x", size_field=b"12 34567890\0") + END)
refused_tar("a folder with content", "size", lambda data: data + member("d/", b"x", kind=b"5") + END)
refused_tar("a header whose sum does not agree", "sum", lambda data: data + header("x", spoilt=True) + END)
refused_tar("a pax record that is none", "pax", lambda data: data + member("p", b"99 x=y\n", kind=b"x") + END)
refused_tar("no end", "too early", lambda data: data)
refused_tar("something behind the end", "after the end", lambda data: data + END + b"x" * 512)
refused_tar("another tar behind the end", "after", lambda data: data + END + member("x", b"x") + END)
refused_tar("a member behind one block of zeros", "after a block",
            lambda data: data + bytes(512) + member("x", b"x") + END)


def refused_file(name, says, wrap):
    def made():
        return tar(published())
    made.__name__ = name
    case(2, says, wrap=wrap)(made)


def seek_table(sizes):
    """sizes: (compressed, uncompressed) of each frame."""
    body = b"".join(struct.pack("<II", *one) for one in sizes) + struct.pack("<IBI", len(sizes), 0, 0x8F92EAB1)
    return struct.pack("<II", 0x184D2A5E, len(body)) + body


refused_file("a frame cut short", "zstd", lambda data: zstd(data)[:-1])
refused_file("garbage behind the last frame", "zstd", lambda data: zstd(data) + b"x")
refused_file("a seek table of more frames than there are", "",
             lambda data: zstd(data) + seek_table([(len(zstd(data)), len(data))] * 2))
refused_file("a seek table with other sizes", "",
             lambda data: zstd(data) + seek_table([(len(zstd(data)), len(data) + 512)]))
refused_file("a frame of more than it says", "zstd",
             lambda data: zstd(data)[:5] + struct.pack("<Q", 512) + zstd(data)[13:])
