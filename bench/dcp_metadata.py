"""Writes the index of a large DCP checkpoint as torch's planner and FileSystemWriter make it, without torch.

usage: dcp_metadata.py FOLDER [TENSORS [RANKS]]      950 tensors on 512 ranks, with Adam: 1.46 million chunks

FOLDER gets .metadata alone: `ckpt show FOLDER` then reads the entire index and stops at the first missing file.
"""
import os
import pickle
import sys
import types

METADATA, FILES = "torch.distributed.checkpoint.metadata", "torch.distributed.checkpoint.filesystem"


def stub(module, name, base=object):
    if module not in sys.modules:
        sys.modules[module] = types.ModuleType(module)
    made = type(name, (base,), {"__module__": module})
    setattr(sys.modules[module], name, made)
    return made


Size = stub("torch", "Size", tuple)
Size.__reduce__ = lambda self: (Size, (tuple(self),))
Metadata, Storage, Properties, Chunk, Index = [stub(METADATA, name) for name in (
    "Metadata", "TensorStorageMetadata", "TensorProperties", "ChunkStorageMetadata", "MetadataIndex")]
Info = stub(FILES, "_StorageInfo")


class Name:
    """A value that pickles as a name: torch.bfloat16."""

    def __init__(self, name):
        self.name = name

    def __reduce__(self):
        return self.name


sys.modules["torch"].bfloat16 = BF16 = Name("bfloat16")
sys.modules["torch"].float32 = F32 = Name("float32")
BF16.__module__ = F32.__module__ = "torch"
BF16.__qualname__, F32.__qualname__ = "bfloat16", "float32"
Properties.__getstate__ = lambda self: (self.dtype, None, False, None, False, self.strides)


def filled(kind, **fields):
    out = kind.__new__(kind)
    out.__dict__.update(fields)
    return out


def main(folder, tensors=950, ranks=512):
    storage, sizes, at = {}, {}, [0] * ranks
    for i in range(tensors):
        name = f"model.layers.{i // 15}.mlp.experts.projection_{i % 15}.weight"
        for key, dtype in ((f"model.{name}", BF16), (f"optimizer.state.{name}.exp_avg", F32),
                           (f"optimizer.state.{name}.exp_avg_sq", F32)):
            rows, columns, chunks = 8 * ranks, 7168, []
            for rank in range(ranks):
                offsets, part = Size((8 * rank, 0)), Size((8, columns))
                chunks.append(filled(Chunk, offsets=offsets, sizes=part))
                length = 8 * columns * (2 if dtype is BF16 else 4) + 1577
                storage[filled(Index, fqn=key, offset=offsets, index=rank)] = filled(
                    Info, relative_path=f"__{rank}_0.distcp", offset=at[rank], length=length)
                at[rank] += length
            sizes[key] = filled(Storage, properties=filled(Properties, dtype=dtype, strides=(columns, 1)),
                                size=Size((rows, columns)), chunks=chunks)
    planner = {key: tuple(key.split(".", 1)) for key in sizes}
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, ".metadata"), "wb") as out:
        pickle.dump(filled(Metadata, state_dict_metadata=sizes, planner_data=planner, storage_data=storage,
                           storage_meta=None, version="1.0.0"), out, protocol=4)
    print(f"{3 * tensors * ranks} chunks, {os.path.getsize(os.path.join(folder, '.metadata'))} bytes")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
