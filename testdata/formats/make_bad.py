#!/usr/bin/env python3
"""Makes bad/: a file or folder for each way of being wrong.

Beside each lies NAME.expected, which this script leaves alone: the whole error message, one line,
with the path of bad/ itself taken out (tests/formats/bad_test.cc says how to accept a new one).
Needs only Python. Usage: make_bad.py
"""
import json
import pathlib
import struct

BAD = pathlib.Path(__file__).parent / "bad"
CASES = {}


def case(name, content):
    """content: bytes of a file, or a dict from path to bytes for a folder."""
    assert name not in CASES
    CASES[name] = content


# ---- safetensors ---------------------------------------------------------------------------------

def framed(header, data=b""):
    header = header.encode() if isinstance(header, str) else header
    return struct.pack("<Q", len(header)) + header + data


def safetensors(entries, data=b"", metadata=None):
    header = {"__metadata__": metadata} if metadata else {}
    header.update({name: {"dtype": dtype, "shape": shape, "data_offsets": offsets}
                   for name, (dtype, shape, offsets) in entries.items()})
    return framed(json.dumps(header, separators=(",", ":")), data)


def tensor(dtype="F32", shape="[1]", offsets="[0,4]"):
    return f'{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}'


F32_AT_0 = {"a": ("F32", [2], [0, 8])}
GOOD_SHARD = safetensors(F32_AT_0, bytes(8))
B_SHARD = safetensors({"b": ("F32", [2], [0, 8])}, bytes(8))
LFS = (b"version https://git-lfs.github.com/spec/v1\n"
       b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n")
S = ".safetensors"


def index(weight_map, **metadata):
    return json.dumps({"metadata": metadata, "weight_map": weight_map}).encode()


def safetensors_cases():
    case("st_empty_file" + S, b"")
    case("st_seven_bytes" + S, bytes(7))
    case("st_lfs_pointer" + S, LFS)
    case("st_html" + S, b"<!DOCTYPE html><html>not found</html>")
    case("st_torch_zip" + S, b"PK\x03\x04" + bytes(40))
    case("st_header_past_the_end" + S, struct.pack("<Q", 1000) + b'{"a":1}')
    case("st_header_too_long" + S, struct.pack("<Q", 100_000_001) + b"{}")
    case("st_header_of_2_to_the_64" + S, struct.pack("<Q", 2**64 - 1) + b"{}")
    case("st_header_not_an_object" + S, framed("[1,2]"))
    case("st_header_empty" + S, framed(""))
    case("st_header_cut" + S, framed('{"a":{"dtype":"F32"'))
    case("st_header_not_utf8" + S, framed(b'{"\xff":' + tensor().encode() + b"}", bytes(4)))
    case("st_text_after_header" + S, framed('{"a":' + tensor() + "} x", bytes(4)))
    case("st_trailing_comma" + S, framed('{"a":' + tensor() + ",}", bytes(4)))
    case("st_tensor_is_a_number" + S, framed('{"a":5}'))
    case("st_tensor_is_null" + S, framed('{"a":null}'))
    case("st_no_dtype" + S, framed('{"a":{"shape":[1],"data_offsets":[0,4]}}', bytes(4)))
    case("st_no_shape" + S, framed('{"a":{"dtype":"F32","data_offsets":[0,4]}}', bytes(4)))
    case("st_no_offsets" + S, framed('{"a":{"dtype":"F32","shape":[1]}}', bytes(4)))
    case("st_one_offset" + S, framed('{"a":' + tensor(offsets="[4]") + "}", bytes(4)))
    case("st_three_offsets" + S, framed('{"a":' + tensor(offsets="[0,4,8]") + "}", bytes(4)))
    case("st_unknown_dtype" + S, framed('{"a":' + tensor(dtype="F128") + "}", bytes(4)))
    case("st_dtype_is_a_number" + S, framed('{"a":{"dtype":7,"shape":[1],"data_offsets":[0,4]}}', bytes(4)))
    case("st_dtype_too_small" + S, framed('{"a":' + tensor(dtype="BF16") + "}", bytes(4)))
    case("st_dtype_too_large" + S, framed('{"a":' + tensor(dtype="F64") + "}", bytes(4)))
    case("st_negative_dimension" + S, framed('{"a":' + tensor(shape="[-1]") + "}", bytes(4)))
    case("st_fractional_dimension" + S, framed('{"a":' + tensor(shape="[1.5]") + "}", bytes(4)))
    case("st_dimension_2_to_the_63" + S, framed('{"a":' + tensor(shape="[9223372036854775808]") + "}", bytes(4)))
    case("st_dimension_2_to_the_64" + S, framed('{"a":' + tensor(shape="[18446744073709551616]") + "}", bytes(4)))
    case("st_dimension_beyond_floats" + S, framed('{"a":' + tensor(shape="[1e999]") + "}", bytes(4)))
    case("st_shape_product_wraps_to_4_bytes" + S,
         framed('{"a":' + tensor(shape="[4294967297,4294967296,1]") + "}", bytes(4)))
    case("st_zero_hides_an_overflow" + S,
         framed('{"a":' + tensor(shape="[0,9223372036854775807,9223372036854775807]", offsets="[0,0]") + "}"))
    case("st_seventeen_dimensions" + S, framed('{"a":' + tensor(shape=str([1] * 17)) + "}", bytes(4)))
    case("st_nested_shape" + S, framed('{"a":' + tensor(shape="[[1]]") + "}", bytes(4)))
    case("st_half_a_byte" + S, framed('{"a":' + tensor(dtype="F4", shape="[3]", offsets="[0,2]") + "}", bytes(2)))
    case("st_offsets_backwards" + S, framed('{"a":' + tensor(offsets="[4,0]") + "}", bytes(4)))
    case("st_offsets_of_2_to_the_64" + S,
         framed('{"a":' + tensor(offsets="[18446744073709551612,18446744073709551615]") + "}", bytes(4)))
    case("st_gap_at_start" + S, safetensors({"a": ("F32", [1], [4, 8])}, bytes(8)))
    case("st_gap_between" + S, safetensors({"a": ("F32", [1], [0, 4]), "b": ("F32", [1], [8, 12])}, bytes(12)))
    case("st_overlap" + S, safetensors({"a": ("F32", [2], [0, 8]), "b": ("F32", [2], [4, 12])}, bytes(12)))
    case("st_same_bytes_twice" + S, safetensors({"a": ("F32", [1], [0, 4]), "b": ("F32", [1], [0, 4])}, bytes(4)))
    case("st_truncated" + S, GOOD_SHARD[:-1])
    case("st_bytes_left_over" + S, GOOD_SHARD + b"\0")
    case("st_data_without_tensors" + S, framed("{}", bytes(3)))
    case("st_name_twice" + S, framed('{"a":' + tensor() + ',"a":' + tensor(offsets="[4,8]") + "}", bytes(8)))
    case("st_field_twice" + S, framed('{"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}', bytes(4)))
    case("st_metadata_twice" + S, framed('{"__metadata__":{},"__metadata__":{},"a":' + tensor() + "}", bytes(4)))
    case("st_metadata_key_twice" + S, framed('{"__metadata__":{"k":"1","k":"2"},"a":' + tensor() + "}", bytes(4)))
    case("st_metadata_number" + S, framed('{"__metadata__":{"k":1},"a":' + tensor() + "}", bytes(4)))
    case("st_metadata_nested" + S, framed('{"__metadata__":{"k":{}},"a":' + tensor() + "}", bytes(4)))
    case("st_metadata_is_text" + S, framed('{"__metadata__":"pt","a":' + tensor() + "}", bytes(4)))


def folder_cases():
    one, two = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
    name = "model.safetensors.index.json"
    case("hf_no_weights", {"config.json": b"{}", "tokenizer.json": b"{}"})
    case("hf_only_gguf", {"config.json": b"{}", "model-q4.gguf": b"GGUF"})
    case("hf_only_pytorch", {"config.json": b"{}", "pytorch_model.bin": b"PK\x03\x04"})
    case("hf_hub_cache", {"refs/main": b"abc", "snapshots/abc/config.json": b"{}"})
    case("hf_lfs_pointer", {"config.json": b"{}", "model.safetensors": LFS})
    case("hf_lfs_tokenizer", {"model.safetensors": GOOD_SHARD, "tokenizer.json": LFS})
    case("hf_lfs_index", {one: GOOD_SHARD, name: LFS})
    case("hf_missing_shard", {one: GOOD_SHARD, name: index({"a": one, "b": two})})
    case("hf_missing_shard_no_index", {one: GOOD_SHARD})
    case("hf_shards_of_two_savings",
         {one: GOOD_SHARD, two: B_SHARD, "model-00001-of-00003.safetensors": GOOD_SHARD})
    case("hf_index_names_absent_tensor", {one: GOOD_SHARD, two: B_SHARD,
                                          name: index({"a": one, "b": two, "c": two})})
    case("hf_index_names_wrong_shard", {one: GOOD_SHARD, two: B_SHARD, name: index({"a": two, "b": one})})
    case("hf_tensor_not_in_index", {one: GOOD_SHARD, two: B_SHARD, name: index({"a": one})})
    case("hf_tensor_left_out_of_index", {one: safetensors({"a": ("U8", [1], [0, 1]), "z": ("U8", [1], [1, 2])}, bytes(2)),
                                         name: index({"a": one})})
    both = safetensors({"a": ("U8", [1], [0, 1]), "b": ("U8", [1], [1, 2])}, bytes(2))
    case("hf_tensor_in_two_shards", {one: GOOD_SHARD, two: both, name: index({"a": one, "b": two})})
    case("hf_tensor_in_two_shards_no_index", {one: GOOD_SHARD, two: GOOD_SHARD})
    case("hf_index_beside_a_whole_model", {one: GOOD_SHARD, "model.safetensors": B_SHARD, name: index({"a": one})})
    case("hf_index_leaves_the_folder", {"model.safetensors": GOOD_SHARD, name: index({"a": "../model.safetensors"})})
    case("hf_index_absolute_path", {"model.safetensors": GOOD_SHARD, name: index({"a": "/etc/passwd"})})
    case("hf_index_not_json", {one: GOOD_SHARD, name: b'{"weight_map": '})
    case("hf_index_empty", {one: GOOD_SHARD, name: b""})
    case("hf_index_without_map", {one: GOOD_SHARD, name: b'{"metadata": {}}'})
    case("hf_index_map_of_numbers", {one: GOOD_SHARD, name: b'{"weight_map": {"a": 1}}'})
    case("hf_index_map_nested", {one: GOOD_SHARD, name: b'{"weight_map": {"a": {"b": "c"}}}'})
    case("hf_index_tensor_twice",
         {one: GOOD_SHARD, name: b'{"weight_map": {"a": "%s", "a": "%s"}}' % (one.encode(), one.encode())})
    case("hf_index_of_another_kind", {one: GOOD_SHARD, name: b"[1, 2]"})


# ---- GGUF ----------------------------------------------------------------------------------------

def text(value):
    value = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(value)) + value


