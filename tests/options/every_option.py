#!/usr/bin/env python3
"""Every option of `ckpt convert`, on every kind of input: the plan changes, or ckpt reports that it does not.

usage: every_option.py CKPT TESTDATA

The options are those of `ckpt list options`. One without values below is tried with its choices, or with a
value of its kind. Each is added to command lines that work without it; then the digest of the plan
must be another, or stderr must speak of the option, or the command must be refused with a sentence. The command
lines of one input take turns with the values, unless CKPT_LONG=1 pairs each with each.
"""
import concurrent.futures
import itertools
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

ckpt, testdata = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()

AMAX = '{"model.layers.0.mlp.down_proj": 1.5}'
# Values of options whose kind alone says too little. FOLDER stands for the scratch folder.
VALUES = {
    "to": ["f16", "q4_k_m", "nvfp4-w4a16"],
    "keep": ["*down_proj*", "typo*", "*norm*"],
    "tensor-type": ["*down_proj*=q5_k", "typo*=q8_0", "out:*ffn_down*=q5_k"],
    "imatrix": ["FOLDER/imatrix.dat"],
    "tokenizer": ["TESTDATA/qwen35-micro", "TESTDATA/llama-micro"],
    "tokenizer-pre": ["gpt-4o", "llama-bpe"],
    "tokenizer-as": ["converter"],
    "model-name": ["Another Name"],
    "also": ["FOLDER/also.gguf=f32", "FOLDER/also=bf16"],
    "mmproj": ["FOLDER/mmproj.gguf"],
    "mmproj-type": ["f16", "bf16"],
    "for": ["vllm-0.17", "llama.cpp"],
    "base": ["TESTDATA/llama-micro"],
    "step": ["drop:tensors=*norm*", "cast:type=f16", "dequantize", "serving-config", "rename:from=model.,to=m.",
             "tokenizer:for=transformers-4.57", "preprocessor", "vl-wrap", "metadata:set=a=b", "config:set=a=1",
             "nvfp4-layout:to=modelopt", "to-gguf"],
    "amax-from": ["FOLDER/amax.json"],
    "preset": ["mlp-only", "experts-only", "weight-only", "mlp-only-input-scale1"],
    "moments": ["TESTDATA/llama-micro/model.safetensors"],
    "only": ["*down_proj*", "typo*"],
    "fp8": ["*o_proj*", "typo*"],
    "split-tensors": ["1", "7"],
    "header-slack": ["4K"],
    "target-size": ["3MB", "1K"],
    "target-bits": ["4.6"],
    "sensitivity": ["TESTDATA/sensitivity/kld_results.csv"],
    "like": ["llama", "qwen3_5"],
    "weights": ["model", "master"],
}
# Options that only have meaning with another option, which is in the line they are added to.
BESIDE = {"mmproj-type": ["--mmproj", "beside.gguf"], "base": ["--for", "vllm-0.17"], "moments": ["--search", "best"],
          "sensitivity": ["--target-size", "2MB"]}


KINDS = {"": [""], "TYPE": ["q5_k"], "SIZE": ["1K"], "GLOB": ["*down_proj*", "typo*"], "FILE": ["FOLDER/file"]}


def options():
    """The rows of the table, by name, those that only say how the command runs among them."""
    text = subprocess.run([ckpt, "list", "options", "--json"], capture_output=True, text=True, check=True).stdout
    rows = {row["name"]: row for row in map(json.loads, text.splitlines())}
    assert len(rows) > 45, f"listed are {sorted(rows)}"
    return rows


def values_of(row):
    words = [word for word in row["choices"] if word != "none"]
    return VALUES.get(row["name"]) or words or KINDS[row["value"]]


class Trial:
    def __init__(self, folder):
        self.folder, self.without = folder, {}

    def run_without(self, words):
        key = tuple(words)
        if key not in self.without:
            self.without[key] = self.run(words)
        return self.without[key]

    def run(self, words):
        with tempfile.TemporaryDirectory(dir=self.folder) as own:
            plan = pathlib.Path(own, "plan.json")
            done = subprocess.run([ckpt, "convert", *words, "--plan-out", plan], cwd=self.folder, capture_output=True,
                                  text=True, timeout=300)
            digest = json.loads(plan.read_text())["digest"] if plan.exists() else ""
        return done.returncode, digest, done.stderr

    def value(self, text):
        return text.replace("FOLDER", str(self.folder)).replace("TESTDATA", str(testdata))

    def problem(self, base, name, value):
        """What is wrong with adding the option to a line that works; None when nothing is."""
        words = base + BESIDE.get(name, [])
        before = self.run_without(words)
        if before[0] != 0:
            return None
        given = [f"--{name}"] + ([self.value(value)] if value else [])
        code, digest, said = self.run(words + given)
        line = " ".join(map(str, words + given))
        if code < 0 or code not in (0, 2):
            return f"{line}: exit {code}: {said}"
        if code == 2:
            return None if said.startswith("ckpt: ") and len(said) > 20 else f"{line}: refused without a word"
        if digest != before[1]:
            return None
        new = [s for s in said.splitlines() if s not in before[2].splitlines()]
        word = value.split(":")[0] if name == "step" else name
        if any(word in s or value and value in s for s in new):
            return None
        return f"{line}: changes nothing, silently\n{said}"


