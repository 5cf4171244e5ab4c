"""Folders that differ from a good checkpoint in one thing: names of cases, and how each is made.

A case is named GROUP/PLACE=CHANGE ("config/hidden_size=halved"). Which of the many changes of fields and
tensors are taken is decided by a digest of the name, so that a case stays when others are added.
"""
import copy
import hashlib
import json
import re
import struct

import mutations_by_hand
from make_exports import has_tower

DTYPE_BYTES = {"F64": 8, "I64": 8, "F32": 4, "F16": 2, "BF16": 2, "U8": 1, "F8_E4M3": 1, "I8": 1, "I32": 4}


class Folder:
    """A checkpoint in memory: small files as bytes, tensors as [dtype, shape, bytes]."""

    def __init__(self, path):
        self.path = path
        self.files = {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*"))
                      if file.is_file() and file != path / "model.safetensors"}
        raw = (path / "model.safetensors").read_bytes()
        size = struct.unpack("<Q", raw[:8])[0]
        header = json.loads(raw[8:8 + size])
        self.metadata = header.pop("__metadata__", None)
        self.tensors = {name: [entry["dtype"], entry["shape"],
                               raw[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]]]
                        for name, entry in header.items()}
        self.are_tensors_changed = False
        # A wrapper without its tower is served with --language-model-only.
        self.is_text_only = "text_config" in self.json() and not has_tower(self.tensors)

    def copy(self):
        out = copy.copy(self)
        out.files = dict(self.files)
        out.tensors = {name: list(entry) for name, entry in self.tensors.items()}
        return out

    def json(self, name="config.json"):
        return json.loads(self.files[name])

    def set_json(self, value, name="config.json"):
        self.files[name] = json.dumps(value, indent=2).encode()

    def write(self, path):
        path.mkdir()
        for name, content in self.files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(content)
        if self.tensors is None or any(name.endswith(".safetensors") and "/" not in name for name in self.files):
            return
        if self.are_tensors_changed:
            (path / "model.safetensors").write_bytes(packed(self.tensors, self.metadata))
        else:
            (path / "model.safetensors").symlink_to(self.path.resolve() / "model.safetensors")


def packed(tensors, metadata):
    """The bytes of a safetensors file."""
    header, at = {} if metadata is None else {"__metadata__": metadata}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values())


# ---- values of fields --------------------------------------------------------------------------

REMOVED = object()


