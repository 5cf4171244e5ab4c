#!/usr/bin/env python3
"""data/profiles/refresh: the records in the profiles, and what it writes from small sources made here.

usage: refresh_test.py SOURCE_FOLDER
"""
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(sys.argv[1]).resolve()
REFRESH = ROOT / "data/profiles/refresh"

VLLM = {
    "vllm/__init__.py": "",
    "vllm/model_executor/models/registry.py":
        '_TEXT = {"AlphaForCausalLM": ("alpha", "Alpha"), "BetaForCausalLM": ("transformers", "Beta")}\n'
        '_DRAFTS = {"AlphaMTP": ("alpha_mtp", "AlphaMTP")}\n'
        '_VLLM_MODELS = {**_TEXT, **_DRAFTS}\n_GONE = {"OldForCausalLM": "0.1"}\n',
    "vllm/transformers_utils/config.py": '_CONFIG_REGISTRY = LazyConfigDict(alpha="AlphaConfig", known="KnownConfig")\n',
    "vllm/model_executor/layers/quantization/__init__.py": 'QuantizationMethods = Literal["fp8", "awq"]\n',
    "vllm/model_executor/layers/quantization/modelopt.py": 'LINEAR = {}\nQUANT_ALGOS = ["FP8", "NVFP4"]\n',
}
SGLANG = {
    "sglang/__init__.py": "",
    "sglang/srt/models/alpha.py": "class AlphaForCausalLM:\n    pass\n\nEntryClass = [AlphaForCausalLM]\n",
    "sglang/srt/models/beta.py": "EntryClass = BetaForCausalLM\n",
    "sglang/srt/configs/alpha.py": 'class AlphaConfig:\n    model_type = "alpha"\n',
    "sglang/srt/utils/hf_transformers/common.py":
        '_CONFIG_REGISTRY: dict = {cls.model_type: cls for cls in [AlphaConfig]}\n_CONFIG_REGISTRY["gamma"] = X\n',
    "sglang/srt/layers/quantization/__init__.py":
        'BASE_QUANTIZATION_METHODS = {"fp8": A}\nif is_cuda():\n    BASE_QUANTIZATION_METHODS.update({"mxfp4": B})\n'
        'if is_npu():\n    BASE_QUANTIZATION_METHODS.update({"gptq": C})\n',
    "sglang/srt/layers/quantization/modelopt_quant.py": 'def f(algo):\n    return algo in ["FP8", "NVFP4_AWQ"]\n',
}
TRANSFORMERS = {
    "transformers/__init__.py": "",
    "transformers/models/auto/configuration_auto.py": "",
    "transformers/models/auto/auto_mappings.py": 'CONFIG_MAPPING_NAMES = OrderedDict([("known", "KnownConfig"), ("new", "N"), ("unchanged_over_releases", "U"), ("unchanged_as_well_as_that", "A")])\n',
    "transformers/models/auto/modeling_auto.py":
        'MODEL_FOR_CAUSAL_LM_MAPPING_NAMES = OrderedDict([("known", "KnownForCausalLM"), ("new", "NewForCausalLM")])\n',
    "transformers/models/auto/tokenization_auto.py":
        'TOKENIZER_MAPPING_NAMES = OrderedDict([("known", "KnownTokenizerFast")])\n'
        'MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS: set = {"known", "new"}\n',
    "transformers/models/known/modeling_known.py":
        "class KnownPreTrainedModel:\n    _supports_attention_backend = True\n\n"
        "class KnownForCausalLM(KnownPreTrainedModel):\n    pass\n",
    "transformers/configuration_utils.py":
        'ALLOWED_LAYER_TYPES = ("full_attention", "indexed_attention")\n_LEGACY_LAYER_TYPE_REMAP = {"old": "indexed_attention"}\n',
    "transformers/integrations/ggml.py": 'GGUF_CONFIG_MAPPING = {"general": {}, "llama": {}, "qwen2_moe": {}}\n',
}


def wheel(folder, name, files):
    made = folder / f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as packed:
        for path, text in files.items():
            packed.writestr(zipfile.ZipInfo(path, (2026, 2, 3, 4, 5, 6)), text)
    return made


def source_distribution(folder, name, files):
    made = folder / f"{name}.tar.gz"
    with tempfile.TemporaryDirectory() as tree, tarfile.open(made, "w:gz") as packed:
        for path, text in files.items():
            file = pathlib.Path(tree) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        packed.add(tree, name + "/src")
    return made