def trials(lines, tried):
    """(command line, option, value): for each input every value and every command line at least once."""
    for _, of_source in itertools.groupby(lines, lambda line: line[0]):
        of_source = list(of_source)
        for row in tried:
            bases, values = [line for line in of_source if f"--{row['name']}" not in line], values_of(row)
            if os.environ.get("CKPT_LONG"):
                pairs = itertools.product(bases, values)
            else:
                pairs = [(bases[i % len(bases)], values[i % len(values)]) for i in range(max(len(bases), len(values)))] if bases else []
            yield from ((base, row["name"], value) for base, value in pairs)


def inputs(folder):
    """Kinds of input, and what may be asked of each."""
    floats = [["out"], ["out", "--to", "f16"], ["out", "--to", "nvfp4-w4a16"]]
    gguf = [["out.gguf"], ["out.gguf", "--to", "bf16"], ["out.gguf", "--to", "q4_k_m"]]
    pre = ["--tokenizer-pre", "llama-bpe"]
    make = lambda words: subprocess.run([ckpt, "convert", *words, "--quiet"], cwd=folder, check=True)
    micro = testdata / "llama-micro"
    make([micro, "bf16.gguf", "--to", "bf16", *pre])
    make(["bf16.gguf", "q8.gguf", "--to", "q8_0"])
    make([micro, "nvfp4", "--to", "nvfp4-w4a16"])
    make(["nvfp4", "nvfp4.gguf", *pre])
    shutil.copy(micro / "model.safetensors", folder / "alone.safetensors")
    out = [(micro, floats + [b + pre for b in gguf]),
           (testdata / "qwen35-micro", floats[:1] + gguf[1:]),
           (testdata / "qwen35moe-micro", floats[2:] + gguf[2:]),
           (testdata / "qwen35vl-micro", floats[:1]),
           (testdata / "families/qwen3-vl/hf", [["out.gguf", "--to", "q8_0"], ["out.gguf", "--mmproj-only"]]),
           (folder / "alone.safetensors", floats),
           (folder / "bf16.gguf", gguf),
           (folder / "q8.gguf", gguf[:1]),
           (folder / "nvfp4.gguf", gguf[:1]),
           (folder / "nvfp4", [["out"], ["out", "--to", "bf16"], ["out.gguf", *pre],
                               ["out.gguf", "--to", "q8_0", "--allow-requantize", *pre]]),
           (testdata / "export/qat-checkpoint", [["out"], ["out", "--to", "nvfp4"]]),
           (testdata / "nvfp4/qwen35-micro-ct", floats[:2]),
           (testdata / "nvfp4/qwen35-micro-mixed", floats[:2]),
           (testdata / "mixed/qwen35-micro-awq-lite", floats[:2])]
    out += [(path, floats[:1]) for path in sorted((testdata / "packed").iterdir()) if path.is_dir()]
    return [[str(path), *base] for path, bases in out for base in bases]


def check_recipes(rows, folder):
    """A recipe takes every option but those that say how the command runs, under its spelling."""
    problems = []
    for row in rows.values():
        key = row["key"]
        if not row["kept"] or key in ("in", "out"):
            continue
        text = values_of(row)[0]
        value = True if not text else [text] if key in ("steps", "for") else text
        if key == "also":
            value = [{"out": "x", "to": "f16"}]
        (folder / "recipe.json").write_text(json.dumps({"in": "missing", "out": "out", key: value}))
        done = subprocess.run([ckpt, "convert", "--recipe", "recipe.json"], cwd=folder, capture_output=True, text=True)
        if "does not exist" not in done.stderr:   # the first thing that is wrong is IN
            problems.append(f"recipe key {key}: {done.stderr}")
    return problems


def main():
    rows = options()
    gone = set(VALUES) - set(rows)
    assert not gone, f"options that are not declared any more: {sorted(gone)}"
    # Those that are typed once and kept nowhere say how the command runs.
    tried = [row for row in rows.values() if row["kept"] and row["key"] not in ("in", "out") and row["name"] != "allow-nonfinite"]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch).resolve()
        (folder / "amax.json").write_text(AMAX)
        write_imatrix(folder / "imatrix.dat")
        trial = Trial(folder)
        lines = inputs(folder)
        jobs = list(trials(lines, tried))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            problems = [p for p in pool.map(lambda job: trial.problem(*job), jobs) if p]
        problems += check_recipes(rows, folder)
    print(f"{len(rows)} options, {len(lines)} command lines, {len(jobs)} trials, {len(problems)} problems")
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


def write_imatrix(path):
    """A legacy importance matrix of one layer of llama-micro."""
    values = 256
    name = b"blk.0.attn_q.weight"
    path.write_bytes(struct.pack("<ii", 1, len(name)) + name + struct.pack("<ii", 1, values) +
                     struct.pack(f"<{values}f", *([1.0] * values)))


main()
