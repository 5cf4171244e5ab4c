#!/usr/bin/env python3
"""What transformers says of the configuration and the tokenizer of folders, as vllm_outcomes.py says it of whole models.

usage: PYTHON transformers_outcomes.py     PYTHON has transformers; exits 77, "peer missing", without it
"""
import json
import os
import sys
import warnings

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="critical", TOKENIZERS_PARALLELISM="false")
warnings.filterwarnings("ignore")
try:
    import transformers
    from transformers import AutoConfig, AutoTokenizer
except ImportError as error:
    print(f"peer missing: transformers ({error})")
    sys.exit(77)


def outcome(folder):
    for stage, load in (("config", AutoConfig.from_pretrained), ("tokenizer", AutoTokenizer.from_pretrained)):
        try:
            load(folder)
        except Exception as error:
            text = " ".join(f"{type(error).__name__}: {error}".split())
            return {"outcome": "refuses", "at": stage, "says": text[:300]}
    return {"outcome": "loads", "at": "", "says": ""}


def main():
    print(f"ready {transformers.__version__}", flush=True)
    for line in sys.stdin:
        print(json.dumps(outcome(json.loads(line)["folder"])), flush=True)


if __name__ == "__main__":
    main()
