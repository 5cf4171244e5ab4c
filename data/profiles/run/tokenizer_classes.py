#!/usr/bin/env python3
"""Prints the sections of a profile about tokenizer classes: which rules transformers 5 makes of each instead of those in
tokenizer.json.

usage: tokenizer_classes.py      where transformers 5 is installed

Every class that a tokenizer_class can name loads five small tokenizers, trained here, one of each kind:

  bytes     BPE of bytes as letters          prefixed  BPE of pieces, a bar before each text, as Llama 2
  unigram   pieces with scores               bare      BPE of pieces, no bar before a text, as Gemma
  words     WordPiece, as BERT

  [tokenizer classes that refuse KIND]       the class raises
  [tokenizer classes that change KIND]       plain words get other ids than tokenizer.json says, by rules of another kind
  [tokenizer classes that may change KIND]   not known: these ids differ by rules of that kind, or the class asks for more
  [tokenizer classes that change edges of KIND]   only texts that start with a space get other ids
  [tokenizer classes that follow add_prefix_space]   with false they keep "bare", which they change otherwise
  [tokenizer classes of other files]         do not read tokenizer.json
  [tokenizer classes that refuse null add_prefix_space]
  [tokenizer pre_tokenizer JSON]             the classes that build this one for bytes, whatever the file has
  [tokenizer class CLASS]                    the model types that have it
  [tokenizer class by model type]            these go by it, whatever tokenizer_class says
"""
import collections
import inspect
import json
import os
import re
import tempfile
import textwrap

import tokenizers
import transformers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers
from transformers.models.auto import tokenization_auto as auto

