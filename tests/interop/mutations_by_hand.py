"""Changes that no rule makes: spellings of JSON, rope types, tokenizers, quantization, stray tensors, files."""
import json
import re


def edited(change, file="config.json"):
    """A change of the object in `file`."""

    def apply(out):
        root = out.json(file)
        change(root)
        out.set_json(root, file)

    return apply


def respelled(change, file="config.json"):
    """A change of the text of `file`."""
    return lambda out: out.files.update({file: change(out.files[file])})


def text_of(root):
    inner = root.get("text_config")
    return inner if isinstance(inner, dict) else root


def in_text(key, value):
    return edited(lambda root: text_of(root).update({key: value}))


# ---- how a value is spelled --------------------------------------------------------------------

def spelling_cases():
    def number(text):  # rms_norm_eps and initializer_range are numbers that every model has
        return lambda raw: re.sub(rb'("initializer_range": )[^,\n]+', rb"\g<1>" + text, raw)

    yield "nan", number(b"NaN")
    yield "infinity", number(b"Infinity")
    yield "minus-infinity", number(b"-Infinity")
    yield "beyond-double", number(b"1e999")
    yield "eps-infinity", lambda raw: re.sub(rb'("rms_norm_eps": )[^,\n]+', rb"\g<1>Infinity", raw)
    yield "lower-nan", number(b"nan")
    yield "plus", number(b"+1")
    yield "hex", number(b"0x10")
    yield "leading-zero", number(b"01")
    yield "bare-point", number(b".5")
    yield "trailing-comma", lambda raw: raw.rstrip().rstrip(b"}").rstrip() + b",\n}\n"
    yield "comment", lambda raw: b"// a model\n" + raw
    yield "single-quotes", lambda raw: raw.replace(b'"', b"'")
    yield "byte-order-mark", lambda raw: b"\xef\xbb\xbf" + raw
    yield "utf-16", lambda raw: raw.decode().encode("utf-16")
    yield "not-utf-8", lambda raw: raw.replace(b'"model_type"', b'"caf\xe9": 1, "model_type"', 1)
    yield "zero-byte-behind", lambda raw: raw + b"\0"
    yield "more-behind", lambda raw: raw + b"{}"
    yield "blanks-around", lambda raw: b"\r\n\t " + raw + b"\r\n\r\n"
    yield "cut", lambda raw: raw[:len(raw) // 2]
    yield "empty", lambda raw: b""
    yield "array", lambda raw: b"[]"
    yield "null", lambda raw: b"null"
    yield "empty-object", lambda raw: b"{}"
    yield "control-character", lambda raw: raw.replace(b'"model_type"', b'"a\tb": 1, "model_type"', 1)
    yield "lone-surrogate", lambda raw: raw.replace(b'"model_type"', b'"x": "\\ud800", "model_type"', 1)
    yield "key-twice-last-good", lambda raw: raw.replace(b'"model_type"', b'"vocab_size": 7, "model_type"', 1)
    yield "key-twice-last-bad", lambda raw: raw.rstrip().rstrip(b"}").rstrip() + b',\n  "model_type": "none"\n}\n'
    yield "deep", lambda raw: raw.replace(b'"model_type"', b'"deep": ' + b"[" * 100 + b"]" * 100 + b', "model_type"', 1)


# ---- config.json -------------------------------------------------------------------------------

ROPES = {
    "unknown-type": {"rope_type": "spiral"}, "linear-bare": {"rope_type": "linear"},
    "linear": {"rope_type": "linear", "factor": 2.0}, "dynamic-bare": {"rope_type": "dynamic"},
    "dynamic": {"rope_type": "dynamic", "factor": 2.0}, "yarn-bare": {"rope_type": "yarn"},
    "yarn-without-original": {"rope_type": "yarn", "factor": 4.0},
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024},
    "yarn-factor-text": {"rope_type": "yarn", "factor": "4", "original_max_position_embeddings": 1024},
    "llama3-bare": {"rope_type": "llama3"},
    "llama3-without-high": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                            "original_max_position_embeddings": 1024},
    "llama3": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 1024},
    "longrope-bare": {"rope_type": "longrope"},
    "longrope": {"rope_type": "longrope", "short_factor": [1.0] * 32, "long_factor": [2.0] * 32,
                 "original_max_position_embeddings": 1024},
    "longrope-short-list": {"rope_type": "longrope", "short_factor": [1.0] * 3, "long_factor": [2.0] * 3,
                            "original_max_position_embeddings": 1024},
    "su": {"rope_type": "su", "factor": 2.0}, "mrope-bare": {"rope_type": "mrope"},
    "old-key": {"type": "linear", "factor": 2.0}, "old-key-unknown": {"type": "spiral"},
    "two-types": {"type": "yarn", "rope_type": "linear", "factor": 2.0}, "empty": {},
    "type-number": {"rope_type": 7}, "default": {"rope_type": "default"},
}


