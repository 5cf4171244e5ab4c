#!/usr/bin/env python3
"""Folders made from GGUFs in the real transformers: the tokenizer gives the source's ids, the configuration loads.

  gguf_to_folder_transformers.py CKPT TESTDATA          with a Python that has transformers (4.57 or 5), without torch

For each model of testdata with a tokenizer.json: folder -> GGUF -> folder, then 415 texts (emoji, combining marks, CJK, spaces,
special tokens, random ones) through both tokenizers. Exit 77 where transformers cannot be had.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
try:
    import transformers
except ImportError:
    print("missing: transformers")
    sys.exit(77)

TEXTS = ["Hello, world!", "naïve café e\u0301", "日本語のテキスト 漢字かな", "🙂👩\u200d👩\u200d👧 emoji", "<|im_start|>user\nhi<|im_end|>",
         "</s><s>[INST] x [/INST]", "1234567 12 3.14", "don't DON'T I'll we've", "\r\n\r\n mixed\r", "ÀÉÎõü ß ſ", "العربية עברית हिन्दी",
         "a_b-c/d\\e{f}[g]", "<bos><start_of_turn>user\nx<end_of_turn>", "\u200b\ufeff\u00a0nbsp", "x  and   multiple spaces\n\n\tx"]
# Not here: Kimi's, whose tokenizer is code of its repository; folders with tokenizer.model alone and TinyLlama's, which get one
# more space before texts that begin with one (docs/FAMILIES.md).
MODELS = ["cohere", "cohere2", "deepseek-v2", "deepseek-v3", "ernie45", "ernie45-moe", "exaone4", "gemma", "gemma2",
          "gemma3", "gemma3-vl", "gemma4", "gemma4-vl", "glm-moe-dsa", "glm4", "glm4-moe", "glm4-moe-lite", "gpt-neox", "gpt-oss",
          "granite", "granite-moe-shared", "granite4", "granite4-h", "lfm2", "lfm2-moe", "llama4", "minimax-m2", "ministral3", "mistral3",
          "mixtral", "nemotron-h", "olmo", "olmo2", "olmo3", "olmoe", "phi2", "phi3", "phimoe", "qwen2-moe", "qwen25-vl",
          "qwen3-moe", "qwen3-next", "qwen3-vl", "qwen3-vl-moe", "qwen35-vl", "seed-oss", "smollm3", "stablelm", "starcoder2"]

# Sources read by other rules than their tokenizer.json's, with other ids.
NOT_IN_5 = {"starcoder2": "GPT2Tokenizer, which its tokenizer_config.json names, does not split digits in transformers 5"}


def texts():
    choose = random.Random(1)
    pool = "abcdefghij ABC  \n\t0123456789.,;:!?'\"-_/éüñ日本語漢字🙂ا ע"
    return TEXTS + ["".join(choose.choice(pool) for _ in range(choose.randint(1, 60))) for _ in range(400)]


def sources(testdata):
    for name in MODELS:
        if name in NOT_IN_5 and transformers.__version__ >= "5":
            continue
        pre = testdata / "families" / name / "PRE"
        yield testdata / "families" / name / "hf", ["--tokenizer-pre", pre.read_text().strip()] if pre.exists() else []
    for name in ["llama-micro", "qwen3-micro", "qwen35-micro", "qwen35moe-micro"]:
        yield testdata / name, []


def main():
    ckpt, testdata, problems = sys.argv[1], pathlib.Path(sys.argv[2]), 0
    with tempfile.TemporaryDirectory() as scratch:
        for number, (source, options) in enumerate(sources(testdata)):
            gguf, back = f"{scratch}/{number}.gguf", f"{scratch}/{number}"
            for command in ([source, gguf, *options], [gguf, back]):
                subprocess.run([ckpt, "convert", *map(str, command)], check=True, capture_output=True)
            try:
                ours = transformers.AutoTokenizer.from_pretrained(back)
                theirs = transformers.AutoTokenizer.from_pretrained(source)
                different = [text for text in texts() if ours(text)["input_ids"] != theirs(text)["input_ids"]]
                if transformers.__version__ >= "5":  # 4.57 does not know the newer classes
                    transformers.AutoConfig.from_pretrained(back)
            except (ValueError, OSError) as error:
                if "not recognize" in str(error) or "does not exist" in str(error):
                    print(f"{source}: this transformers does not know it")
                    continue
                raise
            print(f"{source}: {len(different)} of {len(texts())} texts have other ids")
            problems += bool(different)
    return problems != 0


sys.exit(main())
