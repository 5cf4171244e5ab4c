#!/usr/bin/env python3
"""Files of PyTorch without PyTorch: small state_dicts as torch.save (2.x) writes them. usage: make_torch.py OUT

single/ has one file, shards/ two with an index; both beside equal.safetensors, the same tensors. bad/ has what is refused.
The classes that a pickle names are stand-ins; storages and their order are those of torch/serialization.py (_save).
"""
import collections
import hashlib
import io
import json
import pathlib
import pickle
import shutil
import struct
import sys
import types
import zipfile

SIZES = {"Float": 4, "Half": 2, "BFloat16": 2, "Double": 8, "Long": 8, "Int": 4, "Char": 1, "Byte": 1, "Bool": 1}
NAMES = {"Float": "F32", "Half": "F16", "BFloat16": "BF16", "Double": "F64", "Long": "I64", "Int": "I32", "Char": "I8",
         "Byte": "U8", "Bool": "BOOL"}

torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
sys.modules["torch"], sys.modules["torch._utils"] = torch, utils
for each in SIZES:
    setattr(torch, each + "Storage", type(each + "Storage", (), {"__module__": "torch"}))
for each in ("_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_parameter", "_rebuild_parameter_of_tomorrow"):
    made = lambda *words: None
    made.__module__, made.__name__, made.__qualname__ = "torch._utils", each, each
    setattr(utils, each, made)


class Storage:
    def __init__(self, kind, count, seed):
        self.kind, self.count, self.key = kind, count, None
        stream = hashlib.shake_256(seed.encode()).digest(count * SIZES[kind])
        self.data = bytes(b & 1 for b in stream) if kind == "Bool" else stream


class SaidOtherwise:
    """A storage that the pickle describes as it is not."""

    def __init__(self, of, kind=None, count=None, device="cpu"):
        self.of, self.kind, self.device = of, kind or of.kind, device
        self.count = of.count if count is None else count


class Tensor:
    def __init__(self, storage, shape, offset=0, strides=None, is_parameter=False, more=()):
        self.storage, self.shape, self.offset, self.is_parameter = storage, tuple(shape), offset, is_parameter
        self.more = more  # arguments behind the usual ones
        self.strides = strides
        if strides is None:
            self.strides = tuple(count_of(shape[i + 1:]) for i in range(len(shape)))

    def __reduce__(self):
        view = (self.storage, self.offset, self.shape, self.strides, False, collections.OrderedDict(), *self.more)
        if not self.is_parameter:
            return utils._rebuild_tensor_v2, view
        return utils._rebuild_parameter, (Tensor(self.storage, self.shape, self.offset), True, collections.OrderedDict())

    def bytes(self):
        size = SIZES[self.storage.kind]
        return self.storage.data[self.offset * size:(self.offset + count_of(self.shape)) * size]


def count_of(shape):
    out = 1
    for axis in shape:
        out *= axis
    return out


class Pickler(pickle.Pickler):
    def __init__(self, out):
        super().__init__(out, protocol=2)
        self.storages = []

    def persistent_id(self, thing):
        if not isinstance(thing, (Storage, SaidOtherwise)):
            return None
        if isinstance(thing, SaidOtherwise):
            self.persistent_id(thing.of)
            return "storage", getattr(torch, thing.kind + "Storage"), thing.of.key, thing.device, thing.count
        if thing not in self.storages:
            thing.key = str(len(self.storages))
            self.storages.append(thing)
        return "storage", getattr(torch, thing.kind + "Storage"), thing.key, "cpu", thing.count


def save(path, state, compression=zipfile.ZIP_STORED, drop=(), byte_order="little", before=(), behind=()):
    path.parent.mkdir(parents=True, exist_ok=True)
    out = io.BytesIO()
    pickler = Pickler(out)
    pickler.dump(state)
    entries = [("data.pkl", out.getvalue()), ("byteorder", byte_order.encode())]
    entries += [(f"data/{s.key}", s.data) for s in pickler.storages] + [("version", b"3\n")]
    entries = [(f"{path.stem}/{name}", data) for name, data in entries if name not in drop]
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in [*before, *entries, *behind]:
            info = zipfile.ZipInfo(name)
            info.compress_type = compression
            archive.writestr(info, data)


def tensors():
    ones = Storage("BFloat16", 24, "many")
    return collections.OrderedDict([
        ("model.embed_tokens.weight", Tensor(ones, (4, 5), is_parameter=True)),
        ("model.norm.weight", Tensor(Storage("Float", 5, "norm"), (5,))),
        ("model.layers.0.mlp.up_proj.weight", Tensor(Storage("Half", 60, "up"), (6, 5), offset=30)),
        ("model.layers.0.counts", Tensor(Storage("Long", 2, "counts"), (2, 1), strides=(1, 7))),
        ("model.layers.0.scale", Tensor(Storage("Double", 1, "scale"), ())),
        ("model.layers.0.mask", Tensor(Storage("Bool", 9, "mask"), (3, 3))),
        ("lm_head.weight", Tensor(ones, (4, 5))),
    ])