def key(name, kind, value):
    return text(name) + struct.pack("<I", kind) + value


def info(name, dims, kind=0, offset=0):
    return text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)


def gguf(keys=(), infos=(), data=b"", version=3, alignment=32, counts=None):
    tensors, pairs = counts or (len(infos), len(keys))
    out = b"GGUF" + struct.pack("<IQQ", version, tensors, pairs) + b"".join(keys) + b"".join(infos)
    return out + bytes(-len(out) % alignment) + data


def u32(value):
    return struct.pack("<I", value)


def gguf_cases():
    g = ".gguf"
    arch = key("general.architecture", 8, text("llama"))
    case("gguf_empty_file" + g, b"")
    case("gguf_only_magic" + g, b"GGUF")
    case("gguf_wrong_magic" + g, b"GGUX" + bytes(40))
    case("gguf_lfs_pointer" + g, LFS)
    case("gguf_version_0" + g, gguf(version=0))
    case("gguf_version_1" + g, b"GGUF" + struct.pack("<III", 1, 0, 0))
    case("gguf_version_4" + g, gguf(version=4))
    case("gguf_big_endian" + g, b"GGUF" + struct.pack(">IQQ", 3, 0, 0))
    case("gguf_2_to_the_63_tensors" + g, gguf(counts=(2**63, 0), data=bytes(64)))
    case("gguf_a_million_tensors" + g, gguf(counts=(1_000_000, 0), data=bytes(64)))
    case("gguf_2_to_the_64_keys" + g, gguf(counts=(0, 2**64 - 1), data=bytes(64)))
    case("gguf_more_keys_than_bytes" + g, gguf(counts=(0, 100), data=bytes(64)))
    case("gguf_empty_key" + g, gguf([key("", 4, u32(1))]))
    case("gguf_key_twice" + g, gguf([key("a.b", 4, u32(1)), key("a.b", 4, u32(2))]))
    case("gguf_key_longer_than_file" + g, gguf([struct.pack("<Q", 50_000) + bytes(30)]))
    case("gguf_key_too_long" + g, gguf([struct.pack("<Q", 2**40) + bytes(30)]))
    case("gguf_value_type_13" + g, gguf([key("a", 13, u32(1))]))
    case("gguf_value_type_2_to_the_32" + g, gguf([key("a", 2**32 - 1, u32(1))]))
    case("gguf_text_longer_than_file" + g, gguf([key("a", 8, struct.pack("<Q", 1000))]))
    case("gguf_text_of_2_to_the_64" + g, gguf([key("a", 8, struct.pack("<Q", 2**64 - 1))]))
    case("gguf_array_longer_than_file" + g, gguf([key("a", 9, struct.pack("<IQ", 4, 1000))]))
    case("gguf_array_of_2_to_the_62" + g, gguf([key("a", 9, struct.pack("<IQ", 4, 2**62))]))
    case("gguf_array_of_type_13" + g, gguf([key("a", 9, struct.pack("<IQ", 13, 1))]))
    case("gguf_array_of_texts_cut" + g, gguf([key("a", 9, struct.pack("<IQ", 8, 2) + text("x") + struct.pack("<Q", 99))]))
    case("gguf_arrays_nested_9_deep" + g, gguf([key("a", 9, struct.pack("<IQ", 9, 1) * 9)], data=bytes(32)))
    case("gguf_alignment_0" + g, gguf([key("general.alignment", 4, u32(0))]))
    case("gguf_alignment_48" + g, gguf([key("general.alignment", 4, u32(48))]))
    case("gguf_alignment_2_to_the_31" + g, gguf([key("general.alignment", 4, u32(2**31))]))
    case("gguf_alignment_64_bits" + g, gguf([key("general.alignment", 10, struct.pack("<Q", 32))]))
    case("gguf_name_of_64_bytes" + g, gguf([arch], [info("x" * 64, [1])], bytes(32)))
    case("gguf_name_twice" + g, gguf([arch], [info("x", [1]), info("x", [1], offset=32)], bytes(64)))
    case("gguf_five_dimensions" + g, gguf([arch], [info("x", [1] * 5)], bytes(32)))
    case("gguf_2_to_the_32_dimensions" + g, gguf([arch], [text("x") + u32(2**32 - 1) + bytes(40)], bytes(32)))
    case("gguf_dimension_2_to_the_63" + g, gguf([arch], [info("x", [2**63])], bytes(32)))
    case("gguf_shape_product_wraps" + g, gguf([arch], [info("x", [2**32, 2**32])], bytes(32)))
    case("gguf_size_wraps" + g, gguf([arch], [info("x", [2**62])], bytes(32)))
    case("gguf_type_removed" + g, gguf([arch], [info("x", [32], kind=4)], bytes(32)))
    case("gguf_type_unknown" + g, gguf([arch], [info("x", [32], kind=43)], bytes(32)))
    case("gguf_row_not_whole_blocks" + g, gguf([arch], [info("x", [33], kind=8)], bytes(64)))
    case("gguf_offset_gap" + g, gguf([arch], [info("x", [1]), info("y", [1], offset=64)], bytes(96)))
    case("gguf_offset_overlap" + g, gguf([arch], [info("x", [1]), info("y", [1], offset=0)], bytes(64)))
    case("gguf_offset_unaligned" + g, gguf([arch], [info("x", [1], offset=4)], bytes(64)))
    case("gguf_offset_2_to_the_64" + g, gguf([arch], [info("x", [1], offset=2**64 - 32)], bytes(64)))
    case("gguf_truncated" + g, gguf([arch], [info("x", [100])], bytes(399)))
    case("gguf_no_data" + g, gguf([arch], [info("x", [100])]))
    case("gguf_ends_in_padding" + g, gguf([arch], [info("x", [100])], alignment=1))


