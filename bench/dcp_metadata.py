"""Writes the index of a large DCP checkpoint as torch's planner and FileSystemWriter make it, without torch.

usage: dcp_metadata.py FOLDER [TENSORS [RANKS [ROWS]]]   950 tensors on 512 ranks, with Adam: 1.46 million chunks

FOLDER gets .metadata alone: `ckpt show FOLDER` then reads the entire index and stops at the first missing file. With
ROWS, the rows of a tensor on each rank, it also gets the files of all ranks: sparse, their values zero and without
CRC-32, those of Adam without even an archive. 950 tensors, 512 ranks and 29 rows are 1 TB, which takes 4 GB of disk.
"""
import os
import pickle
import struct
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


def archive(rows, columns):
    """What torch.save writes before and after the values of a BF16 tensor."""
    values = 2 * rows * columns
    key = (b"(X\x07\0\0\0storagectorch\nBFloat16Storage\nX\x01\0\0\x000X\x03\0\0\0cpuJ%stQ"
           % struct.pack("<i", rows * columns))
    data = (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(%sK\0J%sJ%s\x86J%sK\x01\x86\x89ccollections\nOrderedDict\n"
            b")RtR." % (key, *(struct.pack("<i", each) for each in (rows, columns, columns))))
    start, directory = b"", b""
    for name, content in ((b"data.pkl", data), (b"byteorder", b"little"), (b"version", b"3\n"), (b"data/0", None)):
        name = b"archive/" + name
        size = values if content is None else len(content)
        common = struct.pack("<HHIIIIHH", 0, 0, 0, 0, size, size, len(name), 0)
        directory += struct.pack("<IHH", 0x02014B50, 0, 0) + common + struct.pack("<HHHII", 0, 0, 0, 0, len(start)) + name
        start += struct.pack("<IH", 0x04034B50, 0) + common + name + (content or b"")
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 4, 4, len(directory), len(start) + values, 0)
    return start, directory + end


def main(folder, tensors=950, ranks=512, rows=0):
    storage, sizes, at, files, columns = {}, {}, [0] * ranks, [], 7168
    os.makedirs(folder, exist_ok=True)
    start, end = archive(rows or 8, columns)
    if rows:
        files = [os.open(os.path.join(folder, f"__{rank}_0.distcp"), os.O_CREAT | os.O_WRONLY) for rank in range(ranks)]
    rows = rows or 8
    for i in range(tensors):
        name = f"model.layers.{i // 15}.mlp.experts.projection_{i % 15}.weight"
        for key, dtype in ((f"model.{name}", BF16), (f"optimizer.state.{name}.exp_avg", F32),
                           (f"optimizer.state.{name}.exp_avg_sq", F32)):
            chunks, part = [], Size((rows, columns))
            length = len(start) + rows * columns * (2 if dtype is BF16 else 4) + len(end)
            for rank in range(ranks):
                offsets = Size((rows * rank, 0))
                chunks.append(filled(Chunk, offsets=offsets, sizes=part))
                storage[filled(Index, fqn=key, offset=offsets, index=rank)] = filled(
                    Info, relative_path=f"__{rank}_0.distcp", offset=at[rank], length=length)
                if files and dtype is BF16:
                    os.pwrite(files[rank], start, at[rank])
                    os.pwrite(files[rank], end, at[rank] + length - len(end))
                at[rank] += length
            sizes[key] = filled(Storage, properties=filled(Properties, dtype=dtype, strides=(columns, 1)),
                                size=Size((rows * ranks, columns)), chunks=chunks)
    for file, size in zip(files, at):
        os.truncate(file, size)
    planner = {key: tuple(key.split(".", 1)) for key in sizes}
    with open(os.path.join(folder, ".metadata"), "wb") as out:
        pickle.dump(filled(Metadata, state_dict_metadata=sizes, planner_data=planner, storage_data=storage,
                           storage_meta=None, version="1.0.0"), out, protocol=4)
    print(f"{3 * tensors * ranks} chunks, {os.path.getsize(os.path.join(folder, '.metadata'))} bytes of .metadata, "
          f"{sum(at)} bytes of files")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
