#!/usr/bin/env python3
"""Builds the wheel of `ckpt-tool`: the program as a script, and the package `ckpt_tool`. Also the build backend of
pyproject.toml.

usage: ckpt_build.py BINARY FOLDER [LICENSES]     writes the wheel into FOLDER and prints its name

A static binary is tagged for every Linux of its processor, any other binary for this machine only. Equal inputs give equal
bytes; times are SOURCE_DATE_EPOCH's.
"""
import base64
import hashlib
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent
STEM = "ckpt_tool"     # the distribution "ckpt-tool" as file names spell it, and the package
SCRIPTS = [ROOT / "docs/collect_amax.py"]     # as `ckpt script` prints them
MACHINES = {62: "x86_64", 183: "aarch64"}     # e_machine of ELF
PT_INTERP = 3
SUMMARY = "Converts, patches, checks and publishes LLM checkpoints: safetensors, GGUF, NVFP4"


def version():
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(ckpt VERSION ([\d.]+)", text)[1]


def platforms(binary):
    """Tags of the platforms that it runs on (PEP 600, PEP 656)."""
    data = binary.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise SystemExit(f"{binary}: is not a 64-bit Linux program; expected ckpt. Try: cmake --build --preset release")
    machine = MACHINES[struct.unpack_from("<H", data, 18)[0]]
    start, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    segments = [struct.unpack_from("<I", data, start + i * size)[0] for i in range(count)]
    if PT_INTERP in segments:
        return [f"linux_{machine}"]
    return [f"manylinux_2_17_{machine}", f"manylinux2014_{machine}", f"musllinux_1_1_{machine}"]


def metadata():
    return "\n".join([
        "Metadata-Version: 2.1", "Name: ckpt-tool", f"Version: {version()}", f"Summary: {SUMMARY}", "License: Apache-2.0",
        "Requires-Python: >=3.9", "Classifier: License :: OSI Approved :: Apache Software License",
        "Classifier: Operating System :: POSIX :: Linux", "Classifier: Typing :: Typed",
        "Description-Content-Type: text/markdown", "", (HERE / "README.md").read_text(encoding="utf-8")])


def contents(binary, licenses):
    """{name in the wheel: (bytes, mode)}, without RECORD."""
    info = f"{STEM}-{version()}.dist-info"
    files = {f"{STEM}/{path.name}": (path.read_bytes(), 0o644)
             for path in sorted((HERE / "src" / STEM).iterdir()) if path.suffix == ".py" or path.name == "py.typed"}
    for script in SCRIPTS:
        files[f"{STEM}/scripts/{script.name}"] = (script.read_bytes(), 0o644)
    files[f"{STEM}-{version()}.data/scripts/ckpt"] = (binary.read_bytes(), 0o755)
    files[f"{info}/METADATA"] = (metadata().encode(), 0o644)
    tags = "".join(f"Tag: py3-none-{one}\n" for one in platforms(binary))
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: ckpt\nRoot-Is-Purelib: false\n{tags}".encode(), 0o644)
    for path in [ROOT / "LICENSE", *licenses]:
        files[f"{info}/licenses/{path.name}"] = (path.read_bytes(), 0o644)
    return files


def write_wheel(binary, folder, licenses=()):
    files, info = contents(binary, licenses), f"{STEM}-{version()}.dist-info"
    record = []
    for name, (data, _) in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(data)}\n")
    files[f"{info}/RECORD"] = ("".join([*record, f"{info}/RECORD,,\n"]).encode(), 0o644)
    name = f"{STEM}-{version()}-py3-none-{'.'.join(platforms(binary))}.whl"
    moment = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800))[:6]     # zip begins in 1980
    with zipfile.ZipFile(pathlib.Path(folder) / name, "w") as wheel:
        for file, (data, mode) in files.items():
            entry = zipfile.ZipInfo(file, moment)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data, compresslevel=9)
    return name


def run_shown(words):
    """Runs a command and shows its last line on the terminal, because pip hides its output unless it fails."""
    try:
        terminal = open("/dev/tty", "w", encoding="utf-8")
    except OSError:
        terminal = open(os.devnull, "w", encoding="utf-8")
    with terminal, subprocess.Popen(words, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            terminal.write(f"\r{line.rstrip()[:78]:78}")
            terminal.flush()
        terminal.write(f"\r{'':78}\r")
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} failed (see above). Try: cmake/install_dependencies.sh, which installs what the "
                         "build needs, or a wheel or program of a release with --config-settings binary=PATH")


def built_binary():
    """Compiles ckpt as try.sh does. The first build takes minutes."""
    run_shown(["cmake", "--preset", "release"])
    run_shown(["cmake", "--build", "--preset", "release", "--target", "ckpt"])
    return ROOT / "build/release/ckpt"


def given_binary(config_settings):
    return (config_settings or {}).get("binary") or os.environ.get("CKPT_BINARY")


def get_requires_for_build_wheel(config_settings=None):
    """The packages to install from PyPI: programs that a build needs and that this machine lacks."""
    return [] if given_binary(config_settings) else [tool for tool in ("cmake", "ninja") if shutil.which(tool) is None]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    named = given_binary(config_settings)
    return write_wheel(pathlib.Path(named) if named else built_binary(), wheel_directory)


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("the source of the wheel is the entire repository; packaging/release writes it")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    print(write_wheel(pathlib.Path(sys.argv[1]), sys.argv[2], [pathlib.Path(one) for one in sys.argv[3:]]))