def changed_values(value):
    """(name of the change, new value) for a field that holds `value`."""
    yield "removed", REMOVED
    yield "null", None
    if isinstance(value, bool):
        yield from (("flipped", not value), ("text", "false"), ("number", 7), ("list", [value]))
    elif isinstance(value, (int, float)):
        whole = isinstance(value, int)
        yield from (("text", "seven"), ("digits", str(value)), ("negative", -value or -1), ("zero", 0),
                    ("halved", value // 2 if whole else value / 2), ("doubled", value * 2),
                    ("fraction", value + 0.5), ("list", [value]), ("object", {"value": value}),
                    ("true", True))
    elif isinstance(value, str):
        yield from (("unknown", "no-such-thing"), ("empty", ""), ("number", 7), ("list", [value]),
                    ("raised", value.upper()), ("object", {}))
    elif isinstance(value, list):
        yield from (("shorter", value[:-1]), ("longer", value + value[-1:]), ("empty", []), ("text", "list"),
                    ("object", {}), ("number", 7), ("of-unknown", ["no-such-thing"] * len(value)),
                    ("of-numbers", [7] * len(value)))
    elif isinstance(value, dict):
        yield from (("empty", {}), ("text", "object"), ("list", []), ("number", 7))
    else:
        yield from (("text", "seven"), ("number", 7), ("false", False), ("list", []), ("object", {}))


def fields(value, path=()):
    """Every field below `value`: its path and what it holds. Of objects by number (added_tokens_decoder) the first."""
    if isinstance(value, dict):
        numbered = [key for key in value if key.isdigit()]
        for key, inner in value.items():
            if key not in numbered[1:]:
                yield path + (key,), inner
                yield from fields(inner, path + (key,))


def set_field(root, path, value):
    for key in path[:-1]:
        root = root[key]
    if value is REMOVED:
        del root[path[-1]]
    else:
        root[path[-1]] = value


def field_cases(folder, group, file):
    if file not in folder.files:
        return
    for path, value in fields(folder.json(file)):
        for change, new in changed_values(value):

            def apply(out, path=path, new=new):
                root = out.json(file)
                set_field(root, path, new)
                out.set_json(root, file)

            yield f"{group}/{'.'.join(path)}={change}", apply


# ---- tensors -----------------------------------------------------------------------------------

def kind_of(name):
    return re.sub(r"\.\d+\.", ".N.", name)


def retyped(entry):
    """The same number of values in another type."""
    other = {"BF16": "F32", "F32": "BF16", "F16": "F32", "U8": "F32", "F8_E4M3": "BF16", "I32": "F32"}[entry[0]]
    count = len(entry[2]) // DTYPE_BYTES[entry[0]]
    return [other, entry[1], bytes(count * DTYPE_BYTES[other])]


def grown(entry):
    shape, data = entry[1], entry[2]
    if not shape:
        return [entry[0], [2], data * 2]
    return [entry[0], [shape[0] * 2] + shape[1:], data * 2]


def halved(entry):
    shape, data = entry[1], entry[2]
    if not shape or shape[0] < 2:
        return None
    return [entry[0], [shape[0] // 2] + shape[1:], data[:len(data) // shape[0] * (shape[0] // 2)]]


def changed_tensors(entry):
    """(name of the change, new entry) for a tensor."""
    dtype, shape, data = entry
    yield "retyped", retyped(entry)
    yield "grown", grown(entry)
    if halved(entry):
        yield "halved", halved(entry)
    yield "one-more-axis", [dtype, [1] + shape, data]
    if len(shape) > 1 and shape[0] != shape[1]:
        yield "transposed", [dtype, shape[1::-1] + shape[2:], data]
    if len(shape) > 1:
        yield "flat", [dtype, [len(data) // DTYPE_BYTES[dtype]], data]
    yield "of-int64", ["I64", shape, bytes(len(data) // DTYPE_BYTES[dtype] * 8)]


def tensor_cases(folder):
    """For one tensor of each kind; of kinds in many layers, one that the digest picks."""
    kinds = {}
    for name in folder.tensors:
        kinds.setdefault(kind_of(name), []).append(name)
    for kind, names in kinds.items():
        name = names[int(hashlib.sha256(kind.encode()).hexdigest(), 16) % len(names)]
        yield f"tensor/{name}=dropped", lambda out, n=name: out.tensors.pop(n)
        yield (f"tensor/{name}=renamed",
               lambda out, n=name: out.tensors.update({n + "s": out.tensors.pop(n)}))
        yield f"tensor/{name}=doubled", lambda out, n=name: out.tensors.update({n + "_2": out.tensors[n]})
        if len(names) > 1:
            yield (f"tensor/{kind}=dropped-everywhere",
                   lambda out, names=names: [out.tensors.pop(n) for n in names])
        for change, entry in changed_tensors(folder.tensors[name]):
            yield f"tensor/{name}={change}", lambda out, n=name, e=entry: out.tensors.update({n: e})


# ---- all ---------------------------------------------------------------------------------------

def is_chosen(name, share):
    return int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) < share * 2**32


def all_cases(folder):
    """(relative frequency; name; function that changes a copy)."""
    for group, file in (("config", "config.json"), ("generation", "generation_config.json"),
                        ("tokenizer-config", "tokenizer_config.json"), ("hf-quant", "hf_quant_config.json")):
        often = 1 if group == "config" else 0.3
        for name, apply in field_cases(folder, group, file):
            yield often, name, apply
    for name, apply in tensor_cases(folder):

        def with_tensors(out, apply=apply):
            out.are_tensors_changed = True
            apply(out)

        yield 1, name, with_tensors
    for name, apply in mutations_by_hand.cases(folder, packed):
        yield 3, name, apply


def cases(folder, share):
    """(name, function that changes a copy) of the unchanged folder and of this share of all changes."""
    yield "unchanged", lambda out: None
    for often, name, apply in all_cases(folder):
        if is_chosen(f"{folder.path.name}/{name}", share * often):
            yield name, apply


def made(folder, apply):
    out = folder.copy()
    apply(out)
    return out
