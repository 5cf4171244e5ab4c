"""Change one thing of a small Hugging Face checkpoint at a time, convert it with llama.cpp's converter and with ckpt, and
compare: the same file, or refused by both. DELIBERATE lists what differs on purpose; docs/formats/hf_to_gguf.md has what
users may meet of it. With transformers 4.57.6, which the converter asks for, and with 5 not all rows are needed.

usage: LLAMA_CPP=SOURCE_TREE python mutate_conversions.py CKPT TESTDATA WORK [PATTERN...]
needs: llama.cpp v0.5.0's sources; torch transformers gguf and what else its converter imports

The converter runs in forks of this process, because importing torch takes longer than a conversion. It knows vocabularies
by a hash of ids, so its look-up is answered with the name of the models' rules.
"""
import concurrent.futures
import contextlib
import copy
import fnmatch
import json
import os
import pathlib
import runpy
import shutil
import subprocess
import sys
import traceback

ROOT = os.environ["LLAMA_CPP"]
sys.path[:0] = [ROOT + "/gguf-py", ROOT]
MODELS = ("llama-micro", "mistral-micro", "qwen3-micro", "qwen35-micro", "qwen35moe-micro")
GONE = object()

# Mutations and how they end (by pattern), and the row of the page's table that says why.
DELIBERATE = {
    "*: config architectures *: only theirs refuses": "architectures missing",
    "*: config text_config null: only theirs refuses": "fields that are null",
    "*: config * null: only theirs refuses": "fields that are null",
    "*: config rms_norm_eps 1: only theirs refuses": "fields of another type",
    "*: config bos_token_id *: only theirs refuses": "fields of another type",
    "*: config layer_types *: only theirs refuses": "fields of another type",
    "*: config num_hidden_layers gone: only ours refuses": "num_hidden_layers missing",
    "*: config vocab_size *: only ours refuses": "vocab_size missing; more tokens than the embedding has rows",
    "*: config rope_scaling *: DIFFERS": "rope_scaling next to rope_parameters",
    "mistral-micro: config head_dim *: DIFFERS": "Mistral without head_dim",
    "qwen35*: config layer_types *: DIFFERS": "Qwen3.5 without layer_types",
    "*: generation top_k 20.0: only theirs refuses": "a whole number written 20.0",
    "*: tokens list gone: only theirs refuses": "no added tokens at all",
    "*: token * gone: only theirs refuses": "added tokens without special, normalized, ...",
    "*: vocab *: only theirs refuses": "merges of tokens that the vocabulary lacks",
    "*: tokenizer_config *_token *: only theirs refuses": "tokens named by an object without __type, or by a number",
    "*: tokenizer_config *special_tokens *: only theirs refuses": "lists of special tokens, as the other transformers writes them",
    "llama-micro: tokenizer_config gone: DIFFERS": "no tokenizer_config.json",
    "*: card CR: DIFFERS": "lines of a card that end in CR alone",
    "qwen3-micro: token *: DIFFERS": "Qwen's tokenizer class: 5 sorts by id",
    "qwen3-micro: tokens *: DIFFERS": "Qwen's tokenizer class: 5 sorts by id",
    "qwen3-micro: decoder *: DIFFERS": "Qwen's tokenizer class: 5 does not look at the decoder",
    "qwen3-micro: clean-up *: DIFFERS": "Qwen's tokenizer class: 5 does not look at the decoder",
}


# ---- mutations: name -> function(folder of files as values) ----

class Files:
    """The documents of a folder; JSON ones as values. The rest is bytes."""

    def __init__(self, folder):
        self.bytes, self.json = {}, {}
        for path in sorted(folder.iterdir()):
            if path.name == "model.safetensors":
                continue
            if path.suffix == ".json":
                self.json[path.name] = json.loads(path.read_text(encoding="utf-8"))
            else:
                self.bytes[path.name] = path.read_bytes()

    def write(self, folder):
        for name, value in self.json.items():
            (folder / name).write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
        for name, value in self.bytes.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(value)


def put(value, path, to):
    *outer, last = path
    for key in outer:
        value = value[key]
    if to is GONE:
        del value[last]
    else:
        value[last] = to


