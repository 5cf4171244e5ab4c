#!/usr/bin/env python3
"""Which weights transformers takes from folders: what from_pretrained reports as missing and unexpected.

usage: PYTHON weights_outcomes.py     PYTHON has transformers and torch; exits 77, "peer missing", without them

Reads lines {"folder": ...}; answers each with a line: refuses (why), missing and unexpected (counts and the first), and
what the head holds: "file", "embedding" (both where they are equal) or "other".
"""
import json
import os
import pathlib
import sys
import warnings

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="critical", HF_DEACTIVATE_ASYNC_LOAD="1")
warnings.filterwarnings("ignore")
try:
    import torch
    import transformers
    from safetensors import safe_open
except ImportError as error:
    print(f"peer missing: transformers and torch ({error})")
    sys.exit(77)

HEADS = ("lm_head.weight", "embed_out.weight")
EMBEDDINGS = ("embed_tokens.weight", "embeddings.weight", "embed_in.weight")


def stored(folder, ends):
    for path in sorted(pathlib.Path(folder).glob("*.safetensors")):
        with safe_open(path, "pt") as file:
            for name in file.keys():
                if name.endswith(ends) and "visual" not in name and "vision" not in name:
                    return file.get_tensor(name)
    return None


def head_of(model, folder):
    found = [value for name, value in model.state_dict().items() if name.endswith(HEADS)]
    if not found:
        return "none"
    same = [place for place, ends in (("file", HEADS), ("embedding", EMBEDDINGS))
            if (held := stored(folder, ends)) is not None and held.shape == found[0].shape
            and torch.equal(held.float(), found[0].float())]
    return "+".join(same) or "other"


def outcome(folder):
    try:
        config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False)
        made = getattr(transformers, config.architectures[0])
        model, info = made.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    except Exception as error:
        return {"refuses": " ".join(f"{type(error).__name__}: {error}".split())[:200]}
    missing, unexpected = sorted(info["missing_keys"]), sorted(info["unexpected_keys"])
    return {"missing": len(missing), "unexpected": len(unexpected), "mismatched": len(info["mismatched_keys"]),
            "first": (missing + unexpected)[:1], "head": head_of(model, folder)}


def main():
    print(f"ready {transformers.__version__}", flush=True)
    for line in sys.stdin:
        print(json.dumps(outcome(json.loads(line)["folder"])), flush=True)


if __name__ == "__main__":
    main()