def config_cases(folder):
    has_rope = "rope_parameters" in text_of(folder.json())
    for name, rope in ROPES.items():
        if has_rope:
            yield (f"rope/parameters={name}",
                   edited(lambda root, r=rope: text_of(root).update(rope_parameters={"rope_theta": 1e4, **r})))
        yield f"rope/scaling={name}", in_text("rope_scaling", rope)
    for name in ("gelu", "gelu_pytorch_tanh", "relu", "swish", "quick_gelu", "SiLU", "nonsense"):
        yield f"hidden_act={name}", in_text("hidden_act", name)
    for name in ("LlamaForCausalLM", "Qwen3ForCausalLM", "Qwen3_5ForConditionalGeneration", "NoSuchModel",
                 "LlamaModel", "Qwen3ForSequenceClassification", "GPT2LMHeadModel", "MistralForCausalLM"):
        yield f"architectures={name}", edited(lambda root, n=name: root.update(architectures=[n]))
    for name in ("llama", "qwen3", "mistral", "qwen2", "qwen3_5", "qwen3_5_text", "nonsense"):
        yield f"model_type={name}", edited(lambda root, n=name: root.update(model_type=n))
    for key in ("dtype", "torch_dtype"):
        for name in ("float32", "float16", "torch.bfloat16", "bf16", "nonsense", "int8", "auto"):
            yield f"{key}={name}", edited(lambda root, k=key, n=name: root.update({k: n}))
    for key, value in (("sliding_window", 128), ("use_sliding_window", True), ("attention_bias", True),
                       ("mlp_bias", True), ("tie_word_embeddings", True), ("auto_map", {"AutoConfig": "a.B"}),
                       ("quantization_config", {"quant_method": "gptq", "bits": 4, "group_size": 128}),
                       ("quantization_config", {"quant_method": "fp8"}), ("is_encoder_decoder", True),
                       ("num_experts", 8), ("layer_types", ["full_attention"]), ("model_max_length", 64),
                       ("partial_rotary_factor", 0.5), ("head_dim", 32), ("unknown_key", {"a": [1, 2]})):
        shown = value.get("quant_method", "object") if isinstance(value, dict) else json.dumps(value).replace(" ", "")
        yield f"added/{key}={shown}", in_text(key, value) if key != "auto_map" else edited(
            lambda root, k=key, v=value: root.update({k: v}))


# ---- quantization ------------------------------------------------------------------------------

ALGOS = ("NVFP4", "FP8", "W4A16_NVFP4", "NVFP4_AWQ", "MXFP8", "W4A16_AWQ", "MIXED_PRECISION", "INT8", "nvfp4")
METHODS = ("modelopt", "modelopt_fp4", "fp8", "compressed-tensors", "awq", "gptq", "bitsandbytes", "mxfp4",
           "ModelOpt", "nonsense")
LISTS = {"empty": [], "everything": ["*"], "lm_head": ["lm_head"], "mlp": ["*mlp*"],
         "layer-0": ["model.layers.0*"], "q-alone": ["*.q_proj"], "attention": ["*self_attn*"],
         "regular": ["re:.*mlp.*"]}