def field(document, *path, to):
    return lambda files: put(files.json.setdefault(document, {}), path, to)


def config_mutations(files):
    for key in files.json["config.json"]:
        yield f"config {key} gone", field("config.json", key, to=GONE)
        yield f"config {key} null", field("config.json", key, to=None)
    yield "config head_dim gone, layer_types", lambda files: (
        files.json["config.json"].pop("head_dim"),
        files.json["config.json"].update(layer_types=["full_attention"] * files.json["config.json"]["num_hidden_layers"]))
    for key, values in CONFIG_VALUES.items():
        for value in values:
            yield f"config {key} {json.dumps(value)}", field("config.json", key, to=value)


ROPE = {"rope_theta": 10000.0}
CONFIG_VALUES = {
    "head_dim": [32, 128],
    "num_key_value_heads": [4, 1],
    "max_position_embeddings": [4096, 131072],
    "rms_norm_eps": [1e-5, 1],
    "vocab_size": [1000, 1030, 512],
    "rope_theta": [5000, 1e6, 123456.789],
    "rope_scaling": [None, {"type": "linear", "factor": 2.0}, {"rope_type": "dynamic", "factor": 2.0}],
    "rope_parameters": [{**ROPE, "rope_type": "linear", "factor": 4}, {**ROPE, "rope_type": "dynamic", "factor": 4.0}, {}, ROPE,
                        {**ROPE, "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512},
                        {**ROPE, "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512, "attn_factor": 0.5,
                         "beta_fast": 16, "beta_slow": 2, "extrapolation_factor": 1.5},
                        {**ROPE, "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                         "original_max_position_embeddings": 1024},
                        {**ROPE, "rope_type": "default", "partial_rotary_factor": 0.5}],
    "partial_rotary_factor": [0.5],
    "sliding_window": [None, 1024],
    "layer_types": [None, ["full_attention"] * 3, ["full_attention"] * 4, ["sliding_attention"] * 3],
    "is_causal": [False, True],
    "tie_word_embeddings": [True],
    "torch_dtype": ["float16", "float32"],
    "bos_token_id": [5, [5, 6], -1, 987],
    "eos_token_id": [5, [987, 988], 2000],
    "pad_token_id": [0, -1],
    "unk_token_id": [3],
    "sep_token_id": [4],
    "cls_token_id": [4],
    "mask_token_id": [4],
    "model_type": ["qwen2", "nonsense"],
    "architectures": [[], ["NoSuchModel"]],
    "_name_or_path": ["Org/Some-Model-7B-Instruct", "a/b/c", "Model-v1.5"],
    "num_experts_per_tok": [1],
    "num_local_experts": [8],
    "n_group": [2],
    "topk_group": [1],
    "scoring_func": ["sigmoid", "softmax", "odd"],
    "layer_norm_eps": [1e-5],
    "rope_local_base_freq": [1000.0],
    "text_config": [{"max_position_embeddings": 77}, {}, None],
    "full_attention_interval": [2, 4],
    "mlp_only_layers": [[]],
    "quantization_config": [None],
    "auto_map": [{"AutoConfig": "configuration_x.XConfig"}],
    "original_max_position_embeddings": [512],
    "attention_bias": [True],
    "mtp_num_hidden_layers": [0, 1],
}


def generation_mutations(files):
    for key, value in {"temperature": 0.7, "top_p": 0.8, "top_k": 40, "min_p": 0.1, "repetition_penalty": 1.1, "do_sample": False,
                       "penalty_last_n": 64, "mirostat": 1, "xtc_probability": 0.5, "temp": 0.3, "typical_p": 0.9}.items():
        yield f"generation {key} {value}", field("generation_config.json", key, to=value)
    yield "generation temperature null", field("generation_config.json", "temperature", to=None)
    yield "generation temperature 1", field("generation_config.json", "temperature", to=1)
    yield "generation top_k 20.0", field("generation_config.json", "top_k", to=20.0)
    yield "generation top_p text", field("generation_config.json", "top_p", to="0.9")
    yield "generation gone", lambda files: files.json.pop("generation_config.json")


def template(data, name="chat_template.jinja"):
    return lambda files: files.bytes.__setitem__(name, data)


def template_mutations(files):
    yield "template CRLF", template(b"{{ 1 }}\r\n{{ 2 }}\r\n")
    yield "template CR", template(b"a\rb\r\rc\r")
    yield "template CR CRLF", template(b"a\r\r\nb\n\rc")
    yield "template BOM", template(b"\xef\xbb\xbf{{ 1 }}")
    yield "template empty", template(b"")
    yield "template unicode", template("{{ 'ü\u2028\u0085x' }}\x0b\x0c\x1c".encode())
    yield "template not UTF-8", template(b"\xff\xfe{{ 1 }}")
    yield "template NUL", template(b"a\x00b")
    yield "template more", template(b"x\r\ny", "additional_chat_templates/tool use.jinja")
    yield "template gone", lambda files: files.bytes.pop("chat_template.jinja")
    yield "template in config", field("tokenizer_config.json", "chat_template", to="a\r\nb")
    yield "template null in config", field("tokenizer_config.json", "chat_template", to=None)
    yield "template empty in config", field("tokenizer_config.json", "chat_template", to="")
    yield "template list in config", field("tokenizer_config.json", "chat_template", to=[
        {"name": "default", "template": "d"}, {"name": "rag-1", "template": "r\r\n"}])

    def in_json(files):
        del files.bytes["chat_template.jinja"]
        files.json["chat_template.json"] = {"chat_template": "j\r\n"}
    yield "template in chat_template.json", in_json


def added(change):
    return lambda files: change(files.json["tokenizer.json"]["added_tokens"])


def new_token(id, content, **more):
    return {"id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False,
            **more}


def add_token(*args, **more):
    return added(lambda tokens: tokens.append(new_token(*args, **more)))


ODD_TEXTS = ["Ġ1", "Ġ.", "x .", "Ċ", "é", "日本", "a b", " ", "▁x", "<|x|>", "<unused7>", "[@BOS@]", "Ġ", "Ā", "naïve",
             "<pad>", "ĠĠ", "the", "a", "Ġn't", "Â", "ĠÂł", "don't .", "do n't", "\n", "\t", "Ġ ", "<｜x｜>", "<Ġ|", "<|Ġ|>"]


def token_mutations(files):
    end = 1000
    for text in ODD_TEXTS:
        yield f"token {text!r}", add_token(end, text)
        yield f"token normalized {text!r}", add_token(end, text, normalized=True)
    yield "token special 'Ġ1'", add_token(end, "Ġ1", special=True)
    yield "token lstrip rstrip", add_token(end, "Ġ1", lstrip=True, rstrip=True)
    yield "token single_word", add_token(end, "Ġ1", single_word=True)
    yield "token gap", add_token(end + 3, "gap")
    yield "token below", add_token(end - 1, "below")
    yield "token over another", add_token(5, "over")
    yield "token empty", add_token(end, "")
    yield "token twice", added(lambda tokens: tokens.append(dict(tokens[0])))
    yield "token twice, other id", added(lambda tokens: tokens.append({**tokens[0], "id": end}))
    yield "token twice, not special", added(lambda tokens: tokens.append({**tokens[0], "special": False}))
    yield "tokens reversed", added(lambda tokens: tokens.reverse())
    yield "tokens two swapped", added(lambda tokens: tokens.insert(0, tokens.pop(3)))
    yield "token ids swapped", added(lambda tokens: (tokens[0].update(id=988), tokens[1].update(id=987)))
    yield "tokens first gone", added(lambda tokens: tokens.pop(0))
    yield "tokens middle gone", added(lambda tokens: tokens.pop(4))
    yield "tokens last gone", added(lambda tokens: tokens.pop())
    yield "tokens none", added(lambda tokens: tokens.clear())
    yield "tokens list gone", field("tokenizer.json", "added_tokens", to=GONE)
    yield "token of the vocabulary", added(lambda tokens: tokens.append(new_token(
        files.json["tokenizer.json"]["model"]["vocab"]["Ġthe"], "Ġthe")))
    yield "token of the vocabulary, other id", add_token(end, "Ġthe")
    for key in ("special", "normalized", "lstrip"):
        yield f"token {key} turned", added(lambda tokens, key=key: tokens[8].update({key: not tokens[8][key]}))
        yield f"token {key} gone", added(lambda tokens, key=key: tokens[8].pop(key))


def tokenizer_mutations(files):
    vocab = files.json["tokenizer.json"]["model"]["vocab"]

    def drop_middle(files):
        files.json["tokenizer.json"]["model"]["vocab"].pop(next(t for t, i in vocab.items() if i == 900))

    def drop_last(files):
        files.json["tokenizer.json"]["model"]["vocab"].pop(next(t for t, i in vocab.items() if i == 986))
    yield "vocab hole", drop_middle
    yield "vocab shorter", drop_last
    yield "merges as texts", lambda files: files.json["tokenizer.json"]["model"].update(
        merges=[" ".join(m) for m in files.json["tokenizer.json"]["model"]["merges"]])
    yield "merges none", lambda files: files.json["tokenizer.json"]["model"].update(merges=[])

    def merges_txt(files):
        files.bytes["merges.txt"] = b"#version: 0.2\r\n" + "\r\n".join(
            " ".join(m) for m in files.json["tokenizer.json"]["model"]["merges"]).encode() + b"\r\n"
        files.json["tokenizer.json"]["model"]["merges"] = []
    yield "merges.txt with CRLF", merges_txt
    for value in (None, {"type": "Lowercase"}, {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "StripAccents"}]},
                  {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}):
        yield f"normalizer {value and value['type']}", field("tokenizer.json", "normalizer", to=value)
    for value in (None, {"type": "Fuse"}, {"type": "Sequence", "decoders": [{"type": "ByteLevel", "add_prefix_space": True,
                  "trim_offsets": True, "use_regex": True}, {"type": "Fuse"}]}):
        def with_decoder(files, value=value):
            files.json["tokenizer.json"]["decoder"] = value
            files.json["tokenizer.json"]["added_tokens"].append(new_token(1000, "Ġ1"))
        yield f"decoder {value and value['type']}", with_decoder
    A, B = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}
    S, E = ({"SpecialToken": {"id": t, "type_id": 0}} for t in ("<|vision_start|>", "<|im_end|>"))
    for name, single, pair in (("bos", [S, A], [S, A, S, B]), ("eos", [A, E], [A, E, B, E]), ("both", [S, A, E], [S, A, E, B, E]),
                               ("sep", [A], [A, E, B]), ("bos is eos", [E, A], [E, A, B]), ("other eos", [A, S], [A, S, B, S])):
        yield f"post-processor {name}", field("tokenizer.json", "post_processor", to={
            "type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": {
                t: {"id": t, "ids": [i], "tokens": [t]} for t, i in (("<|vision_start|>", 989), ("<|im_end|>", 987))}})
    yield "post-processor gone", field("tokenizer.json", "post_processor", to=None)
    yield "post-processor Roberta", field("tokenizer.json", "post_processor", to={
        "type": "RobertaProcessing", "sep": ["<|im_end|>", 987], "cls": ["<|vision_start|>", 989], "trim_offsets": True,
        "add_prefix_space": False})


