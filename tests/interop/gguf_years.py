#!/usr/bin/env python3
"""GGUFs that converters of other years wrote: a table year x family x command, judged by llama.cpp's library. By hand:

  CKPT_TRANSFORMERS_5=venv/bin/python gguf_years.py LLAMA_CPP CKPT TESTDATA SOURCES [VERSION...] [--only FAMILY]

SOURCES: source distributions of llama-cpp-python, unpacked: llama_cpp_python-VERSION/. Their converters, convert.py too, make a file of a
model of each of FAMILIES, in a folder of that year: random weights, heads that divide the width, rope_theta at the top, merges as texts.
Where the library runs the file, show and set must work, the doctor must say yes, the way back must succeed alone and with --base, with
the same weights, alone with the library's logits where the folder becomes a GGUF again, and an adapter must merge. A file that the
library refuses must have the doctor's no. That Python also needs sentencepiece. Exit 77 without the Python or SOURCES.
"""
import array
import collections
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FAMILIES = ("llama-spm tinyllama mixtral qwen2-moe phi2 phi3 gemma gemma2 stablelm starcoder2 olmo olmoe olmo2 deepseek-v2 deepseek-v3 cohere "
            "gpt-neox granite gemma3 qwen3-moe glm4 glm4-moe exaone4 ernie45-moe smollm3 granite4-h gpt-oss seed-oss lfm2 llama4 minicpm "
            "qwen2-vl hunyuan-dense").split()
COMMANDS = ("library", "show", "doctor", "q8_0", "set", "back", "logits", "--base", "same", "lora")
# Fields of released configurations that transformers 5 does not save and that converters of some years need.
RELEASED = {"deepseek_v2": {"scoring_func": "softmax", "topk_method": "greedy", "norm_topk_prob": False},
            "deepseek_v3": {"scoring_func": "sigmoid", "topk_method": "noaux_tc"}, "cohere": {"model_max_length": 8192},
            "gpt_neox": {"rotary_pct": 0.25}}
# A model of random weights with the class and the vocabulary of the folder, whose head size no key need say.
MODEL = """
import shutil, sys, torch, transformers
source, target = sys.argv[1:]
shutil.copytree(source, target, ignore=shutil.ignore_patterns("model*", "config.json"))
config = transformers.AutoConfig.from_pretrained(source)
text = config.get_text_config()
if getattr(text, "head_dim", None) and text.model_type != "deepseek_v2":
    if text.hidden_size % text.num_attention_heads or text.hidden_size // text.num_attention_heads > 64:
        text.num_attention_heads = text.hidden_size // 16
        text.num_key_value_heads = max(1, text.num_attention_heads // 2)
    text.head_dim = text.hidden_size // text.num_attention_heads
if text.model_type == "phi3": text.intermediate_size = 8192  # what its first converter writes
model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
torch.manual_seed(3)
with torch.no_grad():
    for each in model.parameters(): each.add_(torch.randn_like(each) * 0.05)
model.save_pretrained(target)
"""

