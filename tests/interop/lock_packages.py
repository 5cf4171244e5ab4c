#!/usr/bin/env python3
"""Writes packages/NAME.txt: every package that a Python of get_peers.sh gets from PyPI, with the SHA-256 of its files for
CPython 3.11 to 3.13 on Linux, x86-64 and aarch64. pip accepts no other file (--require-hashes).

usage: lock_packages.py NAME [REQUIREMENT...]     needs uv; without requirements: those in the file's first line
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

VERSIONS = range(11, 14)
TAGS = re.compile(r"-(?:(?P<any>py[\w.]*)|cp3(?P<minor>\d+))-(?P<abi>none|abi3|cp3\d+)-(?P<system>any|[\w.]*manylinux[\w.]*_(?:x86_64|aarch64))\.whl$")


def is_ours(wheel):
    tags = TAGS.search(wheel)
    if tags is None or tags["any"] and "3" not in tags["any"]:
        return False
    minor = int(tags["minor"] or 0)
    return bool(tags["any"]) or minor in VERSIONS or tags["abi"] == "abi3" and minor < VERSIONS.stop


def name_of(file):
    return file.get("name") or file["url"].rsplit("/", 1)[1]


def line_of(package):
    files = [file for file in package.get("wheels", []) if is_ours(name_of(file))] or [package["sdist"]]
    # Only markers that tell our versions apart; all of our systems are Linux.
    marker = f" ; {package['marker']}" if re.search(r"3\.1[23]'|3\.11\.\*", package.get("marker", "")) else ""
    hashes = "".join(f" \\\n    --hash=sha256:{digest}" for digest in sorted(file["hashes"]["sha256"] for file in files))
    return f"{package['name']}=={package['version']}{marker}{hashes}\n"


def main():
    path = pathlib.Path(__file__).resolve().parent / "packages" / f"{sys.argv[1]}.txt"
    wanted = sys.argv[2:] or path.read_text().split("\n", 1)[0].split()[2:]
    with tempfile.TemporaryDirectory() as folder:
        lock = pathlib.Path(folder) / "pylock.toml"
        subprocess.run(["uv", "pip", "compile", "-q", "--universal", "--python-version", f"3.{VERSIONS.start}", "-", "-o", lock],
                       input="\n".join(wanted), text=True, check=True)
        packages = tomllib.loads(lock.read_text())["packages"]
    lines = [line_of(package) for package in packages if not re.search("== '(win32|emscripten)'", package.get("marker", ""))]
    path.write_text(f"# from: {' '.join(wanted)}\n" + "".join(lines))


main()
