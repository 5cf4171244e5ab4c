"""What a release of transformers states in its source."""
import re

from extract import words

AUTO = "transformers/models/auto"
MODELS = "transformers/models"
CONFIGURATION = "transformers/configuration_utils.py"
GGUF = "transformers/integrations/ggml.py"
# transformers' names for architectures that GGUF names otherwise
IN_GGUF = {"qwen2_moe": "qwen2moe", "qwen3_moe": "qwen3moe", "gpt_oss": "gpt-oss", "minimax_m2": "minimax-m2",
           "gemma3_text": "gemma3", "gemma4_text": "gemma4"}
FALLBACKS = ("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
             "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES")
GENERATING = (*FALLBACKS[:2], "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES")


def model_types(root):
    found = words.keys(root / AUTO / "configuration_auto.py", "CONFIG_MAPPING_NAMES", optional=True)
    newer = root / AUTO / "auto_mappings.py"
    return found | (words.keys(newer, "CONFIG_MAPPING_NAMES") if newer.exists() else set())


def tokenizers(root):
    """The class of each model type; and the types that go by it, whatever tokenizer_class says."""
    file, types = root / AUTO / "tokenization_auto.py", {}
    for value in words.values_of(file, "TOKENIZER_MAPPING_NAMES"):
        for key, name in words.pairs(value):
            names = sorted(words.texts(name))
            types |= {key.value: names[-1].removesuffix("Fast")} if names else {}
    wrong = words.keys(file, "MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS", optional=True)
    types |= {name: "TokenizersBackend" for name in wrong if name not in types}
    found = {f"tokenizer class {own}": (f"{AUTO}/{file.name}", {name for name in types if types[name] == own})
             for own in types.values()}
    return found | {"tokenizer class by model type": (f"{AUTO}/{file.name}", wrong)}


def backend_classes(root, names):
    """Those of `names` whose class, or one that it derives from, says that servers can run its attention."""
    says, bases = {}, {}
    for file in sorted((root / MODELS).glob("*/modeling_*.py")):  # lines: to parse all of them takes a minute
        name = ""
        for line in file.read_text(encoding="utf-8").splitlines():
            if found := re.match(r"class (\w+)(?:\((.*)\))?:", line):
                name, bases[found[1]] = found[1], re.findall(r"\w+", found[2] or "")
            elif found := re.match(r"    _supports_attention_backend\b.*= (\w+)", line):
                says[name] = found[1]

    def answer(name):
        if name in says:
            return says[name] == "True"
        return next((True for base in bases.get(name, []) if answer(base)), False)

    return {name for name in names if answer(name)}


def layer_types(root):
    names = [f"ALLOWED_{part}LAYER_TYPES" for part in ("ATTN_", "MLP_", "")]
    return set().union(*(words.keys(root / CONFIGURATION, name, optional=True) for name in names))


def renamed_layer_types(root):
    return {f"{key.value}={value.value}" for name in ("_LEGACY_LAYER_TYPE_REMAP",)
            for mapping in words.values_of(root / CONFIGURATION, name) for key, value in words.pairs(mapping)}


def sections(root, _):
    gguf = {IN_GGUF.get(key.value, key.value) for value in words.values_of(root / GGUF, "GGUF_CONFIG_MAPPING")
            for key, _ in words.pairs(value) if key.value not in ("general", "tokenizer")}
    gguf |= {"t5encoder"} if "t5" in gguf else set()
    classes = {name: words.keys(root / AUTO / "modeling_auto.py", name, column=1, optional=True)
               for name in {*FALLBACKS, *GENERATING}}
    fallbacks, generating = (set().union(*(classes[name] for name in names)) for names in (FALLBACKS, GENERATING))
    found = {
        "model types": (f"{AUTO}/auto_mappings.py, configuration_auto.py (CONFIG_MAPPING_NAMES)", model_types(root)),
        "fallback classes": (f"{AUTO}/modeling_auto.py: causal models, models with images, classifiers", fallbacks),
        "gguf architectures": (f"{GGUF} (GGUF_CONFIG_MAPPING), by their names in GGUF", gguf),
        "backend classes": (f"{MODELS}/*/modeling_*.py (_supports_attention_backend): models that write",
                            backend_classes(root, generating)),
        "layer types": (f"{CONFIGURATION} (ALLOWED_LAYER_TYPES)", layer_types(root)),
        "renamed layer types": (f"{CONFIGURATION} (_LEGACY_LAYER_TYPE_REMAP)", renamed_layer_types(root)),
    }
    if not (root / AUTO / "auto_mappings.py").exists():  # 4: it looks the classes up by name
        names = words.keys(root / AUTO / "tokenization_auto.py", "TOKENIZER_MAPPING_NAMES", column=1)
        return found | {"tokenizer classes": (f"{AUTO}/tokenization_auto.py (TOKENIZER_MAPPING_NAMES)", names)}
    return found | tokenizers(root)
