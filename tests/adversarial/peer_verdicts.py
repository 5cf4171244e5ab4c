"""Run by the Python that has model_signing: a line FOLDER<tab>SIGNATURE<tab>KEY on stdin, "yes" or
"no: why" on stdout. A folder passes when model_signing's own command would pass it in one of its two
modes, with git's paths ignored (its default) or not; config as model_signing/_cli.py makes it."""
import contextlib
import io
import pathlib
import sys

from model_signing import hashing, verifying


def verdict(folder, signature, key):
    said = ""
    for ignore_git_paths in (True, False):
        ignored = []
        if signature.parent.resolve() == folder.resolve():
            ignored.append(signature.name)
        config = hashing.Config().set_ignored_paths(paths=ignored, ignore_git_paths=ignore_git_paths)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                verifier = verifying.Config().use_elliptic_key_verifier(public_key=key)
                verifier.set_hashing_config(config).verify(folder, signature)
            return "yes"
        except Exception as error:
            said = str(error).replace("\n", " ")
    return "no: " + said[:200]


for line in sys.stdin:
    folder, signature, key = (pathlib.Path(word) for word in line.rstrip("\n").split("\t"))
    print(verdict(folder, signature, key).encode("ascii", "replace").decode(), flush=True)
