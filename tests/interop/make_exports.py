"""Exports of testdata's models by ckpt, for the other scripts of this folder, which show them to other programs.

Activation maxima are made up (each layer's another one): what is asked is whether an export is taken
and what it decodes to, not how well it predicts.
"""
import json
import pathlib
import struct
import subprocess
import sys

MISSING = 77
# A vision-language model's tensors with one of these in their names are its tower's.
TOWERS = ("visual.", "vision_tower.", "vision_model.")


def peer_missing(what, error):
    print(f"peer missing: {what} ({error})")
    sys.exit(MISSING)


def header_of(path):
    with open(path, "rb") as file:
        return json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))


def has_tower(names):
    return any(part in name for name in names for part in TOWERS)


def write_amax(source, path):
    """A maximum for the input of every matrix, as --amax-from takes them."""
    names = [name for file in sorted(source.glob("*.safetensors")) for name, entry in header_of(file).items()
             if name.endswith(".weight") and len(entry["shape"]) >= 2]
    names += [f"{name}.weight" for file in sorted(source.glob("*.safetensors")) for name in header_of(file)
              if name.endswith(("experts.gate_up_proj", "experts.down_proj"))]
    amax = {name[:-len(".weight")]: 4 + i % 9 / 2 for i, name in enumerate(names)}
    path.write_text(json.dumps(amax))


def convert(ckpt, source, out, *options):
    done = subprocess.run([ckpt, "convert", "-q", str(source), str(out), *options], stdout=subprocess.DEVNULL)
    if done.returncode not in ((0, 1) if "--for" in options else (0,)):  # 1: made, and not sound for it
        raise subprocess.CalledProcessError(done.returncode, done.args)


def export(ckpt, testdata, model, work, to="nvfp4", *options):
    """The folder of `model` as `to`."""
    name = model.replace("/", "-")
    source, out = pathlib.Path(testdata) / model, pathlib.Path(work) / f"{name}-{to}"
    amax = pathlib.Path(work) / f"{name}-amax.json"
    write_amax(source, amax)
    needs_amax = () if to == "nvfp4-w4a16" else ("--amax-from", str(amax))
    convert(ckpt, source, out, "--to", to, *needs_amax, *options)
    return out
