#!/usr/bin/env python3
"""Holds the keys of the doctor's tables (models/gguf), and the types of keys (models/gguf_keys.cc), to what the real
library's loaders read.

usage: gguf_keys_read.py ROOT LIB      LIB as get_llama_cpp.sh puts it there; needs objdump

The loader of each architecture calls get_key<TYPE>(number of the key, ...): the calls are read from the library's code,
the names of the numbers and the class of each architecture are asked of the library. Prints keys that a loader reads
and its table lacks, and keys of another type; exits 1 if there is one that is not in CONDITIONAL, which the doctor checks elsewhere or not at all.
"""
import ctypes
import os
import pathlib
import re
import subprocess
import sys

CONDITIONAL = {
    "exaone4.rope.freq_base_swa",                                           # gguf_keys.cc
    "deepseek2.attention.q_lora_rank", "mistral4.attention.q_lora_rank",    # gguf_numbers.cc
    "ernie4_5.expert_feed_forward_length", "ernie4_5.expert_shared_feed_forward_length",  # of ernie4_5-moe
    "ernie4_5.interleave_moe_layer_step", "ernie4_5.leading_dense_block_count"}
COMMON_CONDITIONAL = {"rope.scale_linear", "features_length", "posnet.embedding_length", "posnet.block_count",
                      "convnext.embedding_length", "convnext.block_count"}
BASE = "llama_model_base::load_hparams"
LETTERS = {"float": "f", "bool": "b", "unsigned int": "u"}
NORM = "attention.layer_norm_rms_epsilon!"  # of a row that names none
PARENTS = {"ernie4_5_moe": "ernie4_5", "nemotron_h_moe": "nemotron_h", "mistral4": "deepseek2", "hunyuan_dense": "hunyuan_vl"}


def asked(ask):
    """What `ask` returns in a process of its own, which the library may end; None then"""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.write(write, ask().encode())
        os._exit(0)
    os.close(write)
    text = os.read(read, 4096).decode()
    os.close(read)
    return text if os.waitpid(child, 0)[1] == 0 else None


class Library:
    def __init__(self, folder):
        os.environ["GGML_NO_BACKTRACE"] = "1"
        self.path = next(pathlib.Path(folder).glob("libllama.v*.so"))
        for name in ("libggml-base.so", next(pathlib.Path(folder).glob("libggml.v*.so")).name):
            ctypes.CDLL(str(pathlib.Path(folder) / name), mode=ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(str(self.path))
        self.kv = (ctypes.c_char * 64)()
        self.function("_ZN6LLM_KVC1E8llm_archPKc", None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)(self.kv, 0, None)
        self.params = (ctypes.c_char * 1024)()
        self.function("llama_model_default_params", None, ctypes.c_void_p)(self.params)

    def function(self, name, result, *arguments):
        made = self.library[name]
        made.restype, made.argtypes = result, list(arguments)
        return made

    def key_name(self, number):
        text = (ctypes.c_char * 32)()
        self.function("_ZNK6LLM_KVclB5cxx11E6llm_kv", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
                      ctypes.c_int)(text, self.kv, number)
        start, size = ctypes.cast(text, ctypes.POINTER(ctypes.c_uint64))[:2]
        return ctypes.string_at(start, size).decode()

    def class_name(self, number):
        create = self.function("_Z18llama_model_create8llm_archRK18llama_model_params", ctypes.c_void_p, ctypes.c_int,
                               ctypes.c_void_p)
        word = lambda at: ctypes.cast(at, ctypes.POINTER(ctypes.c_uint64))[0]
        table = word(create(number, self.params))
        return re.sub(r"^\d+llama_model_", "", ctypes.string_at(word(word(table - 8) + 8)).decode())

    def architectures(self):
        name = self.function("_Z13llm_arch_name8llm_arch", ctypes.c_char_p, ctypes.c_int)
        for number in range(400):
            if (name(number) or b"(unknown)") == b"(unknown)":
                return
            yield name(number).decode(), asked(lambda: self.class_name(number))

    def reads(self):
        """function -> (number of a key that it reads, letter of its type in gguf_keys.cc or "")"""
        out, name, number = {}, "", None
        code = subprocess.run(["objdump", "-dC", "--no-show-raw-insn", self.path], capture_output=True, text=True, check=True)
        for line in code.stdout.splitlines():
            if start := re.match(r"[0-9a-f]+ <(.*)>:$", line):
                name, number = start[1].split("(")[0], None
            elif value := re.search(r"\tmov +\$0x([0-9a-f]+),%esi", line):
                number = int(value[1], 16)
            elif call := re.search(r"\t(?:call|jmp) .*<.*llama_model_loader::get_((?:key|arr)[a-z_]*)(?:<(\w+[ \w]*)>)?[<(]", line):
                if number is not None:
                    out.setdefault(name, set()).add((number, LETTERS.get(call[2], "") if call[1] == "key" else ""))
                number = None
        return out


def tables(root):
    """architecture -> keys of its table; and those of all"""
    own = {}
    for path in (root / "models/gguf").glob("*.cc"):
        text = path.read_text()
        texts = lambda code: "".join(re.findall(r'"([^"]*)"', code))
        named = {name: texts(code) for name, code in re.findall(r'string_view (k\w+) =\s*((?:"[^"]*"\s*)+);', text)}
        for row in re.split(r"\{\.names = ", text)[1:]:
            words = ""
            for field, absent in (("norm", NORM), ("keys", "")):
                found = re.search(r'\.%s = ((?:"[^"]*"\s*)+|k\w+)' % field, row)
                words += " " + (named.get(found[1]) or texts(found[1]) if found else absent)
            keys = {word.split(":")[0].rstrip("!").lstrip("/") for word in words.split()}
            own |= {name: keys for name in texts(row[:row.index(",")]).split()}
        if "kGgufCommonKeys" in named:
            common = {word.rstrip("!") for word in named["kGgufCommonKeys"].split()}
    return own, common


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    own, common = tables(pathlib.Path(sys.argv[1]))
    library = Library(sys.argv[2])
    reads = library.reads()
    classes = dict(library.architectures())

    types = dict(re.findall(r"([a-z0-9_.]+):([a-zA-Z])[ \"]", (pathlib.Path(sys.argv[1]) / "models/gguf_keys.cc").read_text()))
    wrong = set()

    def keys_of(function):
        names = {(asked(lambda: library.key_name(number)) or "", letter) for number, letter in reads.get(function, ())}
        keys = {(name.split(".", 1)[1], letter) for name, letter in names if name.startswith("clip.")}
        # A list per block may be read as a number first.
        wrong.update(f"{key}: type {letter}, not {types.get(key)}" for key, letter in keys
                     if letter and types.get(key) not in (letter, "U", "P", "T"))
        return {key for key, _ in keys}

    lacking = sorted(keys_of(BASE) - common - COMMON_CONDITIONAL)
    for architecture, keys in sorted(own.items()):
        name = classes.get(architecture)
        read = keys_of(f"llama_model_{name}::load_arch_hparams") or \
            keys_of(f"llama_model_{PARENTS.get(name)}::load_arch_hparams")
        if not read:
            lacking.append(f"{architecture}: no loader found")
        missing = {f"{architecture}.{key}" for key in read - keys - common}
        lacking += sorted(missing - CONDITIONAL)
    lacking += sorted(wrong)
    print("\n".join(lacking) or f"{len(own)} architectures: every key that their loaders read is in their tables, with its type")
    return bool(lacking)


if __name__ == "__main__":
    sys.exit(main())