def run(*words, status=0):
    done = subprocess.run([REFRESH, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == status, (words, done.stdout, done.stderr)
    return done.stdout


def section(text, name):
    assert f"\n[{name}]\n" in text, (name, text)
    lines = text.split(f"\n[{name}]\n")[1].split("\n\n")[0].splitlines()
    return " ".join(line for line in lines if not line.startswith("#"))


def refreshed(folder, program, version, archive, *more):
    run(program, version, "--archive", archive, "--folder", folder, *more)
    name = f"{program}-{version if program == 'sglang' else version.rsplit('.', 1)[0]}.txt"
    return (folder / name).read_text()


def reads_transformers(folder):
    (folder / "transformers-5.1.txt").write_text("help     transformers 5.1: configuration\nversion  5.1.0\n\n"
                                                 "[fields by hand]\n# somewhere\nkept\n")
    text = refreshed(folder, "transformers", "5.1.0", wheel(folder, "transformers-5.1.0", TRANSFORMERS))
    assert "released 2026-02-03\n" in text and section(text, "fields by hand") == "kept"
    assert section(text, "model types") == "known new unchanged_as_well_as_that unchanged_over_releases"
    assert section(text, "backend classes") == "KnownForCausalLM"
    assert section(text, "gguf architectures") == "llama qwen2moe"
    assert section(text, "tokenizer class KnownTokenizer") == "known"
    assert section(text, "tokenizer class TokenizersBackend") == "new"
    assert section(text, "renamed layer types") == "old=indexed_attention"


def states_differences_alone(folder):
    newer = dict(TRANSFORMERS)
    newer["transformers/models/auto/auto_mappings.py"] = 'CONFIG_MAPPING_NAMES = {"known": "K", "newest": "N", "unchanged_over_releases": "U", "unchanged_as_well_as_that": "A"}\n'
    newer["transformers/models/auto/tokenization_auto.py"] = 'TOKENIZER_MAPPING_NAMES = {"known": "KnownTokenizer"}\n'
    text = refreshed(folder, "transformers", "5.2.0", source_distribution(folder, "transformers-5.2.0", newer))
    assert text.startswith("help     transformers 5.2: configuration and tokenizer\nlike     transformers-5.1\n"), text
    assert section(text, "model types") == "also transformers-5.1 without new newest"
    assert section(text, "tokenizer class TokenizersBackend") == ""  # its neighbor's does not hold
    assert "[layer types]" not in text


def reads_vllm(folder):
    (folder / "vllm-0.9.txt").write_text("help     vLLM 0.9 with transformers 5\nreader   transformers-5.1\nversion  0.9.0\n\n"
                                         "[quantization methods]\n# by another file\nby_hand\n\n")
    archive = wheel(folder, "vllm-0.9.0", VLLM)
    text = refreshed(folder, "vllm", "0.9.0", archive)
    assert section(text, "classes") == "AlphaForCausalLM AlphaMTP BetaForCausalLM"
    assert section(text, "classes without code") == "BetaForCausalLM"
    assert section(text, "model types") == "also transformers-5.1 alpha"
    assert section(text, "own configurations") == "known"
    assert section(text, "modelopt algorithms") == "FP8 NVFP4"
    assert refreshed(folder, "vllm", "0.9.0", archive) == text  # the second time it changes nothing
    same = refreshed(folder, "vllm", "0.10.0", wheel(folder, "vllm-0.10.0", VLLM), "--like", "vllm-0.9")
    assert "[" not in same, same  # a word that was found by hand is not missed


def reads_sglang(folder):
    (folder / "sglang-0.5.1.txt").write_text("help     SGLang 0.5.1\nreader   transformers-5.1\nversion  0.5.1\n\n")
    text = refreshed(folder, "sglang", "0.5.1", wheel(folder, "sglang-0.5.1", SGLANG))
    assert section(text, "classes") == "AlphaForCausalLM BetaForCausalLM"
    assert section(text, "model types") == "also transformers-5.1 alpha gamma"
    assert section(text, "fallback classes") == "KnownForCausalLM"
    assert section(text, "quantization methods") == "fp8 mxfp4"
    assert section(text, "modelopt algorithms") == "FP8 NVFP4_AWQ"


def check_sees_changes(folder):
    run("--check", "--folder", folder, "--archives", folder)
    file = folder / "vllm-0.9.txt"
    text = file.read_text()
    file.write_text(text.replace("AlphaMTP", "AlphaMtp"))
    assert "vllm-0.9: the written part was edited" in run("--check", "--offline", "--folder", folder, status=1)
    file.write_text(text.replace("# script ", "# script 0"))
    assert "another state of the script" in run("--check", "--offline", "--folder", folder, status=1)
    file.write_text(text)
    wheel(folder, "vllm-0.9.0", {**VLLM, "vllm/transformers_utils/config.py": '_CONFIG_REGISTRY = dict(beta="B")\n'})
    said = run("--check", "vllm-0.9", "--folder", folder, "--archives", folder, status=1)
    assert "is another archive" in said and "states something else" in said, said


with tempfile.TemporaryDirectory() as made:
    for step in (reads_transformers, states_differences_alone, reads_vllm, reads_sglang, check_sees_changes):
        step(pathlib.Path(made))
print(run("--check", "--offline"), end="")
