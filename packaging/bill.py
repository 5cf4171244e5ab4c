#!/usr/bin/env python3
"""What a static ckpt is made of: a bill of materials (CycloneDX 1.5) and the licenses of what is linked or compiled in.

usage: bill.py BINARY SYSROOT|- CURL BILL.json LICENSES.txt     "-": the packages are this machine's, else those that
                                                                packaging/sysroot.sh unpacked; CURL: of packaging/libcurl.sh
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time
import uuid

# (component, Debian package, license), in the order of the texts.
LIBRARIES = [
    ("openssl", "libssl-dev", "Apache-2.0"), ("zstd", "libzstd-dev", "BSD-3-Clause"), ("libyaml", "libyaml-dev", "MIT"),
    ("highway", "libhwy-dev", "Apache-2.0"), ("fmt", "libfmt-dev", "MIT"), ("nlohmann-json", "nlohmann-json3-dev", "MIT"),
    ("cli11", "libcli11-dev", "BSD-3-Clause"), ("tl-expected", "libexpected-dev", "CC0-1.0")]
FETCHED = {"curl": "curl", "c-ares": "MIT"}
# Of the compiler: installed on this machine, for either processor.
RUNTIME = [("glibc", "libc6-dev", "LGPL-2.1-or-later"), ("libstdc++", "libstdc++-12-dev", "GPL-3.0-or-later WITH GCC-exception-3.1")]
HEAD = """The binary ckpt holds code of the following, linked statically. ckpt itself is under the Apache License 2.0 (LICENSE).
Its complete source and `packaging/release`, which links it, let anyone link it again with another version of the C library,
as that library's license asks.
"""


def installed(package):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=True)
    return done.stdout, pathlib.Path("/usr/share/doc", package, "copyright")


def packages(sysroot, curl):
    """(component, version, license, file with its text)"""
    for line in (curl / "packages.txt").read_text().splitlines():
        name, version, _ = line.split()
        yield name, version, FETCHED[name], curl / f"{name}.copyright"
    if sysroot is None:
        for name, package, license_id in LIBRARIES + RUNTIME:
            yield (name, *installed(package)[:1], license_id, installed(package)[1])
        return
    versions = dict(line.split()[:2] for line in (sysroot / "packages.txt").read_text().splitlines())
    for name, package, license_id in LIBRARIES:
        yield name, versions[package], license_id, sysroot / "usr/share/doc" / package / "copyright"
    for name, package, license_id in RUNTIME:
        version, text = installed(package + "-arm64-cross")
        yield name, version, license_id, text


def component(name, version, license_id):
    kind = "expression" if " " in license_id else "id"
    chosen = {"expression": license_id} if kind == "expression" else {"license": {"id": license_id}}
    return {"type": "library", "name": name, "version": version, "licenses": [chosen],
            "purl": f"pkg:deb/debian/{name}@{version}?distro=bookworm"}


def bill(binary, libraries):
    digest = hashlib.sha256(binary.read_bytes()).hexdigest()
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", 0))))
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest)}",
            "metadata": {"timestamp": moment, "component": {
                "type": "application", "name": "ckpt", "licenses": [{"license": {"id": "Apache-2.0"}}],
                "hashes": [{"alg": "SHA-256", "content": digest}]}},
            "components": [component(*one[:3]) for one in libraries]}


def main():
    binary, sysroot, curl, bill_file, license_file = sys.argv[1:]
    libraries = list(packages(None if sysroot == "-" else pathlib.Path(sysroot), pathlib.Path(curl)))
    pathlib.Path(bill_file).write_text(json.dumps(bill(pathlib.Path(binary), libraries), indent=2) + "\n")
    texts = [f"{'=' * 80}\n{name} {version} ({license_id})\n{'=' * 80}\n\n{text.read_text(encoding='utf-8')}"
             for name, version, license_id, text in libraries]
    pathlib.Path(license_file).write_text(HEAD + "\n" + "\n".join(texts), encoding="utf-8")


if __name__ == "__main__":
    main()
