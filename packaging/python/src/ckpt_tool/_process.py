"""Runs the program once: reads its JSON lines, its error and its exit code."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass
from numbers import Real
from pathlib import Path as _Path
from typing import Any, Callable, Dict, Sequence, Type, TypeVar, Union

from ._results import read

T = TypeVar("T")

Path = Union[str, "os.PathLike[str]"]
Value = Union[str, int, float, bool, "os.PathLike[str]", None]
OptionValue = Union[Value, Sequence[Value]]
Object = Dict[str, Any]

_DONE, _ANSWER_IS_NO, _FAILED, _NOT_CHECKED, _INTERRUPTED = 0, 1, 2, 3, 130


class CkptError(Exception):
    """A failed run. str() is the program's message: what was found, what was expected, what to try."""

    def __init__(self, sentence: str, code: str = "", where: str = "", hint: str = "", exit_code: int = 2) -> None:
        super().__init__(sentence)
        self.code = code            # not-found, usage, corrupt, unsupported, io, interrupted; empty without an error object
        self.where = where          # the file or option concerned
        self.hint = hint            # what to type next
        self.exit_code = exit_code  # negative: minus the signal that ended the program


@dataclass(frozen=True)
class Progress:
    what: str
    done_bytes: int
    total_bytes: int


ProgressCall = Callable[[Progress], None]


@dataclass(frozen=True)
class Said:
    """All objects of a run except progress, and its notes."""
    objects: list[Object]
    notes: list[str]
    ok: bool

    def of(self, kind: str) -> list[Object]:
        return [one for one in self.objects if one["type"] == kind]

    def all(self, kind: str, result: Type[T]) -> list[T]:
        return [read(result, one) for one in self.of(kind)]

    def last(self, kind: str, result: Type[T]) -> T | None:
        found = self.all(kind, result)
        return found[-1] if found else None

    def errors(self) -> list[str]:
        """The sentences of an answer that is no."""
        return [_sentence(one) for one in self.of("error")]

    def one(self, *kinds: str) -> Object:
        """The last object of any of these kinds. A run that was ended from outside gave none."""
        found = [one for one in self.objects if one["type"] in kinds]
        if not found:
            raise CkptError(f"ckpt gave no {kinds[0]}; expected one. Try: a ckpt of the same version as this package")
        return found[-1]


def _is_program(path: _Path) -> bool:
    """Whether `path` is a native binary. PyPI's `ckpt`, another project, installs a Python script of the same name."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def find_binary() -> str:
    """The program: $CKPT_BINARY, else the one installed with this package, else the one on the PATH."""
    named = os.environ.get("CKPT_BINARY")
    if named:
        return named
    here = _Path(__file__).resolve().parent
    places = [here.parent / "bin", _Path(sysconfig.get_path("scripts"))]       # the first: pip install --target
    if os.name == "posix":
        places.append(_Path(sysconfig.get_path("scripts", "posix_user")))      # pip install --user
    for place in places:
        if _is_program(place / "ckpt"):
            return str(place / "ckpt")
    found = shutil.which("ckpt")
    if found is None or not _is_program(_Path(found)):
        raise CkptError("the program ckpt is not installed. Try: reinstall the wheel, pip install --force-reinstall "
                        "ckpt_tool-VERSION-py3-none-PLATFORM.whl, or set CKPT_BINARY to the program")
    return found


def _text(name: str, value: Any) -> str:
    """A word of the command line from a string, a path or a number; other types have no defined spelling."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str) or (isinstance(value, Real) and not isinstance(value, bool)):
        return str(value)
    raise TypeError(f"{name}: {value!r}; expected a string, a path or a number")


def words_of(options: dict[str, OptionValue]) -> list[str]:
    """shard_size="5GB" becomes --shard-size=5GB; a list or tuple repeats the option; True becomes a flag; None, False and
    an empty list leave the option out. The program rejects an empty string, and True for an option that takes a value."""
    words: list[str] = []
    for key, value in options.items():
        name = "--" + key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(name)
        elif isinstance(value, (list, tuple)):
            words += [f"{name}={_text(key, each)}" for each in value]
        elif value is not None and value is not False:
            words.append(f"{name}={_text(key, value)}")
    return words


def _end(process: subprocess.Popen[str]) -> None:
    """Ends the program as Ctrl-C would: finished work is kept, and a rerun resumes it."""
    if process.poll() is None:
        process.terminate()  # a shell lets what it runs in the background ignore SIGINT
    if process.stdout is not None:
        process.stdout.close()
    process.wait()


def _exit_code(objects: list[Object], waited: int) -> int:
    """`waited` is 0 as well if SIGCHLD is ignored here, or if another thread waited for the program. Its objects tell then:
    an error is an answer (no) only after a summary."""
    kinds = [one["type"] for one in objects]
    if waited != _DONE or "error" not in kinds:
        return waited
    if objects[kinds.index("error")]["code"] == "interrupted":
        return _INTERRUPTED
    return _ANSWER_IS_NO if "summary" in kinds[:kinds.index("error")] else _FAILED


def _sentence(error: Object) -> str:
    where, message, hint = (str(error[key]) for key in ("where", "message", "try"))
    return (f"{where}: " if where else "") + message + (f". Try: {hint}" if hint else "")


def _failure(objects: list[Object], talk: str, exit_code: int) -> CkptError:
    errors = [one for one in objects if one["type"] == "error"]
    if errors:
        last = errors[-1]
        return CkptError(_sentence(last), str(last["code"]), str(last["where"]), str(last["try"]), exit_code)
    said = [line.removeprefix("ckpt: ") for line in talk.splitlines() if line.strip()]
    ended = f"ckpt was ended by signal {-exit_code}" if exit_code < 0 else f"ckpt ended with exit code {exit_code}"
    return CkptError(said[-1] if said else ended, exit_code=exit_code)


def run(verb: str, positionals: Sequence[Value], options: dict[str, OptionValue],
        progress: ProgressCall | None = None) -> Said:
    words = [find_binary(), verb, "--json", *words_of(options)]
    if progress is not None:
        words.append("--progress=json")
    words += ["--", *(_text("path", one) for one in positionals)]
    objects: list[Object] = []
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as talk:
        # In a separate session, Ctrl-C reaches Python only, which then ends the program once; a second signal would leave
        # the program no time to report where it stopped.
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=talk, text=True,
                                   encoding="utf-8", start_new_session=True)
        assert process.stdout is not None
        try:
            for line in process.stdout:
                one: Object = json.loads(line)
                if one["type"] != "progress":
                    objects.append(one)
                elif progress is not None:
                    progress(Progress(one["what"], one["done_bytes"], one["total_bytes"]))
            process.wait()
        except BaseException:
            _end(process)
            raise
        talk.seek(0)
        text = talk.read()
    code = _exit_code(objects, process.returncode)
    if code not in (_DONE, _ANSWER_IS_NO, _NOT_CHECKED):
        raise _failure(objects, text, code)
    notes = [line.removeprefix("ckpt: note: ") for line in text.splitlines() if line.startswith("ckpt: note: ")]
    return Said(objects, notes, code == _DONE)