TOKEN_VALUES = [None, "<|endoftext|>", "<|vision_end|>", "the", "<new>", {"__type": "AddedToken", "content": "<|vision_end|>", "special": True},
                {"content": "<|vision_end|>"}, "", 5]


def tokenizer_config_mutations(files):
    for key in files.json["tokenizer_config.json"]:
        yield f"tokenizer_config {key} gone", field("tokenizer_config.json", key, to=GONE)
    for key in ("bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "mask_token"):
        for value in TOKEN_VALUES:
            yield f"tokenizer_config {key} {json.dumps(value)}", field("tokenizer_config.json", key, to=value)
    for key in ("add_bos_token", "add_eos_token", "add_prefix_space", "add_sep_token", "clean_up_tokenization_spaces"):
        for value in (True, False, None):
            yield f"tokenizer_config {key} {value}", field("tokenizer_config.json", key, to=value)
    for key in ("additional_special_tokens", "extra_special_tokens"):
        for value in ([], ["<new>"], ["</tool_call>"], {"x_token": "<new>"}, None):
            yield f"tokenizer_config {key} {json.dumps(value)}", field("tokenizer_config.json", key, to=value)

    def decoder(change):
        def mutate(files):
            table = {str(t["id"]): {k: v for k, v in t.items() if k != "id"} for t in files.json["tokenizer.json"]["added_tokens"]}
            change(table)
            files.json["tokenizer_config.json"]["added_tokens_decoder"] = table
        return mutate
    yield "decoder table as tokenizer.json", decoder(lambda table: None)
    yield "decoder table new", decoder(lambda table: table.update({"1000": {"content": "Ġ1", "special": False, "normalized": False}}))
    yield "decoder table short entry", decoder(lambda table: table.update({"1000": {"content": "Ġ1"}}))
    yield "decoder table gap", decoder(lambda table: table.update({"1010": {"content": "x1", "special": True}}))
    yield "decoder table other flag", decoder(lambda table: table["995"].update(special=not table["995"]["special"]))
    yield "decoder table other text", decoder(lambda table: table["995"].update(content="<other>"))
    yield "decoder table fewer", decoder(lambda table: table.pop("995"))
    yield "tokenizer_config gone", lambda files: files.json.pop("tokenizer_config.json")
    yield "special_tokens_map.json", lambda files: files.json.update({"special_tokens_map.json": {
        "eos_token": "<|endoftext|>", "additional_special_tokens": ["</tool_call>"]}})
    yield "added_tokens.json", lambda files: files.json.update({"added_tokens.json": {"<more>": 1000}})
    yield "clean-up and token 'Ġ.'", lambda files: (
        files.json["tokenizer_config.json"].update(clean_up_tokenization_spaces=True),
        files.json["tokenizer.json"]["added_tokens"].append(new_token(1000, "Ġ.")))


def card_mutations(files):
    for name, text in {"plain": "# x\n", "CRLF": "---\r\nlicense: mit\r\nlanguage:\r\n- en\r\n---\r\n", "CR": "---\rlicense: mit\r---\r",
                       "tags": "---\ntags: [a, b]\npipeline_tag: text-generation\nbase_model:\n- Org/Base-7B\n---\n",
                       "name": "---\nmodel_name: My Model 3B\nmodel_creator: me\n---\n", "unclosed": "---\nlicense: mit\n",
                       "BOM": "\ufeff---\nlicense: mit\n---\n"}.items():
        yield f"card {name}", template(text.encode(), "README.md")


GROUPS = (config_mutations, generation_mutations, template_mutations, token_mutations, tokenizer_mutations, tokenizer_config_mutations,
          card_mutations)
# Mutations that do not depend on the family are tried with two models.
EVERY_MODEL = (config_mutations,)
TOKENIZER_MODELS = ("llama-micro", "qwen3-micro")


def mutations(model, files):
    yield "unchanged", lambda files: None
    for group in GROUPS:
        if group in EVERY_MODEL or model in TOKENIZER_MODELS:
            yield from group(files)


# ---- the models, with tokenizer classes that every transformers knows ----

def base_files(testdata, model):
    source = testdata / ("llama-micro" if model == "mistral-micro" else model)
    files = Files(source)
    if model == "mistral-micro":
        config = files.json["config.json"]
        config.update(architectures=["MistralForCausalLM"], model_type="mistral", sliding_window=None)
    names = files.json["tokenizer_config.json"]
    names["tokenizer_class"] = "PreTrainedTokenizerFast" if "qwen" not in model else "Qwen2TokenizerFast"
    names.pop("extra_special_tokens", None)
    return source, files


# ---- running both ----

def load_converter():
    import conversion
    import conversion.base as base
    conversion.load_all_models()
    for name in dir(base):
        if hasattr(getattr(base, name), "get_vocab_base_pre"):
            getattr(base, name).get_vocab_base_pre = lambda self, tokenizer: "qwen35"
    import transformers
    getattr(transformers, "PreTrainedTokenizerFast"), getattr(transformers, "Qwen2TokenizerFast")
    return transformers.__version__


def convert_in_child(folder, out, log):
    with open(log, "w") as sink:
        os.dup2(sink.fileno(), 1)
        os.dup2(sink.fileno(), 2)
    code = 1
    try:
        sys.argv = [ROOT + "/convert_hf_to_gguf.py", str(folder), "--outfile", str(out)]
        if "qwen35" in folder.name:
            sys.argv.append("--no-mtp")
        runpy.run_path(sys.argv[0], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        with contextlib.suppress(Exception):
            traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def converter(folder, out, log):
    child = os.fork()
    if child == 0:
        convert_in_child(folder, out, log)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def compare(ckpt, source, files, name, mutate, model, work):
    folder = work / "in" / model
    shutil.rmtree(folder.parent, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "model.safetensors").symlink_to(source / "model.safetensors")
    changed = copy.deepcopy(files)
    mutate(changed)
    changed.write(folder)
    theirs, ours = work / "theirs.gguf", work / "ours.gguf"
    for path in (theirs, ours):
        path.unlink(missing_ok=True)
    failed = converter(folder, theirs, work / "theirs.log")
    done = subprocess.run([ckpt, "convert", str(folder), str(ours), "-q"], capture_output=True, text=True)
    if done.returncode not in (0, 2):
        return "CRASH", f"exit {done.returncode}: {done.stderr}"
    if failed and done.returncode:
        return "both refuse", ""
    if failed:
        return "only theirs refuses", (work / "theirs.log").read_text().strip().splitlines()[-1][:160]
    if done.returncode:
        return "only ours refuses", done.stderr.strip()[:300]
    if theirs.read_bytes() == ours.read_bytes():
        return "same", ""
    return "DIFFERS", "; ".join(differences(theirs, ours))[:600]


def differences(theirs, ours):
    from gguf.gguf_reader import GGUFReader

    def read(path):
        reader = GGUFReader(path)
        return {k: (str(f.types), f.contents()) for k, f in reader.fields.items()}, [(t.name, t.shape.tolist()) for t in reader.tensors]
    (a, a_tensors), (b, b_tensors) = read(theirs), read(ours)
    for key in [*a, *(k for k in b if k not in a)]:
        if a.get(key) == b.get(key):
            continue
        x, y = a.get(key), b.get(key)
        if x and y and isinstance(x[1], list):
            x, y = ([f"{i}: {v}" for i, v in enumerate(p[1]) if i >= len(q[1]) or q[1][i] != v][:4] for p, q in ((x, y), (y, x)))
        yield f"{key}: theirs {str(x)[:120]} ours {str(y)[:120]}"
    if list(a) != list(b):
        yield "keys in another order"
    if a_tensors != b_tensors:
        yield "other tensors"


def main():
    ckpt, testdata, top = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3])
    patterns = sys.argv[4:] or ["*"]
    top.mkdir(parents=True, exist_ok=True)
    version = load_converter()
    counts, unexpected = {}, 0
    for model in MODELS:
        source, files = base_files(testdata, model)
        for name, mutate in mutations(model, files):
            full = f"{model}: {name}"
            if not any(fnmatch.fnmatchcase(full, p) for p in patterns):
                continue
            try:
                mutate(copy.deepcopy(files))
            except KeyError:
                continue    # this model has no such field
            result, detail = compare(ckpt, source, files, name, mutate, model, top)
            counts[result] = counts.get(result, 0) + 1
            if result in ("same", "both refuse"):
                continue
            why = next((w for p, w in DELIBERATE.items() if fnmatch.fnmatchcase(f"{full}: {result}", p)), None)
            unexpected += why is None
            print(f"{full}: {result}{'' if why is None else ' (' + why + ')'}: {detail}", flush=True)
    print(f"transformers {version}: {sum(counts.values())} mutations: {counts}; not expected: {unexpected}")
    sys.exit(unexpected > 0)


if __name__ == "__main__":
    main()
