#!/usr/bin/env python3
"""What `ckpt doctor --for PROFILE` says of a folder is what vLLM does with it: configuration, tokenizer, model, weights.

usage: PYTHON vllm_agrees.py CKPT TESTDATA [--only TEXT] [--form FORM] [--jobs N]
  PYTHON has a vllm that a profile describes, which decides the profile; exits 77, "peer missing", without it
  --only TEXT      folders whose name holds TEXT
  --form FORM      exports of that form alone (NVFP4, W4A16, "NVFP4 and FP8", FP8)
  --jobs N         at a time (1)

Asked of: every checkpoint of testdata as it is, what --for PROFILE makes of those that are refused, and exports
of every family, made for nobody and, where that is refused, for PROFILE. No GPU is needed: weights are loaded as they would be
on one, and no kernel runs. What vLLM cannot do without a GPU is named and left out.
"""
import argparse
import concurrent.futures
import json
import pathlib
import queue
import subprocess
import sys
import tempfile

from doctor_mutations import Loader, diagnosis, judged, must_trust
from make_exports import has_tower, header_of, peer_missing, write_amax

# Complete models in addition to the families.
OTHERS = ("*-micro", "nvfp4/*", "export/qat-checkpoint")
# Every family is exported as these; MAXIMA stands for a file of them.
MAXIMA = "MAXIMA"
FORMS = {"NVFP4": ("--to", "nvfp4", "--preset", "default-input-scale1"),
         "W4A16": ("--to", "nvfp4", "--preset", "weight-only"),
         "NVFP4 and FP8": ("--to", "nvfp4", "--preset", "default-input-scale1", "--fp8", "*attn*"),
         "FP8": ("--to", "fp8", "--amax-from", MAXIMA)}
# Also asked with parts that stay as they are, which servers call otherwise or take in floats alone.
KEPT = {"glm-moe-dsa": ("--keep", "*.indexer.wk", "--keep", "*.indexer.weights_proj"),
        "granite4-h": ("--keep", "*.mamba.*"), "lfm2": ("--keep", "*.conv.*"),
        "llama4": ("--keep", "*feed_forward.experts*"), "minimax-m2": ("--keep", "*block_sparse_moe*")}


def is_text_of_wrapper(folder):
    """True for a wrapper's folder without its tower; it is served with --language-model-only."""
    if "text_config" not in json.loads((folder / "config.json").read_text()):
        return False
    return not has_tower(name for file in folder.glob("*.safetensors") for name in header_of(file))


def profile_of(ckpt, version):
    """The name of the profile whose facts are of this minor release of vLLM; None if there is none."""
    listed = subprocess.run([ckpt, "list", "profiles", "--json"], capture_output=True, text=True, check=True).stdout
    for profile in map(json.loads, listed.splitlines()):
        if profile["program"] == "vllm" and profile["version"].split(".")[:2] == version.split(".")[:2]:
            return profile["name"]
    return None


class Run:
    def __init__(self, options, work):
        self.ckpt, self.testdata, self.only, self.form = options.ckpt, options.testdata, options.only, options.form
        self.work = work
        self.loaders = queue.Queue()
        for _ in range(options.jobs):
            loader = Loader(sys.executable, "vllm_outcomes.py", options.testdata / "llama-micro")
            self.loaders.put(loader)
        self.version = loader.version
        self.profile = profile_of(options.ckpt, loader.version)
        if self.profile is None:
            peer_missing("vllm", f"{loader.version} is not one that a profile describes")

    def made(self, name, source, *options):
        """A folder that ckpt makes of `source`; None where it refuses to."""
        out = self.work / name.replace("/", "-").replace(" ", "-")
        done = subprocess.run([self.ckpt, "convert", "-q", source, out, *options], capture_output=True, text=True)
        if done.returncode in (0, 1) and (out / "config.json").exists():
            return out
        print(f"{name}: not made: {done.stderr.strip()[:200]}", flush=True)
        return None

    def is_yes(self, folder):
        loads, sound, _ = diagnosis(self.ckpt, folder, self.profile)
        return loads is not False and sound

    def asked(self):
        """(what it is, folder)."""
        for name, source in sources(self.testdata):
            if self.only not in name:
                continue
            yield name, source
            if not self.is_yes(source):
                yield f"{name} --for {self.profile}", self.made(f"{name} fixed", source, "--for", self.profile)
            if not name.startswith("families/"):
                continue
            for form, options in FORMS.items():
                if self.form in ("", form):
                    options = [self.maxima(name, source) if option == MAXIMA else option for option in options]
                    yield from self.exports(name, source, f"as {form}", options)
                    if source.parent.name in KEPT:
                        yield from self.exports(name, source, f"as {form}, parts kept", (*options, *KEPT[source.parent.name]))

    def maxima(self, name, source):
        path = self.work / f"{name.replace('/', '-')}-amax.json"
        write_amax(source, path)
        return path

    def exports(self, name, source, what, options):
        """As ckpt makes it, and where that is refused, as it makes it for the profile."""
        made = self.made(f"{name} {what}", source, *options)
        yield f"{name} {what}", made
        if made and not self.is_yes(made):
            yield f"{name} {what} --for {self.profile}", self.made(f"{name} {what} fixed", source, *options, "--for", self.profile)

    def answer(self, what, folder):
        """(what it is, vLLM's answer, the doctor's, the name of the difference)."""
        loader = self.loaders.get()
        try:
            said = loader.outcome(folder, is_text_of_wrapper(folder), must_trust(self.ckpt, folder, self.profile))
        finally:
            self.loaders.put(loader)
        loads, sound, reasons = diagnosis(self.ckpt, folder, self.profile)
        doctor = "not checked" if loads is None else "yes" if loads and sound else f"no {reasons}"
        vllm = " ".join((said["outcome"], said["at"], said["says"]))
        print(f"{what}: doctor {doctor}; vLLM {vllm}", flush=True)
        return what, said["outcome"], doctor, vllm, judged(said["outcome"], loads, sound)


def sources(testdata):
    """(name, folder) of the checkpoints of testdata."""
    for pattern in ("families/*/hf", *OTHERS):
        for folder in sorted(testdata.glob(pattern)):
            if (folder / "config.json").exists():
                yield str(folder.relative_to(testdata)).removesuffix("/hf"), folder


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ckpt")
    parser.add_argument("testdata", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--form", choices=("", *FORMS), default="")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        run = Run(options, pathlib.Path(work))
        waiting = [pool.submit(run.answer, what, folder) for what, folder in run.asked() if folder]
        answers = [future.result() for future in waiting]
    left_out = [answer for answer in answers if answer[1] == "cannot say"]
    open_ = [answer for answer in answers if answer[2] == "not checked" and answer[1] != "cannot say"]
    differ = [answer for answer in answers if answer[4] in ("false yes", "false no")]
    for what, _, doctor, vllm, kind in differ:
        print(f"{kind}: {what}: the doctor says {doctor}; vLLM {run.version}: {vllm}")
    print(f"{len(answers)} asked of vLLM {run.version} --for {run.profile}: {len(differ)} differ, {len(open_)} not checked by the "
          f"doctor, {len(left_out)} not to be asked here")
    assert options.only or len(answers) - len(left_out) > 100, "too few could be asked"
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