def quantization_cases(folder):
    if "quantization_config" not in folder.json():
        return
    said = lambda change: edited(lambda root: change(root["quantization_config"]))
    for algo in ALGOS:
        yield f"quant/algo={algo}", said(lambda q, a=algo: q.update(quant_algo=a))
    for method in METHODS:
        yield f"quant/method={method}", said(lambda q, m=method: q.update(quant_method=m))
    for name, value in LISTS.items():
        yield f"quant/ignore={name}", said(lambda q, v=value: q.update(ignore=v))
    for size in (8, 16, 32, 128, "16"):
        yield f"quant/group_size={size!r}", said(lambda q, s=size: q.update(group_size=s))
    for name, scheme in (("fp8", {"dynamic": False, "num_bits": 8, "type": "float"}), ("text", "FP8"),
                         ("int8", {"dynamic": False, "num_bits": 8, "type": "int"})):
        yield f"quant/kv_cache_scheme={name}", said(lambda q, s=scheme: q.update(kv_cache_scheme=s))
    moved = lambda root: text_of(root).update(quantization_config=root.pop("quantization_config"))
    yield "quant/in-text-config", edited(moved)
    yield "quant/as-compression-config", edited(
        lambda root: root.update(compression_config=root.pop("quantization_config")))
    yield "quant/only-hf", edited(lambda root: root.pop("quantization_config"))
    yield "quant/only-config", lambda out: out.files.pop("hf_quant_config.json")

    def neither(out):
        edited(lambda root: root.pop("quantization_config"))(out)
        out.files.pop("hf_quant_config.json")

    yield "quant/neither", neither
    for name, change in spelling_cases():
        if name in ("cut", "empty", "array", "null", "empty-object"):
            yield f"quant/hf-file={name}", respelled(change, "hf_quant_config.json")


# ---- tokenizer and the rest of the documents ---------------------------------------------------

def tokenizer_cases(folder):
    file = "tokenizer.json"
    changes = {
        "model-removed": lambda t: t.pop("model"), "model-null": lambda t: t.update(model=None),
        "model-type-unknown": lambda t: t["model"].update(type="Spiral"),
        "model-type-removed": lambda t: t["model"].pop("type"),
        "vocab-removed": lambda t: t["model"].pop("vocab"), "vocab-empty": lambda t: t["model"].update(vocab={}),
        "vocab-id-text": lambda t: t["model"]["vocab"].update(a="7"),
        "vocab-id-negative": lambda t: t["model"]["vocab"].update(a=-7),
        "vocab-id-beyond": lambda t: t["model"]["vocab"].update({"beyond": 4000}),
        "merges-removed": lambda t: t["model"].pop("merges"),
        "merges-empty": lambda t: t["model"].update(merges=[]),
        "merges-as-pairs": lambda t: t["model"].update(merges=[m if isinstance(m, list) else m.split(" ")
                                                               for m in t["model"]["merges"]]),
        "merges-as-texts": lambda t: t["model"].update(merges=[m if isinstance(m, str) else " ".join(m)
                                                               for m in t["model"]["merges"]]),
        "merge-of-unknown": lambda t: t["model"]["merges"].append(["no-such", "piece"]),
        "merge-of-one": lambda t: t["model"]["merges"].append("alone"),
        "added-tokens-removed": lambda t: t.pop("added_tokens"),
        "added-tokens-null": lambda t: t.update(added_tokens=None),
        "added-token-without-id": lambda t: t["added_tokens"][0].pop("id"),
        "added-token-without-content": lambda t: t["added_tokens"][0].pop("content"),
        "added-token-without-special": lambda t: t["added_tokens"][0].pop("special"),
        "added-token-id-beyond": lambda t: t["added_tokens"][0].update(id=5000),
        "added-token-id-text": lambda t: t["added_tokens"][0].update(id="7"),
        "pre-tokenizer-removed": lambda t: t.pop("pre_tokenizer"),
        "pre-tokenizer-null": lambda t: t.update(pre_tokenizer=None),
        "pre-tokenizer-unknown": lambda t: t.update(pre_tokenizer={"type": "Spiral"}),
        "pre-tokenizer-bad-pattern": lambda t: t.update(pre_tokenizer={
            "type": "Split", "pattern": {"Regex": "(["}, "behavior": "Isolated", "invert": False}),
        "decoder-removed": lambda t: t.pop("decoder"), "decoder-null": lambda t: t.update(decoder=None),
        "decoder-unknown": lambda t: t.update(decoder={"type": "Spiral"}),
        "normalizer-null": lambda t: t.update(normalizer=None),
        "normalizer-unknown": lambda t: t.update(normalizer={"type": "Spiral"}),
        "post-processor-unknown": lambda t: t.update(post_processor={"type": "Spiral"}),
        "version-removed": lambda t: t.pop("version"), "version-other": lambda t: t.update(version="9.9"),
        "truncation-text": lambda t: t.update(truncation="yes"), "unknown-key": lambda t: t.update(unknown=7),
    }
    for name, change in changes.items() if file in folder.files else ():
        yield f"tokenizer/{name}", edited(change, file)
    settings = {
        "class-fast": {"tokenizer_class": "PreTrainedTokenizerFast"},
        "class-qwen2": {"tokenizer_class": "Qwen2Tokenizer"}, "class-llama": {"tokenizer_class": "LlamaTokenizer"},
        "class-llama-fast": {"tokenizer_class": "LlamaTokenizerFast"},
        "class-gpt2": {"tokenizer_class": "GPT2Tokenizer"}, "class-bert": {"tokenizer_class": "BertTokenizer"},
        "class-t5": {"tokenizer_class": "T5Tokenizer"}, "class-gemma": {"tokenizer_class": "GemmaTokenizerFast"},
        "class-backend": {"tokenizer_class": "TokenizersBackend"},
        "class-unknown": {"tokenizer_class": "NoSuchTokenizer"},
        "extra-list": {"extra_special_tokens": ["<|a|>"]}, "extra-object": {"extra_special_tokens": {"a_token": "<|a|>"}},
        "extra-text": {"extra_special_tokens": "<|a|>"},
        "additional-objects": {"additional_special_tokens": [{"content": "<|a|>", "__type": "AddedToken"}]},
        "eos-object": {"eos_token": {"content": "<|im_end|>", "__type": "AddedToken", "lstrip": False}},
        "eos-object-untyped": {"eos_token": {"content": "<|im_end|>"}}, "eos-number": {"eos_token": 7},
        "eos-unknown": {"eos_token": "<|nowhere|>"}, "template-number": {"chat_template": 7},
        "template-list": {"chat_template": [{"name": "default", "template": "{{ messages }}"}]},
        "template-broken": {"chat_template": "{% for"}, "length-text": {"model_max_length": "long"},
        "auto-map": {"auto_map": {"AutoTokenizer": ["a.B", None]}},
        "side-right": {"padding_side": "right"}, "side-unknown": {"padding_side": "up"},
        "decoder-list": {"added_tokens_decoder": {"7": {"content": "<|a|>", "special": True}}},
        "decoder-bad-id": {"added_tokens_decoder": {"seven": {"content": "<|a|>"}}},
    }
    for name, keys in settings.items():
        yield f"tokenizer-config/{name}", edited(lambda t, k=keys: t.update(k), "tokenizer_config.json")


