#!/usr/bin/env python3
"""What `cmake --install` gives: the program with pages and completions, and a library that a stranger's CMake finds.

usage: installed.py BUILD_FOLDER [--each-header]      of a build that is complete

The examples of docs/LIBRARY.md are compiled outside of the source and write the bytes that the program writes; the headers
that are installed compile, and include none that is not. With --each-header, a minute longer: each compiles by itself.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "tests/packaging/library"
MODEL = ROOT / "testdata/llama-micro"
CONVERTED = ROOT / "testdata/qwen35-micro"
TENSOR = "model.layers.1.mlp.down_proj.weight"      # blk.1.ffn_down.weight in GGUF


def run(*words, **how):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **how)
    if done.returncode:
        sys.exit(f"{words}:\n{done.stdout}{done.stderr}")
    return done.stdout


def check_program(prefix):
    verbs = re.findall(r"^  (\w+)  ", run(prefix / "bin/ckpt", "--help"), re.M)
    assert len(verbs) >= 12, verbs
    pages = {page.name for page in (prefix / "share/man/man1").iterdir()}
    assert pages == {"ckpt.1", *(f"ckpt-{verb}.1" for verb in verbs)}, pages
    for file in ("bash-completion/completions/ckpt", "zsh/site-functions/_ckpt", "fish/vendor_completions.d/ckpt.fish",
                 "doc/ckpt/README.md", "doc/ckpt/docs/JSON.md"):
        assert (prefix / "share" / file).stat().st_size > 0, file


def check_headers(prefix):
    include = prefix / "include/ckpt"
    headers = sorted(include.rglob("*.h"))
    assert {"formats.h", "quantizers.h", "execute.h"} <= {path.name for path in headers}
    for together in [[header] for header in headers] if "--each-header" in sys.argv else [headers[::-1]]:
        text = "".join(f'#include "{header}"\n' for header in together)
        run("c++", "-std=c++20", "-fsyntax-only", "-x", "c++", f"-I{include}", "-", input=text)
    needed = set()
    for header in headers:
        needed.update(re.findall(r'^#include "([^"]+)"', header.read_text(), re.M))
    roots = {"plan/plan.h", "formats/formats.h", "quantizers/quantizers.h", "core/engine/execute.h"}
    unused = {str(path.relative_to(include)) for path in headers} - needed - roots
    assert not unused, f"installed, and included by none: {unused}"


def check_version():
    """CMakeLists.txt has it; what else names it is compared."""
    text = {name: (ROOT / name).read_text(encoding="utf-8")
            for name in ("CMakeLists.txt", "CHANGELOG.md", "README.md", "docs/CLUSTER.md", "packaging/Dockerfile")}
    version = re.search(r"project\(ckpt VERSION ([\d.]+)", text["CMakeLists.txt"])[1]
    assert re.search(r"^## (\S+)", text["CHANGELOG.md"], re.M)[1] == version, "CHANGELOG.md begins with another version"
    for name in ("README.md", "docs/CLUSTER.md", "packaging/Dockerfile"):
        named = re.findall(r"ckpt[-_:](\d+\.\d+\.\d+)|VERSION=(\d+\.\d+\.\d+)", text[name])
        assert named and {"".join(one) for one in named} == {version}, f"{name} names {named}, not {version}"


def last_bytes(path, count):
    return path.read_bytes()[-count:]


def check_library(prefix, folder):
    page = (ROOT / "docs/LIBRARY.md").read_text(encoding="utf-8")
    for name in ("convert_one.cc", "quantize_one.cc", "CMakeLists.txt"):
        text = (EXAMPLE / name).read_text(encoding="utf-8")
        assert text in page, f"docs/LIBRARY.md does not show {name} as it is"
        (folder / name).write_text(text)
    run("cmake", "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Debug")
    run("cmake", "--build", folder / "build")
    run(folder / "build/quantize_one", MODEL / "model.safetensors", TENSOR, folder / "one.gguf")
    ckpt = prefix / "bin/ckpt"
    run(ckpt, "verify", folder / "one.gguf")
    run(ckpt, "convert", MODEL, folder / "all.gguf", "--to", "q4_k_s", "--tokenizer-pre", "llama-bpe", "--pure",
        "--tensor-type", f"{TENSOR}=q4_k")
    tensor = last_bytes(folder / "one.gguf", 512 * 256 // 256 * 144)     # a block of 144 bytes for 256 values
    assert tensor in (folder / "all.gguf").read_bytes(), "other bytes than the program's"
    run(folder / "build/convert_one", CONVERTED, folder / "library.gguf")
    run(ckpt, "convert", CONVERTED, folder / "program.gguf", "--to", "q4_k_m")
    assert (folder / "library.gguf").read_bytes() == (folder / "program.gguf").read_bytes(), "convert() writes other bytes"


def main():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        prefix = folder / "prefix"
        run("cmake", "--install", sys.argv[1], "--prefix", prefix)
        check_version()
        check_program(prefix)
        check_headers(prefix)
        example = folder / "example"
        example.mkdir()
        check_library(prefix, example)
    print("program, headers, library")


if __name__ == "__main__":
    main()
