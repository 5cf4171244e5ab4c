#!/usr/bin/env python3
"""Builds the wheel, installs it without a network, and uses it as a program and as a package.

usage: wheel.py CKPT [WHEEL]     without WHEEL, builds two from CKPT and compares their bytes; exits 77 without pytest

Checks that the program is on the PATH and writes the bytes of CKPT, that the package passes its tests and, if mypy is
installed, its type check, that the examples of docs/PYTHON.md run, and that no command in documents or messages can install
the unrelated package `ckpt` of PyPI.
"""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests/docs"), str(ROOT / "packaging/python/backend")]
import ckpt_build  # noqa: E402
import ckpt_functions  # noqa: E402
import fixtures  # noqa: E402

LARGEST_WHEEL_BYTES = 8_000_000


def lines_that_ask_an_index():
    """Commands of pip, pipx and uv in our files that name no wheel file and do not turn the index off."""
    paths = [*ROOT.glob("*.md"), *(path for folder in ("docs", "packaging", "tools", "cmake") for path in (ROOT / folder).rglob("*")
                                   if path.suffix in {".md", ".py", ".cc", ".cmake", ""} and path.is_file())]
    for path in paths:
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            for command in re.findall(r"(?:pip3?|pipx|uv tool|uv pip) install .*|\buvx .*", line):
                if "ckpt" in command and ".whl" not in command and "--no-index" not in command:
                    yield f"{path.relative_to(ROOT)}: {command}"


def run(*words, **how):
    return subprocess.run([str(word) for word in words], check=True, **how)


def made_twice(ckpt, folder):
    names = []
    for one in ("a", "b"):
        (folder / one).mkdir()
        names.append(folder / one / ckpt_build.write_wheel(ckpt, folder / one))
    assert names[0].read_bytes() == names[1].read_bytes(), "two wheels of one binary differ"
    return names[0]


def install(wheel, folder):
    """A virtual environment with the wheel; pytest comes from the Python that runs this."""
    run(sys.executable, "-m", "venv", "--system-site-packages", folder)
    run(folder / "bin/pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check", wheel)
    return folder / "bin"


def check_program(scripts, ckpt, folder):
    env = dict(os.environ, PATH=f"{scripts}:{os.environ['PATH']}")
    assert shutil.which("ckpt", path=env["PATH"]) == str(scripts / "ckpt")
    words = ["convert", ROOT / "testdata/qwen35-micro"]
    run("ckpt", *words, folder / "a.gguf", "--to", "q4_k_m", "-q", env=env, stdout=subprocess.DEVNULL)
    run(ckpt, *words, folder / "b.gguf", "--to", "q4_k_m", "-q", stdout=subprocess.DEVNULL)
    assert (folder / "a.gguf").read_bytes() == (folder / "b.gguf").read_bytes(), "not the bytes of the build"
    said = run(scripts / "python", "-m", "ckpt_tool", "--version", capture_output=True, text=True).stdout
    assert said == run(scripts / "ckpt", "--version", capture_output=True, text=True).stdout


def check_functions_and_scripts(scripts, ckpt):
    """The package has the options of the program, and its scripts are those that the program prints."""
    assert ckpt_functions.written(ckpt) == ckpt_functions.OUT.read_text(encoding="utf-8"), "Try: ckpt_functions.py CKPT --write"
    for script in ckpt_build.SCRIPTS:
        text = script.read_text(encoding="utf-8")
        assert run(ckpt, "script", script.stem, capture_output=True, text=True).stdout == text, script
        where = f"import importlib.util as u; print(open(u.find_spec('ckpt_tool.scripts.{script.stem}').origin).read(), end='')"
        assert run(scripts / "python", "-c", where, capture_output=True, text=True).stdout == text, script


def check_examples(scripts, ckpt, folder):
    """Each example of the page in a folder of its own, with the names that it reads."""
    page = (ROOT / "docs/PYTHON.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", page, re.S)
    assert len(examples) >= 3
    for number, example in enumerate(examples):
        place = folder / f"example{number}"
        place.mkdir()
        maker = fixtures.Maker(ckpt, place)
        for name in re.findall(r'"([\w.-]+)"', example):
            if name in ("qat-checkpoint", "bf16", "model.gguf"):
                maker.make(name)
        run(scripts / "python", "-c", example, cwd=place, stdout=subprocess.DEVNULL)


def check_package(scripts, ckpt, folder):
    env = dict(os.environ, CKPT_TESTDATA=str(ROOT / "testdata"), PYTHONDONTWRITEBYTECODE="1")
    tests = ROOT / "tests/packaging/python"
    run(scripts / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", folder, tests, env=env, cwd=folder)
    if importlib.util.find_spec("mypy") is None:
        print("mypy is not installed: types are not checked")
        return
    config = ROOT / "packaging/python"
    run(sys.executable, "-m", "mypy", "--cache-dir", folder / "mypy", "--config-file", "pyproject.toml", cwd=config)


def main():
    for module, package in (("pytest", "python3-pytest"), ("ensurepip", "python3-venv")):
        if importlib.util.find_spec(module) is None:
            print(f"peer missing: {module}. Try: apt install {package}")
            sys.exit(77)
    ckpt = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        assert not (found := list(lines_that_ask_an_index())), found
        wheel = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else made_twice(ckpt, folder)
        assert wheel.stat().st_size <= LARGEST_WHEEL_BYTES, f"{wheel.stat().st_size} bytes"
        scripts = install(wheel, folder / "venv")
        check_program(scripts, ckpt, folder)
        check_functions_and_scripts(scripts, ckpt)
        check_examples(scripts, ckpt, folder)
        check_package(scripts, ckpt, folder)
    print(f"{wheel.name}: program, package, examples")


if __name__ == "__main__":
    main()