NO_RULES = "the file has no tokenizer.ggml.pre"  # of files before April 2024: the way back needs the folder's tokenizer
OF_TENSORS = re.compile(r"^(?!T\d\d|G04)[A-Z]\d\d error", re.M)  # an error of the doctor that logits of given tokens can show
CONVERTER = """
import importlib.util, os, pathlib, sys, unittest.mock
for name in ("tokens.tokenizers.base", "tokens.tokenizers.multimodal", "tokens.tokenizers.tekken", "tokens.tokenizers.sentencepiece"):
    sys.modules["mistral_common." + name] = unittest.mock.MagicMock()  # which one year imports, for models of Mistral's format
root, folder, out, pre, kind = sys.argv[1:]
os.environ.pop("NO_LOCAL_GGUF", None)
sys.path[:0] = [root + "/gguf-py", root]
names = ("convert.py",) if pre == "convert.py" else ("convert-hf-to-gguf.py", "convert_hf_to_gguf.py")
path = next(str(p) for p in (pathlib.Path(root, n) for n in names) if p.exists())
spec = importlib.util.spec_from_file_location("converter", path)
sys.argv = [path, "--outfile", out, "--outtype", kind, folder]
module = importlib.util.module_from_spec(spec)
sys.modules["converter"] = module
spec.loader.exec_module(module)
for each in (module, sys.modules.get("conversion.base")):
    for name in ("Model", "ModelBase", "TextModel"):
        if hasattr(getattr(each, name, None), "get_vocab_base_pre"):
            getattr(each, name).get_vocab_base_pre = lambda self, tokenizer: pre
module.main()
"""
# Imports once what models and converters need, most of their time; each line is a program and its arguments, run in a copy of the process.
PROGRAMS = """
import json, os, sys
import sentencepiece, torch, transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerFast
torch.set_num_threads(1)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        try:
            program, sys.argv[1:] = json.loads(line)
            os.dup2(2, 1)
            exec(program, {"__name__": "__main__"})
            os._exit(0)  # nothing is taken down, which took 2 s
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}".encode())
            os._exit(1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
LIBRARY = """
import pathlib, sys
path, out = sys.argv.pop(), sys.argv.pop()
from llama_cpp_library import logits
found = logits(path, range(3, 19))
if found is None: sys.exit(3)
pathlib.Path(out).write_bytes(found)
"""


def as_of_that_year(source, target):
    """The folder before transformers 5: rope_theta and rope_scaling at the top of config.json, merges as texts."""
    shutil.copytree(source, target)
    for path in target.iterdir():
        path.chmod(0o644)
    path = target / "tokenizer.json"
    tokenizer = json.loads(path.read_text()) if path.exists() else {}
    merges = tokenizer.get("model", {}).get("merges")
    if merges and isinstance(merges[0], list):
        tokenizer["model"]["merges"] = [" ".join(pair) for pair in merges]
        path.write_text(json.dumps(tokenizer, ensure_ascii=False))
    path = target / "config.json"
    config = json.loads(path.read_text())
    for part in (config, config.get("text_config", {})):
        rope = part.pop("rope_parameters", None) or {}
        inner = rope.get("full_attention", rope)
        part |= {key: value for key, value in inner.items() if key in ("rope_theta", "partial_rotary_factor") and value is not None}
        if "sliding_attention" in rope:
            part["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        if inner.get("rope_type", "default") != "default":
            part["rope_scaling"] = inner | {"type": inner["rope_type"]}
    if config["model_type"].startswith("deepseek"):
        config.pop("head_dim", None)
    path.write_text(json.dumps({"torch_dtype": config.get("dtype", "bfloat16")} | RELEASED.get(config["model_type"], {}) | config))


def adapter(ckpt, folder, target):
    """Trains nothing: rank 1 on the first matrix of attention, as peft saves it."""
    sys.path.insert(0, str(HERE.parent / "support"))
    import weights
    tensors = weights.read(next(folder.glob("*.safetensors")))
    name = next((name for name in sorted(tensors) if name.endswith("layers.0.self_attn.o_proj.weight")), None)
    if name is None:
        return False
    rows, columns = tensors[name][1]
    target.mkdir()
    ones = array.array("f", [0.01]).tobytes()
    start = "base_model.model." + name.removesuffix(".weight")
    weights.write(target / "adapter_model.safetensors", {start + ".lora_A.weight": ("F32", [1, columns], ones * columns),
                                                         start + ".lora_B.weight": ("F32", [rows, 1], ones * rows)})
    (target / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 1, "lora_alpha": 1, "target_modules": ["o_proj"]}))
    return True


class Table:
    def __init__(self, lib, ckpt, testdata, sources, python):
        self.lib, self.ckpt, self.testdata, self.sources = lib, ckpt, pathlib.Path(testdata), pathlib.Path(sources)
        self.models = tempfile.TemporaryDirectory()
        self.said = pathlib.Path(self.models.name, "said")
        self.programs = subprocess.Popen([python, "-c", PROGRAMS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said.open("a"), text=True)
        self.bad, self.counts = [], collections.Counter()

    def program(self, text, *arguments):
        os.truncate(self.said, 0)
        self.programs.stdin.write(json.dumps([text, list(map(str, arguments))]) + "\n")
        self.programs.stdin.flush()
        return self.programs.stdout.readline() == "0\n"

    def model(self, family):
        """The folder of a model of the family, made once for all years."""
        source, folder = self.testdata / "families" / family / "hf", pathlib.Path(self.models.name, family)
        if not folder.exists():
            made = folder.with_suffix(".made")
            as_of_that_year(made if self.program(MODEL, source, made) else source, folder)
            shutil.rmtree(made, ignore_errors=True)
        return folder

    def run(self, *arguments):
        done = subprocess.run([self.ckpt, *map(str, arguments)], capture_output=True, text=True, errors="replace")
        return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]

    def logits(self, file):
        out = file.with_suffix(".logits")
        code = subprocess.run([sys.executable, "-c", LIBRARY, self.lib, out, file], cwd=HERE, capture_output=True).returncode
        if code != 0:
            return "refused" if code == 3 else "stops"
        found = array.array("f", out.read_bytes())
        return found if all(map(math.isfinite, found)) else "not finite"

    def pre(self, family):
        path = self.testdata / "families" / family / "PRE"
        return path.read_text().strip() if path.exists() else "default"

    def file(self, version, family, work, script):
        shutil.copytree(self.model(family), work / family)
        root, file = self.sources / f"llama_cpp_python-{version}/vendor/llama.cpp", work / "m.gguf"
        kind = "bf16" if tuple(map(int, version.split("."))) >= (0, 2, 80) else "f32"  # the older ones know no BF16
        made = self.program(CONVERTER, root, work / family, file, script or self.pre(family), kind)
        return file if made and file.exists() and file.stat().st_size else None

    def row(self, version, family, work, script):
        file = self.file(version, family, work, script)
        if file is None:
            return None
        folder, found = work / family, self.logits(file)
        row = {"library": found if isinstance(found, str) else "", "show": self.run("show", file)}
        said = subprocess.run([self.ckpt, "doctor", file, "--for", "llama.cpp"], capture_output=True, text=True).stdout
        row["doctor"] = "" if bool(OF_TENSORS.search(said)) == isinstance(found, str) else said.splitlines()[0]
        row["q8_0"] = self.run("convert", file, work / "q8_0.gguf", "--to", "q8_0", "-q")
        if isinstance(found, str):
            return row
        row["back"] = self.run("convert", file, work / "back", "-q")
        row["--base"] = self.run("convert", file, work / "based", "--base", folder, "-q")
        if not row["back"]:
            row["logits"] = self.run("convert", work / "back", work / "again.gguf", "--tokenizer-pre", self.pre(family), "-q")
            again = self.logits(work / "again.gguf") if not row["logits"] else found
            if isinstance(again, str) or max(abs(a - b) for a, b in zip(found, again)) > 0.02 * max(map(abs, found)):
                row["logits"] = again if isinstance(again, str) else "other logits"
        if not row["back"] and not row["--base"]:
            said = subprocess.run([self.ckpt, "diff", work / "back", work / "based"], capture_output=True, text=True).stdout
            row["same"] = "other weights" if "differ in values" in said else ""
        if adapter(self.ckpt, folder, work / "adapter"):
            row["lora"] = self.run("convert", file, work / "merged.gguf", "--step", f"lora:from={work / 'adapter'}", "-q")
        row["set"] = self.run("set", file, "general.name=other", "-q")
        return row

    def show(self, version, family, script=""):
        with tempfile.TemporaryDirectory() as work:
            row = self.row(version, family, pathlib.Path(work), script)
        if row is None:
            said = [line for line in self.said.read_text().splitlines() if line.strip() and not line.startswith("SystemExit")]
            self.counts[f"not converted then: {said[-1][:90]}"] += 1
            return
        for command in COMMANDS:
            text = row.get(command)
            is_right = command == "library" or (command == "back" and NO_RULES in (text or ""))
            fault = text and not is_right
            self.counts[f"{command}: {'not run' if text is None else 'ok' if not text else 'rightly refused' if is_right else 'not'}"] += 1
            if fault:
                self.bad.append(f"{version} {family} {command}: {text.replace(work, '')}")
        print(f"{version:7} {family:14}" + "".join(f" {'-' if row.get(c) is None else 'no' if row[c] else 'yes':>7}" for c in COMMANDS), flush=True)


def main(lib, ckpt, testdata, sources="", *chosen):
    python = os.environ.get("CKPT_TRANSFORMERS_5", "")
    versions = sorted(path.name.split("-")[1] for path in pathlib.Path(sources or "/nonexistent").glob("llama_cpp_python-*"))
    if not python or not versions:
        print("peer missing: CKPT_TRANSFORMERS_5, or source distributions of llama-cpp-python")
        return 77
    table = Table(lib, ckpt, testdata, sources, python)
    only = chosen[chosen.index("--only") + 1:] if "--only" in chosen else FAMILIES
    print(f"{'year':7} {'family':14}" + "".join(f" {command:>7}" for command in COMMANDS))
    for version in [v for v in chosen if v[0].isdigit()] or versions:
        for family in only:
            table.show(version, family)
            script = table.sources / f"llama_cpp_python-{version}/vendor/llama.cpp/convert.py"
            if script.exists() and family in ("llama-spm", "tinyllama", "mixtral"):
                table.show(version, family, "convert.py")
    print("\n".join([*(f"{what}: {count}" for what, count in sorted(table.counts.items())), *table.bad, f"{len(table.bad)} faults"]))
    return 1 if table.bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