def equal(path, state):
    header, at = {}, 0
    for name, tensor in state.items():
        size = len(tensor.bytes())
        header[name] = {"dtype": NAMES[tensor.storage.kind], "shape": list(tensor.shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(t.bytes() for t in state.values()))


def main(out):
    for name in ("single", "shards", "bad"):
        shutil.rmtree(out / name, ignore_errors=True)
    state = tensors()
    save(out / "single/pytorch_model.bin", state)
    first = {name: state[name] for name in list(state)[:3]}
    second = {name: state[name] for name in list(state)[3:]}
    save(out / "shards/pytorch_model-00001-of-00002.bin", collections.OrderedDict(first))
    save(out / "shards/pytorch_model-00002-of-00002.bin", second)
    index = {name: f"pytorch_model-0000{1 + (name in second)}-of-00002.bin" for name in state}
    (out / "shards/pytorch_model.bin.index.json").write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": index}))
    for name in ("single", "shards"):
        (out / name / "config.json").write_text('{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}\n')
    equal(out / "equal.safetensors", state)

    one = Storage("Float", 6, "one")
    save(out / "plain_bits.bin", {"a": Tensor(one, (6,), more=({},))})
    bad = out / "bad"
    other = Storage("Float", 6, "other")
    save(bad / "negated.bin", {"a": Tensor(one, (6,), more=({"neg": True},))})
    save(bad / "negated_if_named.bin", {"a": Tensor(one, (6,), more=({"neg": False},))})
    save(bad / "negated_parameter.bin", {"a": Outer(Tensor(one, (6,), more=({"conj": False, "neg": True},)))})
    save(bad / "unknown_wrapper.bin", {"a": Outer(Tensor(one, (6,)), utils._rebuild_parameter_of_tomorrow)})
    save(bad / "state.bin", {"a": WithState(one)})
    save(bad / "doubled_name.bin", {"a": Tensor(one, (6,))}, behind=[("doubled_name/data/0", bytes(24))])
    save(bad / "doubled_case.bin", {"a": Tensor(one, (6,))}, behind=[("doubled_case/DATA/0", bytes(24))])
    save(bad / "other_root.bin", {"a": Tensor(one, (6,))}, before=[("first/version", b"3\n")])
    save(bad / "two_roots.bin", {"a": Tensor(one, (6,))}, behind=[("another/data.pkl", b"\x80\x02}."), ("another/data/0", bytes(24))])
    save(bad / "no_root.bin", {"a": Tensor(one, (6,))}, before=[("data.pkl", b"\x80\x02}.")])
    save(bad / "script.bin", {"a": Tensor(one, (6,))}, behind=[("script/constants.pkl", b"\x80\x02).")])
    save(bad / "two_types.bin", {"a": Tensor(one, (6,)), "b": Tensor(SaidOtherwise(one, "Int"), (6,))})
    save(bad / "fewer_said.bin", {"a": Tensor(SaidOtherwise(other, count=5), (6,))})
    save(bad / "more_said.bin", {"a": Tensor(SaidOtherwise(other, count=7), (6,))})
    save(bad / "meta.bin", {"a": Tensor(SaidOtherwise(other, device="meta"), (6,))})
    save(bad / "wide_offset.bin", {"a": Tensor(one, (6,), offset=1 << 64)})
    save(bad / "ordered_pairs.bin", Pairs())
    save(bad / "compressed.bin", {"a": Tensor(one, (6,))}, compression=zipfile.ZIP_DEFLATED)
    save(bad / "transposed.bin", {"a": Tensor(one, (2, 3), strides=(1, 2))})
    save(bad / "beyond_storage.bin", {"a": Tensor(one, (6,), offset=1)})
    save(bad / "no_storage.bin", {"a": Tensor(one, (6,))}, drop={"data/0"})
    save(bad / "big_endian.bin", {"a": Tensor(one, (6,))}, byte_order="big")
    save(bad / "trainer.bin", {"state_dict": {"a": Tensor(one, (6,))}, "epoch": 3})
    save(bad / "list.bin", [Tensor(one, (6,))])
    save(bad / "calls_a_program.bin", {"a": Calls()})
    save(bad / "cut.bin", {"a": Tensor(one, (6,))})
    (bad / "cut.bin").write_bytes((bad / "cut.bin").read_bytes()[:-30])
    (bad / "legacy.bin").write_bytes(pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2) + bytes(100))


class Outer:
    def __init__(self, of, made=None):
        self.of, self.made = of, made or utils._rebuild_parameter

    def __reduce__(self):
        return self.made, (self.of, True, collections.OrderedDict())


class WithState:
    """A tensor that BUILD gives another storage, as weights_only does for old files."""

    def __init__(self, storage):
        self.storage = storage

    def __reduce__(self):
        view = (self.storage, 0, (6,), (1,), False, collections.OrderedDict())
        return utils._rebuild_tensor_v2, view, (self.storage, 0, (3,), (2,))


class Pairs:
    """OrderedDict([["a", 1]]): what it is made of stands in the call."""

    def __reduce__(self):
        return collections.OrderedDict, ([["a", 1]],)


class Calls:
    def __reduce__(self):
        return print, ("run",)


main(pathlib.Path(sys.argv[1]))
