"""Reads and writes safetensors files as they are, so that tests can make folders that no program should."""
import json
import pathlib
import struct

INDEX = "model.safetensors.index.json"


def read(path):
    """(dtype, shape, bytes) by name."""
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    spans = {name: (8 + size + entry["data_offsets"][0], 8 + size + entry["data_offsets"][1]) for name, entry in header.items()}
    return {name: (entry["dtype"], entry["shape"], data[slice(*spans[name])]) for name, entry in header.items()}


def write(path, tensors):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


def write_index(folder, weight_map):
    text = json.dumps({"metadata": {"total_size": 1}, "weight_map": weight_map})
    (pathlib.Path(folder) / INDEX).write_text(text)


def write_shards(folder, tensors, count):
    """model-00001-of-0000N.safetensors, all of about as many tensors; gives the map of an index."""
    names, out = list(tensors), {}
    for i in range(count):
        file = f"model-{i + 1:05}-of-{count:05}.safetensors"
        held = names[len(names) * i // count:len(names) * (i + 1) // count]
        write(pathlib.Path(folder) / file, {name: tensors[name] for name in held})
        out |= dict.fromkeys(held, file)
    return out
