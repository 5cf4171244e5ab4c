#!/usr/bin/env python3
"""A static binary opens URLs where nothing but itself is: in an empty root, by number, by name and with certificates.

usage: urls.py BINARY     of another processor, qemu-user runs it; exits 77 where no root can be changed
"""
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

from static import MODEL, can_change_root, check_alone, in_root

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "remote"))
from server import Server  # noqa: E402  (found by the line before)


def main():
    binary = pathlib.Path(sys.argv[1]).resolve()
    machine = check_alone(binary)
    emulator = [] if machine == platform.machine() else [shutil.which(f"qemu-{machine}-static")]
    if None in emulator or not can_change_root():
        print("peer missing: qemu-user-static, or leave to change the root")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as scratch:
        root, server = pathlib.Path(scratch) / "root", Server(pathlib.Path(scratch) / "served")
        (root / "etc/ssl/certs").mkdir(parents=True)
        for one in [binary, *emulator]:
            shutil.copy(one, root)
        program = [*(f"/{pathlib.Path(one).name}" for one in emulator), f"/{binary.name}"]
        (root / "etc/hosts").write_text("127.0.0.1 models.test\n")
        for place in ("hub/org/model", "web/model"):
            shutil.copytree(MODEL, server.root / place)
        subprocess.run([*emulator, binary, "publish", "-q", server.root / "web/model"], check=True, stdout=subprocess.DEVNULL)
        origin, certificate = server.encrypt()
        port = server.origin.split(":")[-1]

        def verify(url, expected=0, **environment):
            done = subprocess.run(in_root(root, program)(["verify", url]), capture_output=True, text=True,
                                  env={"PATH": os.environ["PATH"], **environment})
            assert done.returncode == expected, (url, done.returncode, done.stdout, done.stderr)
            return done.stderr

        for host in ("127.0.0.1", "localhost", "models.test"):
            verify(f"http://{host}:{port}/web/model/")
        verify("hf://org/model", HF_ENDPOINT=server.origin)
        assert "models.invalid" in verify(f"http://models.invalid:{port}/web/model/", 2)
        encrypted = origin + "/web/model/"
        assert "SSL_CERT_FILE" in verify(encrypted, 2)
        (root / "ca.pem").write_text(certificate.read_text())
        verify(encrypted, SSL_CERT_FILE="/ca.pem")
        verify(encrypted.replace("127.0.0.1", "localhost"), SSL_CERT_FILE="/ca.pem")
        (root / "etc/ssl/certs/ca-certificates.crt").write_text(certificate.read_text())
        verify(encrypted)
    print(f"{binary.name}: opens http, https and hf by number and by name in an empty root")


if __name__ == "__main__":
    main()
