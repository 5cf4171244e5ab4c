"""How the rules of known pre-tokenizers cut llama.cpp's check text: prints the lines "pieces" of data/pretokenizers.txt.

usage: python make_pieces.py LLAMA_CPP_SOURCE       needs: tokenizers
Names of the rows are those of kSignatures in transforms/to_gguf/tokenizer/pre.cc.
"""
import ast
import json
import pathlib
import re
import sys
import unicodedata

from tokenizers import Tokenizer

CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r"\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
LOWER = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
GPT4O = UPPER + CONTRACTION + "?|" + LOWER + CONTRACTION + r"?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + TAIL
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
WORDS = {**BYTES, "use_regex": True}
DIGIT = {"type": "Digits", "individual_digits": True}
RULES = {
    "qwen2": [CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + TAIL, BYTES],
    "qwen35": [CONTRACTION + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + TAIL, BYTES],
    "llama-bpe": [CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + TAIL, BYTES],
    "tekken": [UPPER + "|" + LOWER + r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + TAIL, BYTES],
    "gpt-4o": [GPT4O, BYTES],
    "tiny_aya": [r"\d{1,3}(?=(?:\d{3})*\b)", GPT4O, BYTES],
    "deepseek-v3": [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
                    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|""" + TAIL, BYTES],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", DIGIT, BYTES],
    "seed-coder": [CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|" + TAIL, BYTES],
    "bailingmoe": [r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+", BYTES],
    "minicpm5": [r"\p{N}{1,3}", CONTRACTION + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|" + TAIL, BYTES],
    "ufakzeka": [r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + TAIL, BYTES],
    "falcon": [{"type": "Punctuation", "behavior": "Contiguous"}, WORDS, {"type": "Digits", "individual_digits": False}, "[0-9][0-9][0-9]"],
    "starcoder": [DIGIT, WORDS],
    "gpt-2": [WORDS],
}


def lengths(rules, text):
    steps = [r if isinstance(r, dict) else {"type": "Split", "pattern": {"Regex": r}, "behavior": "Isolated", "invert": False} for r in rules]
    model = {"type": "BPE", "vocab": {}, "merges": [], "unk_token": None, "dropout": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False}
    tokenizer = Tokenizer.from_str(json.dumps({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
                                               "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}, "post_processor": None,
                                               "decoder": None, "model": model}))
    pieces = tokenizer.pre_tokenizer.pre_tokenize_str(text)
    # Behind ByteLevel a character is a byte.
    out = [len(piece) for piece, _ in pieces]
    assert sum(out) == len(text.encode())
    return out


source = (pathlib.Path(sys.argv[1]) / "conversion/base.py").read_text()
text = ast.literal_eval(re.search(r"chktxt = ('.*')\n", source).group(1))
assert unicodedata.normalize("NFC", text) == text
names = {}  # by the lengths
for name, rules in RULES.items():
    names.setdefault(" ".join(map(str, lengths(rules, text))), []).append(name)
for numbers, alike in names.items():
    print(f"pieces {' '.join(alike)}: {numbers}")