def document_cases(folder):
    for file in ("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        if file in folder.files:
            yield f"file/{file}=removed", lambda out, f=file: out.files.pop(f)
    for name, change in spelling_cases():
        yield f"spelling/config.json={name}", respelled(change)
        if name in ("cut", "empty", "array", "null", "empty-object", "byte-order-mark", "trailing-comma"):
            for file in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
                if file in folder.files:
                    yield f"spelling/{file}={name}", respelled(change, file)
    for key, value in (("temperature", 0.7), ("temperature", -1), ("temperature", "hot"), ("top_k", 20),
                       ("eos_token_id", [987, 988]), ("eos_token_id", "987"), ("max_new_tokens", 64),
                       ("repetition_penalty", -1)):
        name = json.dumps(value).replace(" ", "")
        yield (f"generation/added.{key}={name}",
               edited(lambda g, k=key, v=value: g.update({k: v, "do_sample": True}), "generation_config.json"))
    yield "file/special_tokens_map.json=array", lambda out: out.files.update({"special_tokens_map.json": b"[]"})
    yield "file/special_tokens_map.json=eos", lambda out: out.files.update(
        {"special_tokens_map.json": b'{"eos_token": "<|im_end|>"}'})
    yield "file/chat_template.jinja=removed", lambda out: out.files.pop("chat_template.jinja", None)


# ---- tensors and files -------------------------------------------------------------------------

STRAY = ("lm_head.bias", "model.layers.0.self_attn.q_proj.bias", "model.layers.0.self_attn.o_proj.bias",
         "model.layers.0.mlp.up_proj.bias", "model.layers.0.self_attn.rotary_emb.inv_freq",
         "model.layers.0.self_attn.q_proj.input_scale", "model.layers.0.self_attn.k_proj.k_scale",
         "model.layers.0.self_attn.k_proj.weight_scale", "model.layers.0.mlp.up_proj.weight_quantizer._amax",
         "model.layers.0.mlp.gate_proj.g_idx", "model.layers.99.input_layernorm.weight",
         "model.layers.0.no_such.weight", "no_such.weight", "mtp.layers.0.input_layernorm.weight",
         "mtp.no_such.weight", "visual.no_such.weight", "model.visual.no_such.weight", "model.norm.bias",
         "model.layers.0.mlp.experts.0.up_proj.weight", "base_model.model.model.norm.weight", "position_ids",
         "model.layers.0.self_attn.attn.k_scale")


def stray_cases(folder, root):
    for name in STRAY:
        full = name.replace("model.", root, 1) if name.startswith("model.layers") or name == "model.norm.bias" else name
        scalar = name.endswith(("_scale", "_amax"))

        def add(out, full=full, scalar=scalar):
            out.are_tensors_changed = True
            out.tensors[full] = ["F32", [] if scalar else [4], bytes(4 if scalar else 16)]

        if full not in folder.tensors:
            yield f"stray/{full}", add

    def renamed(rule):
        def apply(out):
            out.are_tensors_changed = True
            out.tensors = {rule(name): entry for name, entry in out.tensors.items()}
        return apply

    yield "names/without-model", renamed(lambda name: name.removeprefix("model."))
    yield "names/base-model", renamed(lambda name: "base_model.model." + name)
    yield "names/language-model", renamed(lambda name: name.replace("model.", "model.language_model.", 1))
    yield "names/language-model-dropped", renamed(lambda name: name.replace("language_model.", "", 1))
    yield "names/language-first", renamed(lambda name: name.replace("model.language_model.", "language_model.model."))


def file_cases(packed):
    def sharded(change=None, drop=None):
        def apply(out):
            names = list(out.tensors)
            parts = {"model-00001-of-00002.safetensors": names[:len(names) // 2],
                     "model-00002-of-00002.safetensors": names[len(names) // 2:]}
            index = {"metadata": {"total_size": 1}, "weight_map": {n: f for f, part in parts.items() for n in part}}
            if change:
                change(index, names)
            for file, part in parts.items():
                if file != drop:
                    out.files[file] = packed({n: out.tensors[n] for n in part}, out.metadata)
            out.files["model.safetensors.index.json"] = json.dumps(index).encode()
        return apply

    def spelled(text):
        return lambda out: (sharded()(out), out.files.update({"model.safetensors.index.json": text}))

    second = "model-00002-of-00002.safetensors"
    yield "index/good", sharded()
    yield "index/part-missing", sharded(drop=second)
    yield "index/no-entry", sharded(lambda index, names: index["weight_map"].pop(names[3]))
    yield "index/entry-too-many", sharded(lambda index, names: index["weight_map"].update(no_such=second))
    yield "index/wrong-part", sharded(lambda index, names: index["weight_map"].update({names[0]: second}))
    yield "index/unknown-part", sharded(lambda index, names: index["weight_map"].update({names[0]: "x.safetensors"}))
    yield "index/no-metadata", sharded(lambda index, names: index.pop("metadata"))
    yield "index/no-map", sharded(lambda index, names: index.pop("weight_map"))
    yield "index/map-array", sharded(lambda index, names: index.update(weight_map=[]))
    yield "index/broken", spelled(b'{"weight_map": ')
    whole = lambda out: packed(out.tensors, out.metadata)
    put = lambda name, content: (lambda out: out.files.update({name: content(out)}))
    yield "weights/cut", put("model.safetensors", lambda out: whole(out)[:-100])
    yield "weights/longer", put("model.safetensors", lambda out: whole(out) + bytes(8))
    yield "weights/empty", put("model.safetensors", lambda out: b"")
    yield "weights/header-alone", put("model.safetensors", lambda out: packed({}, {"format": "pt"}))
    yield "weights/no-format", put("model.safetensors", lambda out: packed(out.tensors, None))
    yield "weights/other-name", put("weights.safetensors", whole)
    yield "weights/none", lambda out: setattr(out, "tensors", None)
    yield "weights/twice", put("model-copy.safetensors", whole)


def cases(folder, packed):
    nested = any(name.startswith("model.language_model.") for name in folder.tensors)
    yield from config_cases(folder)
    yield from quantization_cases(folder)
    yield from tokenizer_cases(folder)
    yield from document_cases(folder)
    yield from stray_cases(folder, "model.language_model." if nested else "model.")
    yield from file_cases(packed)