def split(no, count, total, names, arch=True):
    keys = [key("general.architecture", 8, text("llama"))] if arch else []
    keys += [key("split.no", 2, struct.pack("<H", no)), key("split.count", 2, struct.pack("<H", count)),
             key("split.tensors.count", 5, struct.pack("<i", total))]
    infos = [info(name, [8], offset=32 * i) for i, name in enumerate(names)]
    return gguf(keys, infos, bytes(32 * len(names)))


def split_cases():
    case("split_second_given/m-00002-of-00002.gguf", split(1, 2, 2, "b"))
    case("split_missing_second/m-00001-of-00002.gguf", split(0, 2, 2, "a"))
    case("split_renamed.gguf", split(0, 2, 2, "a"))
    case("split_name_of_other_count/m-00001-of-00003.gguf", split(0, 2, 2, "a"))
    case("split_second_called_first/m-00001-of-00002.gguf", split(1, 2, 2, "b"))
    case("split_first_called_second/m-00002-of-00002.gguf", split(0, 2, 2, "b"))

    def pair(name, second, total=2):
        case(f"{name}/m-00002-of-00002.gguf", second)
        case(f"{name}/m-00001-of-00002.gguf", split(0, 2, total, "a"))
    pair("split_second_is_first_again", split(0, 2, 2, "b"))
    pair("split_second_of_another_count", split(1, 3, 2, "b"))
    pair("split_second_without_keys", gguf([], [info("b", [8])], bytes(32)))
    pair("split_same_tensor_twice", split(1, 2, 2, "a"))
    pair("split_tensor_missing", split(1, 2, 2, "b"), total=3)
    pair("split_second_broken", b"GGUF")