TEXTS = ["Hello world", "the model reads a text"]
EDGES = [" world", "  the model"]
LINES = ["Hello world, the model reads a text.", "We have a text of the model.", "The world reads."] * 40
SPECIAL = ["<unk>", "<s>", "</s>", "<pad>", "<mask>", "[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]


def of_bytes(tokens):
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    return made, trainers.BpeTrainer(vocab_size=400, special_tokens=tokens, initial_alphabet=letters, show_progress=False)


def of_pieces(tokens, is_prefixed):
    made = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    bars = [normalizers.Replace(" ", "▁")]
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁")] + bars) if is_prefixed else bars[0]
    made.pre_tokenizer = None if is_prefixed else pre_tokenizers.Split(" ", "merged_with_previous")
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return made, trainers.BpeTrainer(vocab_size=120, special_tokens=tokens, show_progress=False)


def of_scores(tokens):
    made = tokenizers.Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    return made, trainers.UnigramTrainer(vocab_size=60, special_tokens=tokens, unk_token="<unk>", show_progress=False)


def of_words(tokens):
    made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    return made, trainers.WordPieceTrainer(vocab_size=120, special_tokens=tokens, show_progress=False)


KINDS = {"bytes": of_bytes, "prefixed": lambda tokens: of_pieces(tokens, True),
         "bare": lambda tokens: of_pieces(tokens, False), "unigram": of_scores, "words": of_words}


def write(kind, folder, name, more=()):
    usual = {"words": ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"], "bytes": []}.get(kind, ["<unk>", "<s>", "</s>"])
    made, trainer = KINDS[kind](usual + [each for each in more if each not in usual])
    made.train_from_iterator(LINES, trainer)
    made.save(folder + "/tokenizer.json")
    for file, content in {"tokenizer_config": {"tokenizer_class": name}, "config": {"model_type": "zz"}}.items():
        with open(f"{folder}/{file}.json", "w", encoding="utf-8") as out:
            json.dump(content, out)
    return made


def kind_of(rules):
    """As the doctor tells it of a tokenizer.json (checks/tokenizer/class_rules.cc)."""
    model, rest = rules["model"]["type"], json.dumps([rules["normalizer"], rules["pre_tokenizer"]], ensure_ascii=False)
    if model != "BPE":
        return {"WordPiece": "words", "Unigram": "unigram"}.get(model, "other")
    if rules["model"].get("end_of_word_suffix"):
        return "other"
    if '"ByteLevel"' in rest:
        return "bytes"
    if '"Prepend"' in rest or ('"Metaspace"' in rest and '"never"' not in rest):
        return "prefixed"
    return "bare" if "▁" in rest else "other"


def outcome(cls, name, kind, more=(), **fields):
    """"refuse", "ask", "change", "edges", or the pre-tokenizer as JSON"""
    with tempfile.TemporaryDirectory() as folder:
        file = write(kind, folder, name, more)
        try:
            loaded = cls.from_pretrained(folder, **fields)
        except ImportError:
            return "ask"
        except Exception:
            return "refuse"
        for texts, word in (TEXTS, "change"), (EDGES, "edges"):
            try:
                ids = [loaded(text, add_special_tokens=False)["input_ids"] for text in texts]
            except Exception:
                return "ask"
            if ids != [file.encode(text, add_special_tokens=False).ids for text in texts]:
                is_like_it = word == "change" and kind_of(json.loads(loaded._tokenizer.to_str())) == kind
                return "ask" if is_like_it else word
        rules = json.loads(loaded._tokenizer.to_str())["pre_tokenizer"]
        return json.dumps(rules, sort_keys=True, separators=(",", ":")).replace(" ", "\\u0020").replace(";", "\\u003b")


def resolve(name):
    """The class, or None for one whose packages are not installed."""
    try:
        cls = auto.tokenizer_class_from_name(name)
        return cls if isinstance(cls, type) and callable(cls.from_pretrained) else None
    except (ImportError, AttributeError):
        return None


def named_tokens(cls):
    """Tokens that constructors name, and those of all classes."""
    values = [each.default for each in inspect.signature(cls.__init__).parameters.values()]
    return SPECIAL + [value for value in values if isinstance(value, str) and re.fullmatch(r"<.+>|\[.+\]", value)]


def look(name, cls, sections):
    if not issubclass(cls, transformers.TokenizersBackend):
        sections["tokenizer classes of other files"].add(name)
        return
    tokens = named_tokens(cls)
    found = {kind: [outcome(cls, name, kind), outcome(cls, name, kind, tokens)] for kind in KINDS}
    is_never_made = all(each == ["refuse", "refuse"] for each in found.values())
    for kind, both in found.items():
        if both == ["refuse", "refuse"] and not is_never_made:
            sections[f"tokenizer classes that refuse {kind}"].add(name)
        elif "change" in both:
            sections[f"tokenizer classes that change {kind}"].add(name)
        elif "edges" in both:
            sections[f"tokenizer classes that change edges of {kind}"].add(name)
        elif "refuse" in both or "ask" in both:
            sections[f"tokenizer classes that may change {kind}"].add(name)
        elif kind == "bytes" and "__init__" in cls.__dict__ and cls is not transformers.TokenizersBackend:
            sections[f"tokenizer pre_tokenizer {both[0]}"].add(name)
    changes_bare = name in sections["tokenizer classes that change bare"]
    if changes_bare and outcome(cls, name, "bare", tokens, add_prefix_space=False).startswith(("null", "{", "edges")):
        sections["tokenizer classes that follow add_prefix_space"].add(name)
    loads = [kind for kind in KINDS if outcome(cls, name, kind, tokens) not in ("refuse", "ask")]
    if loads and outcome(cls, name, loads[0], tokens, add_prefix_space=None) == "refuse":
        sections["tokenizer classes that refuse null add_prefix_space"].add(name)


transformers.logging.set_verbosity(transformers.logging.CRITICAL)
os.environ["TOKENIZERS_PARALLELISM"] = "false"
sections = collections.defaultdict(set)
for model_type, name in auto.TOKENIZER_MAPPING_NAMES.items():
    if name:
        sections[f"tokenizer class {name.removesuffix('Fast')}"].add(model_type)
sections["tokenizer class by model type"] = auto.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS
names = {name for name in dir(transformers) if name.endswith(("Tokenizer", "TokenizerFast"))}
names |= {name for name in auto.TOKENIZER_MAPPING_NAMES.values() if name}
for name in sorted({name.removesuffix("Fast") for name in names} - {"AutoTokenizer", "PreTrainedTokenizer"}):
    cls = resolve(name)
    if cls is not None:
        look(name, cls, sections)
for name, words in sorted(sections.items()):
    print(f"\n[{name}]")
    print(textwrap.fill(" ".join(sorted(words)), 118, break_long_words=False, break_on_hyphens=False))
