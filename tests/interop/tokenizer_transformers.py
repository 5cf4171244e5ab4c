#!/usr/bin/env python3
"""Tokenizers that transformers 5 saved, fixed by ckpt: transformers 4.57 loads them and gives the ids that 5 gave.

usage: tokenizer_transformers.py CKPT
       CKPT_TRANSFORMERS_457, CKPT_TRANSFORMERS_5: pythons that have transformers 4.57 and 5.17

For every case a folder is made and saved by the real transformers 5: a tokenizer trained here on texts where
combining marks and digits matter, a configuration, an embedding. Then `ckpt convert IN OUT --step tokenizer:...`,
and both pythons read OUT. Wanted: ids on TEXTS, decoded text without special tokens, and the set of special tokens,
all as transformers 5 gave them for IN; a second run of the step changes no file; Qwen's processor of 4.57 takes the
tokenizer (if that python has torchvision).
Exits 77, saying "peer missing", when a python is not given or is of another version.
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

TEXTS = [
    "Hello, world! It's 2024; we've paid $1,234,567.89 (about 3.5%).",
    "नमस्ते हिन्दी भाषा का परिचय। ก็มีที่ สวัสดี ประเทศไทย",
    "e\u0301tude re\u0301sume\u0301 naïve Việt Nam Tiê\u0301ng a\u0308o\u0308",
    "עִבְרִית שָׁלוֹם العَرَبِيَّة ٣٤٥٦ ۴۵۶ 你好，世界 日本語 한국어 ﷺ ﬁ Ⅷ ½ ²³",
    "😀👩‍👩‍👧 🏳️‍🌈 1\u20e3 🇩🇪 \U0001d7d8 \u200b\u00a0\ufeff x",
    "def f(a_b, *c):\n\treturn {'k': a_b[0]}  # note\r\n\r\n    if x != 3:\n\n\n        pass\n",
    "   leading and trailing   \t\t \n \n  ",
    "<|im_start|>user\nhi <think> plan </think><|im_end|>\n<|image_pad|> <|endoftext|><s></s><bos>",
    "<|im_start |> < think> <unk> [INST] ' 's 'LL 'Ve don'T",
    "", " ", "a", "\n",
]

# ---- run by the pythons ----

MAKE = r'''
import json, sys
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
import transformers
from transformers import AutoTokenizer, PreTrainedTokenizerFast
C = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|"
TAIL = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
SPLITS = {
    "qwen35": C + r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*" + TAIL,
    "qwen2": C + r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*" + TAIL,
    "llama3": C + r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + TAIL,
}
CHAT = ["<|im_end|>", "<|endoftext|>", "<|im_start|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
def byte_level(rules):
    t = Tokenizer(models.BPE(ignore_merges=rules == "llama3"))
    if rules != "llama3" and rules != "gpt2": t.normalizer = normalizers.NFC()
    if rules == "gpt2":
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=job.get("prefix_space", False))
    else:
        t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(SPLITS[rules]), "isolated"),
                                                   pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(job["texts"] * 40, trainers.BpeTrainer(vocab_size=1200, show_progress=False,
                          initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))
    t.add_special_tokens([AddedToken(x, special=True, normalized=False) for x in CHAT])
    t.add_tokens([AddedToken(x, special=False, normalized=False) for x in ["<think>", "</think>"]])
    return t, {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
def pieces(kind):   # as SentencePiece models become: words start with a bar, bytes are tokens
    first = ["<unk>", "<s>", "</s>"] if kind == "llama2" else ["<pad>", "<eos>", "<bos>", "<unk>"]
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if kind == "llama2": t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    else: t.normalizer = normalizers.Replace(" ", "▁")
    t.train_from_iterator(job["texts"] * 40, trainers.BpeTrainer(vocab_size=900, show_progress=False,
                          special_tokens=first + [f"<0x{i:02X}>" for i in range(256)]))
    state = json.loads(t.to_str())
    state["added_tokens"] = [x for x in state["added_tokens"] if not x["content"].startswith("<0x")]
    t = Tokenizer.from_str(json.dumps(state))
    strip = [decoders.Strip(" ", 1, 0)] if kind == "llama2" else []
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()] + strip)
    bos, eos = ("<s>", "</s>") if kind == "llama2" else ("<bos>", "<eos>")
    t.post_processor = processors.TemplateProcessing(single=f"{bos} $A", pair=f"{bos} $A {bos}:1 $B:1", special_tokens=[(bos, t.token_to_id(bos))])
    special = {"bos_token": bos, "eos_token": eos, "unk_token": "<unk>"}
    if kind == "gemma": special["pad_token"] = "<pad>"
    return t, special
for job in json.load(open(sys.argv[1])):
    rules = job["rules"]
    t, special = pieces(rules) if rules in ("llama2", "gemma") else byte_level(rules)
    if job.get("bos"):
        special["bos_token"] = "<|im_start|>"
        t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
            single="<|im_start|> $A", pair="<|im_start|> $A <|im_start|>:1 $B:1", special_tokens=[("<|im_start|>", t.token_to_id("<|im_start|>"))])])
    out = job["folder"]
    plain = PreTrainedTokenizerFast(tokenizer_object=t, **special)
    if "<|im_end|>" in plain.get_vocab():
        plain.add_special_tokens({"extra_special_tokens": CHAT[3:]})
    plain.save_pretrained(out)
    if job.get("class"):   # as that class of transformers 5 builds and saves it
        own = getattr(transformers, job["class"]).from_pretrained(out)
        own.save_pretrained(out)
    config = json.load(open(out + "/tokenizer_config.json"))
    config.update(job.get("add", {}))
    json.dump(config, open(out + "/tokenizer_config.json", "w"), indent=2, ensure_ascii=False)
'''

READ = r'''
import importlib.util, json, os, sys
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import transformers
from transformers import AutoTokenizer
folders, texts = json.load(open(sys.argv[1]))
out = {}
for folder in folders:
    try:
        t = AutoTokenizer.from_pretrained(folder)
        ids = [t(x)["input_ids"] for x in texts]
        out[folder] = {"class": type(t).__name__, "ids": ids, "pair": t(texts[0], texts[1])["input_ids"],
                       "plain": [t(x, add_special_tokens=False)["input_ids"] for x in texts],
                       "text": [t.decode(x, skip_special_tokens=True, clean_up_tokenization_spaces=False) for x in ids],
                       "special": sorted({str(x) for x in t.all_special_tokens}),
                       "eos": t.eos_token_id, "pad": t.pad_token_id, "bos": t.bos_token_id}
        if os.path.exists(folder + "/preprocessor_config.json") and transformers.__version__.startswith("4."):
            if importlib.util.find_spec("torchvision") is None:
                out[folder]["processor"] = "not tried"
                continue
            p = transformers.Qwen3VLProcessor.from_pretrained(folder, tokenizer=t)
            out[folder]["processor"] = type(p).__name__
    except Exception as e:
        out[folder] = {"error": f"{type(e).__name__}: {e}"[:300]}
json.dump(out, open(sys.argv[2], "w"))
'''

# ---- cases ----

TEXT_ONLY = {"architectures": ["Qwen3_5ForCausalLM"], "model_type": "qwen3_5_text"}
WRAPPED = {"architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5",
           "text_config": {"model_type": "qwen3_5_text"}, "vision_config": {"model_type": "qwen3_5"}}


def causal(model_type, name):
    return {"architectures": [f"{name}ForCausalLM"], "model_type": model_type}


QWEN2, QWEN3, LLAMA = causal("qwen2", "Qwen2"), causal("qwen3", "Qwen3"), causal("llama", "Llama")
MISTRAL, GEMMA, GPT2 = causal("mistral", "Mistral"), causal("gemma3_text", "Gemma3"), {"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2"}
QWEN3_VL = {"architectures": ["Qwen3VLForConditionalGeneration"], "model_type": "qwen3_vl",
            "text_config": {"model_type": "qwen3_vl_text"}, "vision_config": {"model_type": "qwen3_vl"}}
MOE = {"architectures": ["Qwen3_5MoeForCausalLM"], "model_type": "qwen3_5_moe_text"}

CASES = {
    # name: rules of tokenizer.json, class of transformers 5 that saved it ("": TokenizersBackend), config.json
    "qwen35-text": dict(rules="qwen35", cls="Qwen3_5Tokenizer", config=TEXT_ONLY),
    "qwen35-text-backend": dict(rules="qwen35", config=TEXT_ONLY),
    "qwen35-vl": dict(rules="qwen35", cls="Qwen3_5Tokenizer", config=WRAPPED, processor=True),
    "qwen35-vl-backend": dict(rules="qwen35", config=WRAPPED, processor=True),
    "qwen35-moe": dict(rules="qwen35", cls="Qwen3_5Tokenizer", config=MOE),
    "qwen2": dict(rules="qwen2", cls="Qwen2Tokenizer", config=QWEN2),
    "qwen2-backend": dict(rules="qwen2", config=QWEN2),
    "qwen3-backend": dict(rules="qwen2", config=QWEN3),
    "qwen3-vl-backend": dict(rules="qwen2", config=QWEN3_VL, processor=True),
    "qwen3-own-rules": dict(rules="qwen35", cls="Qwen3_5Tokenizer", config=QWEN3),
    "qwen3-slow": dict(rules="qwen2", config=QWEN3, options=",slow=yes"),
    "llama3": dict(rules="llama3", config=LLAMA, bos=True),
    "llama-qwen35": dict(rules="qwen35", cls="Qwen3_5Tokenizer", config=LLAMA),
    "llama2": dict(rules="llama2", cls="LlamaTokenizer", config=LLAMA),
    "llama2-backend": dict(rules="llama2", config=LLAMA),
    "mistral-backend": dict(rules="llama3", config=MISTRAL, bos=True),
    "mistral-pieces": dict(rules="llama2", cls="LlamaTokenizer", config=MISTRAL),
    "gemma": dict(rules="gemma", cls="GemmaTokenizer", config=GEMMA),
    "gemma-backend": dict(rules="gemma", config=GEMMA),
    "gpt2": dict(rules="gpt2", cls="GPT2Tokenizer", config=GPT2),
    "gpt2-backend": dict(rules="gpt2", config=LLAMA),
    "gpt2-prefix-space": dict(rules="gpt2", config=LLAMA, prefix_space=True),
    "processor-of-llama": dict(rules="llama2", config={"architectures": ["LlavaNextVideoForConditionalGeneration"], "model_type": "llava_next_video"}),
    "named-tokens": dict(rules="qwen35", cls="Qwen3_5Tokenizer", config=TEXT_ONLY,
                         add={"model_specific_special_tokens": {"image_token": "<|image_pad|>"}, "extra_special_tokens": None}),
}
PROCESSOR = {"image_processor_type": "Qwen2VLImageProcessor", "patch_size": 16, "temporal_patch_size": 2, "merge_size": 2,
             "size": {"shortest_edge": 65536, "longest_edge": 16777216}, "processor_class": "Qwen3VLProcessor"}


def python(variable, version):
    path = os.environ.get(variable, "")
    try:
        found = subprocess.run([path, "-c", "import transformers; print(transformers.__version__)"], capture_output=True,
                               text=True, check=True).stdout.split()[-1]
    except (OSError, subprocess.CalledProcessError, IndexError):
        print(f"peer missing: a python with transformers {version} (set {variable})")
        sys.exit(77)
    if not found.startswith(version):
        print(f"peer missing: {variable} has transformers {found}; expected {version}")
        sys.exit(77)
    return path


def write_weights(folder, rows):
    """An embedding of zeros in safetensors, with as many rows as there are ids."""
    header = json.dumps({"model.embed_tokens.weight": {"dtype": "BF16", "shape": [rows, 4], "data_offsets": [0, rows * 8]}}).encode()
    header += b" " * (-len(header) % 8)
    with open(f"{folder}/model.safetensors", "wb") as f:
        f.write(struct.pack("<Q", len(header)) + header + bytes(rows * 8))


def prepare(work, name, case):
    folder = f"{work}/{name}"
    os.mkdir(folder)
    config = dict(case["config"])
    if "text_config" not in config:
        config.update(vocab_size=4096)
    json.dump(config, open(f"{folder}/config.json", "w"), indent=2)
    write_weights(folder, 4096)
    if case.get("processor"):
        json.dump(PROCESSOR, open(f"{folder}/preprocessor_config.json", "w"))
        video = dict(PROCESSOR, video_processor_type="Qwen3VLVideoProcessor")
        json.dump(video, open(f"{folder}/video_preprocessor_config.json", "w"))
    return {"rules": case["rules"], "class": case.get("cls", ""), "folder": folder, "texts": TEXTS, "bos": case.get("bos"),
            "prefix_space": case.get("prefix_space", False), "add": case.get("add", {})}


def make(v5, work, cases):
    jobs = {name: prepare(work, name, case) for name, case in cases.items()}
    json.dump(list(jobs.values()), open(f"{work}/jobs.json", "w"))
    done = subprocess.run([v5, "-c", MAKE, f"{work}/jobs.json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"transformers 5 did not make them\n{done.stderr[-1500:]}")
    return {name: job["folder"] for name, job in jobs.items()}


def read(peer, work, folders):
    json.dump([folders, TEXTS], open(f"{work}/read.json", "w"))
    done = subprocess.run([peer, "-c", READ, f"{work}/read.json", f"{work}/said.json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{peer} failed\n{done.stderr[-1500:]}")
    return json.load(open(f"{work}/said.json"))


def convert(ckpt, source, out, step):
    done = subprocess.run([ckpt, "convert", source, out, "--step", step], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"ckpt convert --step {step} {source}: {done.stderr}")
    return [line for line in done.stderr.splitlines() if "tokenizer" in line]


def documents(folder):
    return {name: open(f"{folder}/{name}", "rb").read() for name in sorted(os.listdir(folder))}


def compare(name, before, v4, v5, wants_processor):
    problems = []
    if "error" in before:
        return [f"transformers 5 did not read it before: {before['error']}"]
    for peer, said in (("4.57", v4), ("5", v5)):
        if "error" in said:
            problems.append(f"{peer}: {said['error']}")
            continue
        for what in ("ids", "plain", "pair", "text", "eos", "pad", "bos", "special"):
            if said[what] != before[what]:
                at = ""
                if isinstance(said[what], list) and what in ("ids", "plain", "text"):
                    i = next(i for i, pair in enumerate(zip(said[what], before[what])) if pair[0] != pair[1])
                    at = f" at {TEXTS[i]!r}: {said[what][i]} was {before[what][i]}"
                else:
                    at = f": {said[what]} was {before[what]}"
                problems.append(f"{peer} ({said['class']}): other {what}{at}"[:600])
        if wants_processor and peer == "4.57" and said["processor"] == "not tried":
            print(f"{name}: its processor was not tried, because that python has no torchvision")
    return problems


def main():
    ckpt = os.path.abspath(sys.argv[1])
    only = sys.argv[2:]
    v4, v5 = python("CKPT_TRANSFORMERS_457", "4.57."), python("CKPT_TRANSFORMERS_5", "5.")
    work = tempfile.mkdtemp(prefix="ckpt-tokenizers-")
    cases = {name: case for name, case in CASES.items() if not only or name in only}
    try:
        folders = make(v5, work, cases)
        before = read(v5, work, list(folders.values()))
        refused = read(v4, work, list(folders.values()))
        fixed, notes, problems = {}, {}, {}
        for name, case in cases.items():
            fixed[name] = f"{work}/{name}-fixed"
            step = "tokenizer:for=transformers-4.57" + case.get("options", "")
            notes[name] = convert(ckpt, folders[name], fixed[name], step)
            convert(ckpt, fixed[name], f"{work}/{name}-again", step)
            problems[name] = [] if documents(fixed[name]) == documents(f"{work}/{name}-again") else ["a second run changed files"]
        now4, now5 = read(v4, work, list(fixed.values())), read(v5, work, list(fixed.values()))
        for name, case in cases.items():
            out = fixed[name]
            problems[name] += compare(name, before[folders[name]], now4[out], now5[out], case.get("processor"))
            was = "refused" if "error" in refused[folders[name]] else "read"
            print(f"{name}: 4.57 {was} it before; {'ok' if not problems[name] else 'WRONG'}, class "
                  f"{json.load(open(out + '/tokenizer_config.json'))['tokenizer_class']}", flush=True)
            for problem in problems[name]:
                print(f"  {problem}")
        count = sum(1 for found in problems.values() if found)
        print(f"{len(cases)} tokenizers, {count} wrong")
        sys.exit(1 if count else 0)
    finally:
        shutil.rmtree(work, ignore_errors=True)


main()
