#!/usr/bin/env python3
"""Holds `ckpt doctor --for llama.cpp` to what the real library says of GGUF files: those that ckpt makes of each family,
as they are and each changed in one thing: a tensor, a key, a type, the tokenizer, the file's length.

usage: gguf_mutations.py CKPT TESTDATA [options]
  --lib DIR        the library, as get_llama_cpp.sh puts it there; without it what it said before is read from --table,
                   whose families are asked alone
  --table FILE     what it said, case by case (TESTDATA/doctor/llama.cpp.tsv)
  --record         writes the table
  --families DIR   of other checkpoints, DIR/NAME/hf each, instead of TESTDATA's
  --half 0|1       only every second architecture
  --many N         so many times the changes for each file (1)
  --limit SHARE    of false yes and of false no (0.01)

A false yes: the library refuses the file, stops or computes nothing, and the doctor says that it loads. A false no: it
computes, and the doctor says that it does not load. The library takes a file when a run of tokens gives logits; each file is read in
a process of its own, because the library aborts. "Not checked" is counted too.
"""
import argparse
import collections
import importlib
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile

import gguf_kinds

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
U32, I32, F32, BOOL, TEXT, ARRAY = 4, 5, 6, 7, 8, 9
AS_IT_IS = "/as it is"
FOR_EACH = 5  # of the older changes and of those of gguf_kinds.py, in each file
F32_TENSOR, F16_TENSOR, BF16_TENSOR = 0, 1, 30


class Gguf:
    """Keys as (name, type, payload) and tensors as [name, dims, type, data], in their order."""

    def __init__(self, path):
        self.raw = pathlib.Path(path).read_bytes()
        self.at = 8
        n_tensors, n_keys = self.take("<QQ")
        self.keys = [self.key() for _ in range(n_keys)]
        infos = [self.info() for _ in range(n_tensors)]
        start = (self.at + 31) // 32 * 32
        ends = sorted(offset for *_, offset in infos) + [len(self.raw) - start]
        self.tensors = []
        for name, dims, kind, offset in infos:
            end = ends[ends.index(offset) + 1]
            self.tensors.append([name, dims, kind, self.raw[start + offset:start + end]])

    def copy(self):
        out = object.__new__(Gguf)
        out.raw, out.at = self.raw, self.at
        out.keys, out.tensors = list(self.keys), [list(tensor) for tensor in self.tensors]
        return out

    def take(self, form):
        out = struct.unpack_from(form, self.raw, self.at)
        self.at += struct.calcsize(form)
        return out

    def bytes(self):
        size, = self.take("<Q")
        self.at += size
        return self.raw[self.at - size:self.at]

    def key(self):
        name = self.bytes().decode()
        kind, = self.take("<I")
        begin = self.at
        self.skip(kind)
        return name, kind, self.raw[begin:self.at]

    def skip(self, kind):
        if kind == TEXT:
            self.bytes()
        elif kind == ARRAY:
            element, count = self.take("<IQ")
            for _ in range(count):
                self.skip(element)
        else:
            self.at += SIZES[kind]

    def info(self):
        name = self.bytes().decode()
        rank, = self.take("<I")
        dims = list(self.take(f"<{rank}Q"))
        kind, offset = self.take("<IQ")
        return name, dims, kind, offset

    def __bytes__(self):
        out = [struct.pack("<4sIQQ", b"GGUF", 3, len(self.tensors), len(self.keys))]
        for name, kind, payload in self.keys:
            out += [text(name), struct.pack("<I", kind), payload]
        offset = 0
        for name, dims, kind, data in self.tensors:
            out += [text(name), struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)]
            offset += (len(data) + 31) // 32 * 32
        head = b"".join(out)
        out = [head, b"\0" * (-len(head) % 32)]
        for *_, data in self.tensors:
            out += [data, b"\0" * (-len(data) % 32)]
        return b"".join(out)

    def find(self, name):
        return next((i for i, key in enumerate(self.keys) if key[0] == name), None)


