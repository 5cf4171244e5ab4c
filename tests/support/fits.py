"""Runs every command on a terminal, and counts lines that are too long, names that are cut, and sizes printed as long
numbers of bytes. usage: fits.py CKPT TESTDATA (in an empty folder) prints the counts for 80 columns; --all adds other
widths and prints the lines."""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import terminal
import unicodedata

LONG = "model.language_model.layers.31.linear_attn.in_proj_qkvz.weight_scale_2"
WIDE = "モデル.層.重み." + "長" * 40
COLOR = re.compile(r"\x1b\[[0-9;]*[mK]")
BYTES = re.compile(r"\b\d{5,} bytes\b")


def safetensors(path, names):
    header = {name: {"dtype": "F32", "shape": [2, 2], "data_offsets": [16 * at, 16 * at + 16]}
              for at, name in enumerate(names)}
    text = json.dumps(header).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + b"\0" * 16 * len(names))


def columns_of(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def prepare(ckpt, testdata):
    model = testdata + "/llama-micro"
    typed = lambda *words: subprocess.run([ckpt, *words, "-q"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shutil.copytree(model, "m")
    for out, kind in (("a.gguf", "bf16"), ("b.gguf", "q8_0")):
        typed("convert", model, out, "--to", kind, "--tokenizer-pre", "llama-bpe")
    typed("convert", model, "n", "--to", "nvfp4-w4a16")
    typed("convert", model, "plan.gguf", "--to", "q8_0", "--tokenizer-pre", "llama-bpe", "--plan-out", "plan.json")
    typed("publish", "m")
    os.mkdir("names")
    safetensors("names/model.safetensors", [LONG, WIDE, "a"])
    os.mkdir("others")
    safetensors("others/model.safetensors", [LONG + "_b", WIDE + "b", "a"])
    with open("ones.dat", "wb") as out:    # an importance matrix that fits no model here
        name = b"blk.0.a_long_name_of_a_weight_that_is_in_no_model_at_all.ffn_gate_exps.weight"
        out.write(struct.pack("<ii", 1, len(name)) + name + struct.pack("<ii", 1, 256) + struct.pack("<256f", *[1.0] * 256))


def lines_to_type():
    verbs = "convert patch set imatrix execute plan show get diff report list doctor verify publish script completion man version"
    yield from ([verb, "-h"] for verb in verbs.split())
    yield from (["help", word] for word in ("", *verbs.split(), "graft", "q4_k_m", "C02", "Q34", "vllm", "llama", "exit-codes",
                                            "environment", "recipes", "json", "resume", "options", "LlamaForCausalLM", "nothing"))
    yield from (["list", what] for what in "formats types steps families checks profiles options commands".split())
    yield ["list", "types", "--all"]
    for path in ("a.gguf", "m", "n", "names", "none"):
        yield ["show", path, "--tensors"]
        yield ["verify", path]
    yield from (["show", path, "--metadata"] for path in ("a.gguf", "names"))
    yield from (["doctor", path] for path in ("a.gguf", "m", "n", "names"))
    yield ["doctor", "n", "--for", "all"]
    yield from (["diff", *pair] for pair in (("a.gguf", "b.gguf"), ("m", "n"), ("names", "others"), ("m", "m")))
    yield ["diff", "a.gguf", "b.gguf", "--values"]
    yield ["diff", "m", "n", "--values", "--fail-if", "rmse>0"]
    pre = ["--tokenizer-pre", "llama-bpe"]
    yield ["convert", "m", "x.gguf", "--to", "q4_k_m", "--dry-run", *pre]
    yield ["convert", "m", "x.gguf", "--to", "q4_k_m", *pre]
    yield ["convert", "m", "x.gguf", "--to", "q4_k_m", *pre]
    yield ["convert", "m", "y.gguf", "--target-size", "2MB", *pre]
    yield ["convert", "m", "y.gguf", "--to", "nothing"]
    yield ["patch", "a.gguf", "--step", "metadata:set=general.name=A very long name of a model that nobody can read", "--dry-run"]
    yield ["patch", "m", "--step", "config:set=max_position_embeddings=40960", "--dry-run"]
    yield ["set", "b.gguf", "general.name=Mine", "general.description=" + "words " * 30]
    yield ["execute", "plan.json"]
    yield ["publish", "m", "--dry-run"]
    yield ["publish", "n"]
    yield ["report", "a.gguf", "b.gguf"]
    yield ["imatrix", "show", "ones.dat", "--tensors"]
    yield ["doctor", "a.gguf", "--imatrix", "ones.dat"]


def faults_of(ckpt, words, columns):
    """Yields (kind, line) for each line that is too long, has a cut name, or has a long number of bytes."""
    out = terminal.printed([ckpt, *words], columns)[0].decode(errors="replace")
    out = COLOR.sub("", out).replace("\r\n", "\n")
    as_typed = {"completion", "script", "man", "plan"} & {words[0]} or words[:1] == ["publish"] and "--card" in words
    for line in out.split("\n"):
        line = line.rsplit("\r", 1)[-1]
        if columns and columns_of(line) > columns and not as_typed and " " in line.strip() and not re.match(r"[0-9a-f]{64}  ", line):
            yield "long", line
        if "…" in line:
            yield "cut", line
        if BYTES.search(line) and int(re.search(r"\d{5,}", BYTES.search(line)[0])[0]) > 10_000:
            yield "bytes", line


def main():
    ckpt, testdata = sys.argv[1:3]
    prepare(ckpt, testdata)
    for columns in (80, 100, 120, 0) if "--all" in sys.argv else (80,):
        counts = {"long": 0, "cut": 0, "bytes": 0}
        lines = 0
        for words in lines_to_type():
            for kind, line in faults_of(ckpt, words, columns):
                counts[kind] += 1
                if "--all" in sys.argv:
                    print(f"{columns} {kind} {' '.join(words)}: {line}")
        print(f"{columns} columns: {counts['long']} lines too long, {counts['cut']} cut, {counts['bytes']} numbers of bytes")
        for path in ("x.gguf", "y.gguf", "report.html"):
            if os.path.exists(path):
                os.remove(path)


if __name__ == "__main__":
    main()
