"""What a release of SGLang states in its source."""
import ast

from extract import words

MODELS = "sglang/srt/models"
CONFIGS = "sglang/srt/utils/hf_transformers/common.py"
METHODS = "sglang/srt/layers/quantization/__init__.py"
MODELOPT = "sglang/srt/layers/quantization/modelopt_quant.py"


def classes(root):
    found = set()
    for file in sorted((root / MODELS).rglob("*.py")):
        for value in words.values_of(file, "EntryClass"):
            found |= {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    return found


def registered(root):
    """Model types in the registry: of classes that it lists, and those that are added by name."""
    types = {name: value.value for folder in (root / "sglang/srt/configs", (root / CONFIGS).parent)
             for name, value in words.classes_with(folder, "model_type").items() if isinstance(value, ast.Constant)}
    found = {node.slice.value for node in ast.walk(words.tree(root / CONFIGS)) if isinstance(node, ast.Subscript)
             and ast.unparse(node.value) == "_CONFIG_REGISTRY" and isinstance(node.slice, ast.Constant)}
    listed = {node.id for value in words.values_of(root / CONFIGS, "_CONFIG_REGISTRY") for node in ast.walk(value)
              if isinstance(node, ast.Name)}
    return found | {types[name] for name in listed if name in types}


def methods(root):
    """Those of every machine, and those that a condition about CUDA adds."""
    found = words.keys(root / METHODS, "BASE_QUANTIZATION_METHODS", updates=False)
    for node in ast.walk(words.tree(root / METHODS)):
        if isinstance(node, ast.If) and "is_cuda()" in ast.unparse(node.test):
            found |= {key.value for call in ast.walk(node) if isinstance(call, ast.Call) and call.args
                      and ast.unparse(call.func) == "BASE_QUANTIZATION_METHODS.update"
                      for key, _ in words.pairs(call.args[0])}
    return found


def algorithms(root):
    """Values of quant_algo: words in capitals with which the file of its ModelOpt methods compares it."""
    found = set()
    for node in ast.walk(words.tree(root / MODELOPT)):
        if isinstance(node, (ast.Compare, ast.Dict)) and "scheme_name" not in ast.unparse(node):
            found |= {text for text in words.texts(node) if text.isupper() and ("FP" in text or "MIXED" in text)}
    return found


def sections(root, reader):
    own = classes(root)
    # srt/model_loader/utils.py (resolve_transformers_arch): it stops at others.
    fallbacks = reader.resolved("backend classes") or set()
    return {
        "fallback classes": ("classes of the transformers that it comes with, if that says that servers can run them",
                             fallbacks - own),
        "classes": (f"{MODELS} (EntryClass)", own),
        "model types": (f"{CONFIGS} (_CONFIG_REGISTRY)", registered(root) - reader.resolved("model types")),
        "quantization methods": (METHODS, methods(root)),
        "modelopt algorithms": (MODELOPT, algorithms(root)),
    }