def text(value):
    value = value.encode()
    return struct.pack("<Q", len(value)) + value


# ---- changes: a case's name, and what it does to the file ------------------------------------------

def set_key(name, kind, payload):
    def change(file):
        at = file.find(name)
        file.keys[len(file.keys) if at is None else at:(at if at is None else at + 1)] = [(name, kind, payload)]
    return change


def array_parts(payload):
    element, count = struct.unpack_from("<IQ", payload)
    items, at = [], 12
    for _ in range(count):
        size = 8 + struct.unpack_from("<Q", payload, at)[0] if element == TEXT else SIZES[element]
        items.append(payload[at:at + size])
        at += size
    return element, items


def pack_array(element, items):
    return struct.pack("<IQ", element, len(items)) + b"".join(items)


def with_array(name, edit):
    def change(file):
        at = file.find(name)
        element, items = array_parts(file.keys[at][2])
        file.keys[at] = (name, ARRAY, pack_array(element, edit(items)))
    return change


def tensor_change(index, edit):
    return lambda file: edit(file.tensors, index)


def shorten(tensors, index):
    name, dims, kind, data = tensors[index]
    rows = dims[-1]
    size = len(data) // rows if len(dims) > 1 else len(data)
    dims = dims[:-1] + [rows - 1] if len(dims) > 1 else [dims[0] - 32]
    tensors[index] = [name, dims, kind, data[:size * (rows - 1)] if len(dims) > 1 else data[:size // rows * dims[0]]]


def widen(tensors, index):
    name, dims, kind, data = tensors[index]
    size = len(data) // dims[-1]
    tensors[index] = [name, dims[:-1] + [dims[-1] + 1], kind, data + data[-size:]]


def turned(tensors, index):
    name, dims, kind, data = tensors[index]
    tensors[index] = [name, dims[::-1], kind, data]


def flat(tensors, index):
    name, dims, kind, data = tensors[index]
    count = 1
    for size in dims:
        count *= size
    tensors[index] = [name, [count], kind, data]


def as_half(tensors, index):
    name, dims, kind, data = tensors[index]
    tensors[index] = [name, dims, F16_TENSOR, data[:len(data) // 2]] if kind == F32_TENSOR else [name, dims, F16_TENSOR, data]


def as_float(tensors, index):
    name, dims, kind, data = tensors[index]
    tensors[index] = [name, dims, F32_TENSOR, b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))]


def as_double(tensors, index):
    name, dims, kind, data = tensors[index]
    tensors[index] = [name, dims, 28, data * (2 if kind == F32_TENSOR else 4)]


def tensor_cases(file, rng, many):
    names = [entry[0] for entry in file.tensors]
    for index in rng.sample(range(len(names)), min(len(names), 4 * many)):
        yield f"drop/{names[index]}", tensor_change(index, lambda tensors, i: tensors.pop(i))
    for index in rng.sample(range(len(names)), many):
        yield f"rename/{names[index]}", tensor_change(index, lambda tensors, i: tensors[i].__setitem__(0, tensors[i][0] + "2"))
    for index in rng.sample(range(len(names)), many):
        yield f"copy/{names[index]}", tensor_change(index, lambda tensors, i: tensors.append(["blk.0.extra.weight"] + tensors[i][1:]))
    matrices = [i for i, entry in enumerate(file.tensors) if len(entry[1]) > 1 and entry[1][-1] > 1]
    rows = [i for i, entry in enumerate(file.tensors) if len(entry[1]) == 1 and entry[2] == F32_TENSOR]
    for kind, edit, among, count in (("shorter", shorten, matrices, many), ("longer", widen, matrices, many),
                                     ("turned", turned, matrices, many), ("flat", flat, matrices, 1),
                                     ("wider", widen, rows, many), ("half", as_half, rows, 1),
                                     ("half", as_half, matrices, 1), ("double", as_double, matrices, 1)):
        for index in rng.sample(among, min(len(among), count)):
            if kind == "half" and file.tensors[index][2] not in (F32_TENSOR, BF16_TENSOR):
                continue
            yield f"{kind}/{names[index]}", tensor_change(index, edit)
    for index in [i for i in matrices if file.tensors[i][2] == BF16_TENSOR][:1]:
        yield f"float/{names[index]}", tensor_change(index, as_float)
    one = ["", [1], F32_TENSOR, struct.pack("<f", 1)]
    for name in rng.sample(("blk.0.attn_q.scale", "blk.0.attn_q.bias", "blk.99.attn_norm.weight", "rope_freqs.weight",
                            "output.weight.scale", "blk.0.ffn_down.input_scale"), many):
        if name not in names:
            yield f"add/{name}", lambda file, name=name: file.tensors.append([name] + one[1:])


def number_cases(key, kind, payload, rng):
    value = struct.unpack({U32: "<I", F32: "<f", BOOL: "<?", I32: "<i"}[kind], payload)[0]
    if kind == U32:
        yield f"{key}=more", set_key(key, U32, struct.pack("<I", value + 1))
        if value > 1:
            yield f"{key}=less", set_key(key, U32, struct.pack("<I", value - 1))
        yield f"{key}=zero", set_key(key, U32, struct.pack("<I", 0))
        yield f"{key}=twice", set_key(key, U32, struct.pack("<I", 2 * value))
        yield f"{key}=i32", set_key(key, I32, struct.pack("<i", value))
        yield f"{key}=u64", set_key(key, 10, struct.pack("<Q", value))
        yield f"{key}=f32", set_key(key, F32, struct.pack("<f", value))
    if kind == F32:
        yield f"{key}=f64", set_key(key, 12, struct.pack("<d", value))
        yield f"{key}=u32", set_key(key, U32, struct.pack("<I", int(abs(value)) % 2**31))
    if kind == BOOL:
        yield f"{key}=u32", set_key(key, U32, struct.pack("<I", value))
    yield f"{key}=text", set_key(key, TEXT, text(str(value)))
    yield f"{key}=array", set_key(key, ARRAY, pack_array(kind, [payload, payload]))


def key_cases(file, rng, many):
    arch = struct.unpack("<Q", file.keys[file.find("general.architecture")][2][:8])[0]
    arch = file.keys[file.find("general.architecture")][2][8:8 + arch].decode() + "."
    own = [key for key in file.keys if key[0].startswith(arch)]
    for key, *_ in rng.sample(own, min(len(own), 4 * many)):
        yield f"no/{key}", lambda file, key=key: file.keys.pop(file.find(key))
    cases = []
    for key, kind, payload in own + [entry for entry in file.keys if entry[0].startswith("general.") or "token_id" in entry[0]]:
        if kind in (U32, F32, BOOL):
            cases += number_cases(key, kind, payload, rng)
        elif kind == TEXT:
            cases.append((f"{key}=u32", set_key(key, U32, b"\1\0\0\0")))
            cases.append((f"{key}=other", set_key(key, TEXT, text("other"))))
        elif kind == ARRAY:
            cases.append((f"{key}=short", with_array(key, lambda items: items[:-1])))
            cases.append((f"{key}=long", with_array(key, lambda items: items + items[:1])))
    yield from rng.sample(cases, min(len(cases), 6 * many))


def tokenizer_cases(file, rng, many):
    start = "tokenizer.ggml."
    lists = [name for name in ("tokens", "merges", "scores", "token_type") if file.find(start + name) is not None]
    cases = [("tokenizer/model=other", set_key(start + "model", TEXT, text("other"))),
             ("tokenizer/pre=other", set_key(start + "pre", TEXT, text("other"))),
             ("tokenizer/eos=far", set_key(start + "eos_token_id", U32, struct.pack("<I", 10**6))),
             ("tokenizer/bos=i32", set_key(start + "bos_token_id", I32, struct.pack("<i", 1))),
             ("tokenizer/add_bos=u32", set_key(start + "add_bos_token", U32, struct.pack("<I", 1))),
             ("tokenizer/template=u32", set_key("tokenizer.chat_template", U32, struct.pack("<I", 1))),
             ("tokenizer/twice", with_array(start + "tokens", lambda items: items[:9] + [items[5]] + items[10:])),
             ("tokenizer/empty", with_array(start + "tokens", lambda items: items[:9] + [text("")] + items[10:]))]
    for name in lists:
        cases += [(f"tokenizer/no {name}", lambda file, name=name: file.keys.pop(file.find(start + name))),
                  (f"tokenizer/{name} short", with_array(start + name, lambda items: items[:-1])),
                  (f"tokenizer/{name} long", with_array(start + name, lambda items: items + items[:1])),
                  (f"tokenizer/{name}=f64", set_key(start + name, ARRAY, pack_array(12, [b"\0" * 8] * 9))),
                  (f"tokenizer/{name}=u32", set_key(start + name, U32, struct.pack("<I", 1)))]
    yield from rng.sample(cases, min(len(cases), 3 * many))


def raw_cases(rng):
    cases = [("raw/shorter", lambda raw: raw[:-64]), ("raw/half", lambda raw: raw[:len(raw) // 2]),
             ("raw/head", lambda raw: raw[:900]), ("raw/version", lambda raw: raw[:4] + b"\x63\0\0\0" + raw[8:]),
             ("raw/magic", lambda raw: b"GGML" + raw[4:]), ("raw/longer", lambda raw: raw + b"\0" * 64),
             ("raw/count", lambda raw: raw[:8] + struct.pack("<Q", struct.unpack("<Q", raw[8:16])[0] - 1) + raw[16:])]
    return rng.sample(cases, 2)


def cases_of(path, family, many):
    rng = random.Random(family)
    file = Gguf(path)
    yield family + AS_IT_IS, bytes(file)
    cases = [*tensor_cases(file, rng, many), *key_cases(file, rng, many), *tokenizer_cases(file, rng, many)]
    chosen = random.Random(family + AS_IT_IS)
    cases = chosen.sample(cases, min(len(cases), FOR_EACH * many))
    further = list(gguf_kinds.further_cases(file, chosen, many))
    cases += chosen.sample(further, min(len(further), FOR_EACH * many))
    for name, change in cases:
        changed = file.copy()
        change(changed)
        yield f"{family}/{name}", bytes(changed)
    for name, change in raw_cases(rng):
        yield f"{family}/{name}", change(bytes(file))


# ---- who says what ---------------------------------------------------------------------------------

def library_takes(library, path):
    """Whether the real library computes from the file; in a process of its own, which may abort."""
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os._exit(0 if library.logits(path, range(4, 12)) is not None else 1)
    return os.waitpid(child, 0)[1] == 0


def doctor_says(ckpt, path):
    ran = subprocess.run([ckpt, "doctor", "--json", path, "--for", "llama.cpp"], capture_output=True, text=True, check=False)
    verdicts = [json.loads(line) for line in ran.stdout.splitlines() if '"verdict"' in line]
    if not verdicts:
        return "no"   # it cannot be read at all
    verdict = verdicts[0]
    if not verdict["loads"]:
        return "no"
    if not verdict["sound"]:
        return "unsound"
    return "yes" if verdict["weights_checked"] else "not checked"


def with_wider_indexer(path):
    """DeepSeek V4's test model, with the indexer's heads twice as wide: the library takes none below 64."""
    file = Gguf(path)
    for tensor in file.tensors:
        name, dims, _, data = tensor
        if name.endswith((".indexer.attn_q_b.weight", ".indexer_compressor_kv.weight", ".indexer_compressor_gate.weight")):
            tensor[1:] = [[dims[0], 2 * dims[1]], tensor[2], data + data]
        elif ".indexer_compressor_" in name:
            size = dims[0] * SIZES[F32]
            tensor[1:] = [[2 * dims[0], *dims[1:]], tensor[2], b"".join(2 * data[i:i + size] for i in range(0, len(data), size))]
    set_key("deepseek4.attention.indexer.key_length", U32, struct.pack("<I", 64))(file)
    path.write_bytes(bytes(file))


def files_of(ckpt, families, work):
    for family in sorted(families):
        pre = family.parent / "PRE"
        options = ["--tokenizer-pre", pre.read_text().strip()] if pre.exists() else []
        out = work / "model.gguf"
        out.unlink(missing_ok=True)
        ran = subprocess.run([ckpt, "convert", "-q", family, out, "--to", "bf16", *options], capture_output=True, check=False)
        if ran.returncode == 0 and out.exists() and family.parent.name == "deepseek-v4":
            with_wider_indexer(out)
        if ran.returncode == 0 and out.exists():
            yield (family.parent.name if family.name == "hf" else family.name), out


def architecture_of(path):
    file = Gguf(path)
    return file.keys[file.find("general.architecture")][2][8:].decode()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ckpt")
    parser.add_argument("testdata", type=pathlib.Path)
    parser.add_argument("--lib")
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--families", type=pathlib.Path)
    parser.add_argument("--half", type=int)
    parser.add_argument("--many", type=int, default=1)
    parser.add_argument("--limit", type=float, default=0.01)
    typed = parser.parse_args()
    table = typed.table or typed.testdata / "doctor" / "llama.cpp.tsv"
    said = dict(line.split("\t")[::-1] for line in table.read_text().splitlines() if line[0] != "#") if not typed.lib else {}
    recorded = {name.split("/")[0] for name in said}
    library = None
    if typed.lib:
        os.environ["GGML_NO_BACKTRACE"] = "1"   # else a debugger is started where it aborts
        sys.argv[1] = typed.lib
        library = importlib.import_module("llama_cpp_library")
    folders = [*(typed.families or typed.testdata / "families").glob("*/hf")]
    if not typed.families:
        folders += [path.parent for path in typed.testdata.glob("*-micro/config.json")]
    counts, lines, architectures = collections.Counter(), [], []
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        changed = work / "changed.gguf"
        for family, path in files_of(typed.ckpt, folders, work):
            if not typed.lib and family not in recorded:
                continue
            architecture = architecture_of(path)
            if architecture not in architectures:
                architectures.append(architecture)
            if typed.half is not None and architectures.index(architecture) % 2 != typed.half:
                continue
            for name, raw in cases_of(path, family, typed.many):
                if not typed.lib and name not in said:
                    counts["no record"] += 1
                    continue
                changed.write_bytes(raw)
                takes = library_takes(library, changed) if typed.lib else said[name] == "takes"
                lines.append(f"{'takes' if takes else 'refuses'}\t{name}")
                told = doctor_says(typed.ckpt, changed)
                counts["cases"] += 1
                counts["not checked"] += told == "not checked"
                wrong = "false yes" if told in ("yes", "unsound") and not takes else "false no" if told == "no" and takes else None
                if wrong:
                    counts[wrong] += 1
                    print(f"{wrong}: {name} ({architecture})", flush=True)
                if name.endswith(AS_IT_IS) and not takes:
                    break  # changes of it would say little
    if typed.record:
        table.write_text("# What llama.cpp v0.5.0 does with each case of tests/interop/gguf_mutations.py.\n" + "\n".join(lines) + "\n")
    print(f"{len(architectures)} architectures: {dict(counts)}")
    limit = max(1, int(typed.limit * counts["cases"]))
    return counts["no record"] != 0 or counts["cases"] == 0 or max(counts["false yes"], counts["false no"]) > limit


if __name__ == "__main__":
    sys.exit(main())
