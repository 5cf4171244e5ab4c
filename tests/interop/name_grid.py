#!/usr/bin/env python3
"""Tensors under every prefix, for every class: what `ckpt doctor` says of them, and what transformers does.

usage: name_grid.py CKPT OUT FOLDER...     OUT: an empty folder for the variants of the small models in FOLDERs
  CKPT_PEER_TRANSFORMERS_5, CKPT_PEER_TRANSFORMERS_4_57     the Pythons that have transformers and torch

Each variant moves the names of the text part, the head or a tower, or all of them, below other words. The two agree
where transformers misses no weight and refuses nothing exactly when the doctor's checks of names and weights find no
error. Exits 77 without a peer.
"""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

LEADS = ("", "model.", "language_model.", "model.language_model.", "language_model.model.", "transformer.", "model.model.",
         "module.", "_orig_mod.", "base_model.model.", "model.language_model.model.", "text_model.", "llm.")
TOWERS = ("visual", "vision_tower", "vision_model", "multi_modal_projector", "audio_tower", "connector", "mlp_AR", "projector",
          "patch_merge_mlp", "layerwise_projectors", "spatial_projectors", "image_newline", "vit", "embed_vision", "embed_audio",
          "merger")
HEADS = ("lm_head", "embed_out")
TEXTS = ("layers", "embed_tokens", "norm", "embeddings", "norm_f", "embed_in", "final_layer_norm", "embedding_norm")
CHECKS = {"W01", "W02", "W09", "W10", "W12", "C10", "C48"}
# A model that this release does not have, or that it reads on a GPU alone.
UNKNOWN = ("does not recognize this architecture", "has no attribute", "contains custom code", "No GPU or XPU found")
PEERS = {"transformers-5": "CKPT_PEER_TRANSFORMERS_5", "transformers-4.57": "CKPT_PEER_TRANSFORMERS_4_57"}


def apart(name):
    words = name.split(".")
    for at, word in enumerate(words):
        kind = "tower" if word in TOWERS else "head" if word in HEADS else "text" if word in TEXTS else ""
        if kind:
            return kind, ".".join(words[:at] + [""]) if at else "", ".".join(words[at:])
        if word == "mtp":
            break
    return "other", "", name


def variants(names):
    """(label, name -> name): one kind moved, text and tower moved, or words before all names."""
    kinds = {apart(name)[0] for name in names} - {"other"}
    moves = [(kind,) for kind in sorted(kinds)] + ([("text", "tower")] if "tower" in kinds else [])
    seen = set()
    for moved in moves:
        for lead in LEADS:
            made = {name: lead + apart(name)[2] if apart(name)[0] in moved else name for name in names}
            yield from fresh(f"{'+'.join(moved)} under '{lead}'", made, seen)
    for lead in LEADS[1:]:
        yield from fresh(f"'{lead}' before all", {name: lead + name for name in names}, seen)


def fresh(label, made, seen):
    key = tuple(sorted(made.values()))
    if key not in seen and len(set(key)) == len(key):
        seen.add(key)
        yield label, made


def read(folder):
    (path,) = sorted(pathlib.Path(folder).glob("*.safetensors"))
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8:8 + size]), data[8 + size:]


def write(folder, source, header, body):
    folder.mkdir(parents=True)
    for path in pathlib.Path(source).iterdir():
        if path.is_file() and path.suffix != ".safetensors" and not path.name.endswith(".index.json"):
            shutil.copyfile(path, folder / path.name)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + body)


def made_variants(out, folders):
    for source in folders:
        header, body = read(source)
        names = [name for name in header if name != "__metadata__"]
        short = "-".join(pathlib.Path(source).resolve().parts[-2:])
        for number, (label, renamed) in enumerate(variants(names)):
            folder = out / short / str(number)
            if not folder.exists():
                write(folder, source, {renamed.get(name, name): entry for name, entry in header.items()}, body)
            yield f"{short}: {label}", folder


def doctor(ckpt, folder, profiles):
    """By profile: the first error of a check of names; "not checked", or ""."""
    command = [ckpt, "doctor", str(folder), "--json"] + [word for each in profiles for word in ("--for", each)]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    out = {}
    for entry in lines:
        if entry["type"] == "verdict":
            out[entry["profile"]] = "not checked" if entry["not_checked"] else ""
    for entry in lines:
        if entry["type"] == "check" and entry["severity"] in ("unloaded", "unsound") and entry["check"] in CHECKS:
            out[entry["profile"]] = f"{entry['check']} {entry['severity']}"
    return out


class Peer:
    def __init__(self, python):
        script = pathlib.Path(__file__).with_name("weights_outcomes.py")
        self.process = subprocess.Popen([python, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL)
        print(self.process.stdout.readline().strip(), flush=True)

    def ask(self, folder):
        self.process.stdin.write(json.dumps({"folder": str(folder)}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def takes(said):
    return "refuses" not in said and said["missing"] == 0 and said["mismatched"] == 0


def main():
    ckpt, out = sys.argv[1], pathlib.Path(sys.argv[2])
    peers = {profile: Peer(os.environ[name]) for profile, name in PEERS.items() if os.environ.get(name)}
    if not peers:
        print("peer missing: set CKPT_PEER_TRANSFORMERS_5 or CKPT_PEER_TRANSFORMERS_4_57")
        return 77
    counts = {"agree": 0, "false yes": 0, "false no": 0, "not checked": 0}
    for label, folder in made_variants(out, sys.argv[3:]):
        found = doctor(ckpt, folder, peers)
        for profile, peer in peers.items():
            kept = folder / f"{profile}.said"
            if not kept.exists():
                kept.write_text(json.dumps(peer.ask(folder)))
            said = json.loads(kept.read_text())
            if any(words in said.get("refuses", "") for words in UNKNOWN):
                continue
            word = found[profile]
            kind = "not checked" if word == "not checked" else "agree" if takes(said) == (word == "") else \
                "false no" if takes(said) else "false yes"
            counts[kind] += 1
            if kind != "agree":
                print(f"{kind}: {profile}: {label}: doctor {word!r}; {said}", flush=True)
    print(counts)
    return 1 if counts["false yes"] or counts["false no"] else 0


if __name__ == "__main__":
    sys.exit(main())
