"""Further changes of a GGUF for gguf_mutations.py, by kind: {kind: [(name, what it does to the file)]}."""
import struct

U32, I32, F32, BOOL, TEXT, ARRAY, U16, U64 = 4, 5, 6, 7, 8, 9, 2, 10
TOKENIZER = "tokenizer.ggml."


def u32(value):
    return struct.pack("<I", value % 2**32)


def text(value):
    return struct.pack("<Q", len(value.encode())) + value.encode()


def array(element, items):
    return struct.pack("<IQ", element, len(items)) + b"".join(items)


def key(name, kind, payload):
    def change(file):
        at = file.find(name)
        file.keys[len(file.keys) if at is None else at:(at if at is None else at + 1)] = [(name, kind, payload)]
    return change


def without(name):
    return lambda file: file.keys.pop(file.find(name))


def retyped(index, kind, values, size):
    """In another type: `size` bytes for each `values` of them, all zero."""
    def change(file):
        count = 1
        for dim in file.tensors[index][1]:
            count *= dim
        file.tensors[index][2:] = [kind, bytes(max(1, count // values) * size)]
    return change


def reshaped(index, edit):
    return lambda file: file.tensors[index].__setitem__(1, edit(file.tensors[index][1]))


def of_tensors(file, rng):
    names = [entry[0] for entry in file.tensors]
    any_one, other = rng.sample(range(len(names)), 2)
    vectors = [i for i, entry in enumerate(file.tensors) if len(entry[1]) == 1 and entry[2] == 0]
    vector = rng.choice(vectors or [any_one])
    matrix = rng.choice([i for i, entry in enumerate(file.tensors) if len(entry[1]) > 1])

    def swap(file):
        file.tensors[any_one][0], file.tensors[other][0] = names[other], names[any_one]
    yield "twin", f"tensor {names[any_one]}", lambda file: file.tensors.append(list(file.tensors[any_one]))
    yield "twin", "key", lambda file: file.keys.append(file.keys[-1])
    yield "swap", f"{names[any_one]} {names[other]}", swap
    for name, edit in (("one more", lambda dims: dims + [1]), ("five", lambda dims: (dims + [1] * 5)[:5]),
                       ("one in front", lambda dims: [1] + dims), ("none", lambda dims: [])):
        yield "dims", f"{name} {names[any_one]}", reshaped(any_one, edit)
    for i in [i for i, entry in enumerate(file.tensors) if len(entry[1]) == 3][:1]:
        yield "dims", f"turned {names[i]}", reshaped(i, lambda dims: dims[1:] + dims[:1])
    for name, *form in (("bf16", 30, 1, 2), ("i32", 26, 1, 4), ("q8_0", 8, 32, 34), ("i8", 24, 1, 1)):
        yield "vector type", f"{name} {names[vector]}", retyped(vector, *form)
    for name, *form in (("f16", 1, 1, 2), ("f32", 0, 1, 4), ("i16", 25, 1, 2), ("q8_0", 8, 32, 34), ("q6_k", 14, 256, 210),
                        ("99", 99, 1, 4), ("q4_2", 4, 32, 20), ("f64", 28, 1, 8)):
        yield "matrix type", f"{name} {names[matrix]}", retyped(matrix, *form)


def of_file():
    for value in (0, 3, 16, 64):
        yield "alignment", str(value), key("general.alignment", U32, u32(value))
    yield "alignment", "u64", key("general.alignment", U64, struct.pack("<Q", 32))
    for count, number in ((2, 0), (1, 0), (0, 0), (1, 1)):
        yield "split", f"{number} of {count}", lambda file, count=count, number=number: file.keys.extend(
            [("split.count", U16, struct.pack("<H", count)), ("split.no", U16, struct.pack("<H", number))])
    yield "split", "u32", key("split.count", U32, u32(2))
    for name, kind, payload in (("general.file_type", TEXT, text("7")), ("general.name", U32, u32(1)),
                                ("general.tags", U32, u32(1)), ("general.quantization_version", TEXT, text("2")),
                                ("tokenizer.chat_template", ARRAY, array(TEXT, [text("x")]))):
        yield "key of the file", f"{name} {kind}", key(name, kind, payload)


def of_tokenizer(file, count):
    for value in ("", "deepseek-v9", "gpt-2"):
        yield "pre", value, key(TOKENIZER + "pre", TEXT, text(value))
    for value in ("llama", "gpt2", "bert", "rwkv", "plamo2", "t5", "none", "no_vocab", ""):
        yield "model", value, key(TOKENIZER + "model", TEXT, text(value))
    for name in ("model", "tokens", "merges"):
        if file.find(TOKENIZER + name) is not None:
            yield "no list", name, without(TOKENIZER + name)
    if file.find(TOKENIZER + "merges") is not None:
        yield "merges", "none", key(TOKENIZER + "merges", ARRAY, array(TEXT, []))
        yield "merges", "without a space", key(TOKENIZER + "merges", ARRAY, array(TEXT, [text("ab")]))
        yield "merges", "numbers", key(TOKENIZER + "merges", ARRAY, array(U32, [u32(1)]))
    for name in ("bos", "eos", "unknown", "mask"):
        for value in (count, 2**32 - 1):
            yield "special", f"{name}={value}", key(f"{TOKENIZER}{name}_token_id", U32, u32(value))
        yield "special", f"{name} i32", key(f"{TOKENIZER}{name}_token_id", I32, u32(-1))
        yield "special", f"{name} text", key(f"{TOKENIZER}{name}_token_id", TEXT, text("1"))
    for name, element, item, more in (("token_type", I32, u32(1), 3), ("token_type", U32, u32(1), 0), ("scores", F32, u32(0), -1),
                                      ("scores", 0, b"\0", 0), ("tokens", TEXT, text(""), 0), ("tokens", 0, b"\1", 0)):
        yield "list", f"{name} {element} {more}", key(TOKENIZER + name, ARRAY, array(element, [item] * (count + more)))


def numbers(file, prefix):
    """The unsigned numbers below the architecture's name."""
    for name, kind, payload in file.keys:
        if name.startswith(prefix) and kind == U32:
            yield name[len(prefix):], struct.unpack("<I", payload)[0]


VALUES = {"rope.dimension_count": lambda old: (0, 1, old + 2, 2 * old, old - 1, old // 2),
          "attention.head_count": lambda old: (0, 1, 3, old + 1, 2 * old),
          "attention.head_count_kv": lambda old: (0, 1, 3, old + 1, 2 * old),
          "attention.key_length": lambda old: (0, 1, old + 1, 2 * old),
          "attention.value_length": lambda old: (0, 1, old + 1, 2 * old),
          "expert_count": lambda old: (0, 1, old + 1, 2 * old, 1025), "expert_used_count": lambda old: (0, 1, old + 1, 99),
          "leading_dense_block_count": lambda old: (0, 1, old + 1, 99), "expert_shared_count": lambda old: (0, 2),
          "block_count": lambda old: (0, 513, old - 1, old + 1), "embedding_length": lambda old: (0, old + 32),
          "attention.sliding_window": lambda old: (0, 1), "context_length": lambda old: (1,)}
OTHERS = ("ssm.", "shortconv.", "full_attention_interval", "attention.kv_lora_rank", "attention.q_lora_rank", "_mla")


def of_numbers(file, prefix):
    blocks = dict(numbers(file, prefix)).get("block_count", 1)
    for name, old in numbers(file, prefix):
        other = (lambda old: (0, 1, 2 * old)) if any(part in name for part in OTHERS) else lambda old: ()
        for value in VALUES.get(name, other)(old):
            if value != old:
                yield name.split(".")[0], f"{name}={value}", key(prefix + name, U32, u32(value))
        if name in ("attention.head_count", "attention.head_count_kv", "feed_forward_length"):
            same = [u32(old)] * blocks
            for how, element, items in (("same", U32, same), ("one more", U32, same + same[:1]), ("last 0", U32, same[1:] + [u32(0)]),
                                        ("f32", F32, same), ("none", U32, [])):
                yield "for each block", f"{name} {how}", key(prefix + name, ARRAY, array(element, items))


def of_other_keys(file, prefix):
    for name, kind, payload in (("expert_group_count", U32, u32(2)), ("expert_gating_func", U32, u32(9)), ("pooling_type", U32, u32(9)),
                                ("nextn_predict_layers", U32, u32(1)), ("vocab_size", U32, u32(7)),
                                ("attention.causal", U32, u32(1)), ("attention.sliding_window", U32, u32(8)),
                                ("attention.sliding_window_pattern", U32, u32(3)), ("rope.freq_base_swa", U32, u32(8)),
                                ("rope.dimension_sections", ARRAY, array(I32, [u32(2)] * 3)), ("attention.scale", U32, u32(1)),
                                ("final_logit_softcapping", U32, u32(1)), ("logit_scale", F32, u32(0)),
                                ("rope.scaling.factor", F32, u32(0)), ("rope.scaling.type", TEXT, text("longrope"))):
        yield "new key", f"{name} {kind}", key(prefix + name, kind, payload)
    for value in (0.0, -1.0, float("nan")):
        for name in ("attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"):
            if file.find(prefix + name) is not None:
                yield "epsilon", str(value), key(prefix + name, F32, struct.pack("<f", value))


def further_cases(file, rng, many):
    """`many` of each kind, at random."""
    name = file.keys[file.find("general.architecture")][2][8:].decode() + "."
    tokens = file.find(TOKENIZER + "tokens")
    count = 0 if tokens is None else struct.unpack_from("<IQ", file.keys[tokens][2])[1]
    kinds = {}
    for cases in (of_tensors(file, rng), of_file(), of_tokenizer(file, count), of_numbers(file, name), of_other_keys(file, name)):
        for kind, case, change in cases:
            kinds.setdefault(kind, []).append((f"{kind}/{case}", change))
    for cases in kinds.values():
        yield from rng.sample(cases, min(len(cases), many))
