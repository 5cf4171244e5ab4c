"""What a release of vLLM states in its source."""
from extract import words

REGISTRY = "vllm/model_executor/models/registry.py"
CONFIGS = "vllm/transformers_utils/config.py"
METHODS = "vllm/model_executor/layers/quantization/__init__.py"
MODELOPT = "vllm/model_executor/layers/quantization/modelopt.py"


def sections(root, reader):
    """section -> (where it is from, words); reader: the profile of the transformers that it comes with"""
    known = reader.resolved("model types")
    parts = [name.id for value in words.values_of(root / REGISTRY, "_VLLM_MODELS")
             for name in value.values if hasattr(name, "id")]
    rows = [row for part in parts for value in words.values_of(root / REGISTRY, part) for row in words.pairs(value)]
    classes = {key.value for key, _ in rows}
    foreign = {key.value for key, value in rows if "transformers" in words.texts(value)}
    types = words.keys(root / CONFIGS, "_CONFIG_REGISTRY")
    algos = {text for name in ("QUANT_ALGOS", "LINEAR_ALGOS") for value in words.values_of(root / MODELOPT, name)
             for key, _ in words.pairs(value) for text in words.texts(key)}
    return {
        "classes": (REGISTRY, classes),
        "classes without code": (f"{REGISTRY}: transformers' code runs them",
                                 {name for name in foreign if not name.startswith("Transformers")}),
        "model types": (f"{CONFIGS} (_CONFIG_REGISTRY)", types - known),
        "own configurations": (f"{CONFIGS} (_CONFIG_REGISTRY): types of transformers that it has classes for",
                               types & known),
        "quantization methods": (METHODS, words.keys(root / METHODS, "QuantizationMethods")),
        "modelopt algorithms": (f"{MODELOPT} (QUANT_ALGOS)", algos),
    }
