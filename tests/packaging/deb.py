#!/usr/bin/env python3
"""The Debian package: what is in it, and that it comes and goes without a trace.

usage: deb.py BUILD_FOLDER|FILE.deb [ROOT...]     of a build, cpack makes one; each ROOT (debootstrap) has it installed and purged

lintian says what it thinks where it is installed: an error of its is one here.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FILES = ["usr/bin/ckpt", "usr/share/man/man1/ckpt.1.gz", "usr/share/man/man1/ckpt-convert.1.gz",
         "usr/share/bash-completion/completions/ckpt", "usr/share/fish/vendor_completions.d/ckpt.fish", "usr/share/doc/ckpt/README.md",
         "usr/share/doc/ckpt/copyright", "usr/share/doc/ckpt/changelog.gz", "usr/share/doc/ckpt/docs/PYTHON.md",
         "usr/share/doc/ckpt/docs/collect_amax.py"]
FOREIGN = re.compile(r"include/|\.a$|cmake/|site-packages|LICENSE$")


def run(*words, **how):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **how)
    if done.returncode:
        sys.exit(f"{words}:\n{done.stdout}{done.stderr}")
    return done.stdout


def made(build, folder):
    run("cpack", "--config", build / "CPackConfig.cmake", "-B", folder, cwd=build)
    return next(folder.glob("*.deb"))


def check_contents(package, folder):
    listed = [line.split(None, 5) for line in run("dpkg-deb", "-c", package).splitlines()]
    names = [line[5].removeprefix("./") for line in listed]
    missing = [name for name in FILES if name not in names]
    assert not missing, f"missing: {missing}"
    assert not [name for name in names if FOREIGN.search(name)], [name for name in names if FOREIGN.search(name)]
    assert {line[1] for line in listed} == {"root/root"}, "not all of it is root's"
    modes = {line[0] for line in listed}
    assert modes <= {"drwxr-xr-x", "-rw-r--r--", "-rwxr-xr-x"}, modes
    run("dpkg-deb", "-x", package, folder / "root")
    page = run("gzip", "-dc", folder / "root" / FILES[2])
    assert page.startswith(".TH CKPT")


def check_lintian(package):
    if shutil.which("lintian") is None:
        return print("lintian is not installed")
    said = subprocess.run(["lintian", "--fail-on", "error", package], capture_output=True, text=True)
    errors = [line for line in said.stdout.splitlines() if line.startswith("E:")]
    assert not errors, "\n".join(errors)
    print(f"lintian: no errors, {len(said.stdout.splitlines())} other remarks")


def traces(root):
    return run("find", root / "usr", root / "etc", root / "var/lib/dpkg/info", "-name", "*ckpt*").splitlines()


def check_root(root, package):
    assert not traces(root), traces(root)
    shutil.copy(package, root / "tmp/ckpt.deb")
    apt = ["chroot", root, "apt-get", "-qq", "-o", "APT::Sandbox::User=root"]
    run(*apt, "install", "-y", "--no-install-recommends", "/tmp/ckpt.deb")
    assert run("chroot", root, "ckpt", "--version").startswith("ckpt ")
    assert run("chroot", root, "dpkg", "-V", "ckpt") == ""
    run(*apt, "purge", "-y", "ckpt")
    assert not traces(root), traces(root)
    (root / "tmp/ckpt.deb").unlink()


def main():
    named = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        package = made(named, folder / "made") if named.is_dir() else named
        check_contents(package, folder)
        if named.suffix == ".deb":     # of a build with shared libraries, it says what is true of this machine
            check_lintian(package)
        for root in sys.argv[2:]:
            check_root(pathlib.Path(root), package)
        print(f"{package.name}: contents" + "".join(f", {pathlib.Path(root).name}" for root in sys.argv[2:]))


if __name__ == "__main__":
    main()