# ---- importance matrices -------------------------------------------------------------------------

def entry(name, calls, values):
    return (struct.pack("<i", len(name)) + name.encode() + struct.pack("<ii", calls, len(values)) +
            struct.pack(f"<{len(values)}f", *values))


def imatrix(infos, data, keys=None):
    if keys is None:
        keys = [key("imatrix.datasets", 9, struct.pack("<IQ", 8, 1) + text("d")),
                key("imatrix.chunk_count", 4, u32(1)), key("imatrix.chunk_size", 4, u32(512))]
    return gguf(keys, infos, data)


def imatrix_cases():
    d = ".dat"
    inf, nan = float("inf"), float("nan")
    case("imatrix_empty" + d, b"")
    case("imatrix_no_entries" + d, struct.pack("<i", 0))
    case("imatrix_negative_entries" + d, struct.pack("<i", -1) + bytes(40))
    case("imatrix_more_entries_than_bytes" + d, struct.pack("<i", 1000) + bytes(40))
    case("imatrix_name_past_the_end" + d, struct.pack("<ii", 1, 1000) + bytes(40))
    case("imatrix_negative_name" + d, struct.pack("<ii", 1, -5) + bytes(40))
    case("imatrix_values_past_the_end" + d, struct.pack("<ii", 1, 1) + b"x" + struct.pack("<ii", 1, 2**30) + bytes(8))
    case("imatrix_no_values" + d, struct.pack("<i", 1) + entry("x", 1, []) + bytes(8))
    case("imatrix_infinity" + d, struct.pack("<i", 1) + entry("x", 1, [1.0, inf]))
    case("imatrix_not_a_number" + d, struct.pack("<i", 1) + entry("x", 0, [nan]))
    case("imatrix_name_twice" + d, struct.pack("<i", 2) + entry("x", 1, [1.0]) * 2)
    case("imatrix_dataset_past_the_end" + d, struct.pack("<i", 1) + entry("x", 1, [1.0]) + struct.pack("<ii", 1, 99))
    g = ".imatrix.gguf"
    sums, counts = info("x.in_sum2", [2, 1]), info("x.counts", [1, 1], offset=32)
    data = struct.pack("<2f24x", 1, 2) + struct.pack("<f28x", 1)
    case("no_keys" + g, imatrix([sums, counts], data, []))
    case("no_tensors" + g, imatrix([], b""))
    case("no_counts" + g, imatrix([sums], data))
    case("no_sums" + g, imatrix([info("x.counts", [1, 1])], data))
    case("sums_are_f16" + g, imatrix([info("x.in_sum2", [2, 1], kind=1), counts], data))
    case("counts_do_not_divide" + g, imatrix([sums, info("x.counts", [1, 3], offset=32)], data))
    case("infinite_sum" + g, imatrix([sums, counts], struct.pack("<2f24x", 1, inf) + struct.pack("<f28x", 1)))
    case("count_not_a_number" + g, imatrix([sums, counts], struct.pack("<2f24x", 1, 1) + struct.pack("<f28x", nan)))


# ---- other things --------------------------------------------------------------------------------

def other_cases():
    case("other_torch_checkpoint.bin", b"PK\x03\x04" + bytes(60))
    case("other_torch_pickle.pt", b"\x80\x02\x8a\x0a" + bytes(60))
    case("other_hdf5.h5", b"\x89HDF\r\n\x1a\n" + bytes(60))
    case("other_text.txt", b"hello, this is not a checkpoint")
    case("other_empty", b"")


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


if __name__ == "__main__":
    safetensors_cases()
    folder_cases()
    gguf_cases()
    split_cases()
    imatrix_cases()
    other_cases()
    BAD.mkdir(exist_ok=True)
    for path in sorted(BAD.rglob("*"), reverse=True):
        if path.is_file() and path.suffix != ".expected":
            path.unlink()
    for name, content in CASES.items():
        if isinstance(content, dict):
            for path, data in content.items():
                write(BAD / name / path, data)
        else:
            write(BAD / name, content)
