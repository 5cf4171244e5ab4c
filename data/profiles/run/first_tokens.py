#!/usr/bin/env python3
"""Prints sections of a profile about models that transformers cannot make, or cannot run over a first text, although
their class takes the configuration.

usage: first_tokens.py FOLDER[:MODEL_TYPE]...      where transformers 4.57 or 5 is installed with torch

FOLDER holds the config.json of a small model; MODEL_TYPE takes another class for the same numbers. Weights are random.
A class is listed for what all of its models do.

  [unmade FIELD=KINDS]    the model is not made if the field has such a value
  [fails FIELD=KINDS]     it is made, and then fails or computes NaN
      n null, z zero, w a whole number with a point. A kind counts if the model fails with each value of it, with its
      own rope and with the default.
  [windows LAYERS=KINDS]  the same of sliding_window. LAYERS: full or sliding, as layer_types says; without it patterned
                          where there is a sliding_window_pattern, else unlisted.
      n null, z zero, a absent, o any window, while use_sliding_window is false or absent, u any window at all
      A kind counts if the model fails with each other form of the fields that choose the layers. In capitals: the
      class rejects the configuration, which it takes with a window.
  [rotates whole heads]   it fails if partial_rotary_factor says less than 1
"""
import collections
import json
import pathlib
import sys
import textwrap
import warnings

import torch
import transformers
from transformers import AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

# Every model of a class computes with these, whatever else its configuration says.
FIELDS = ("head_dim", "final_logit_softcapping", "attn_logit_softcapping", "query_pre_attn_scalar", "logit_scale",
          "attention_multiplier", "embedding_multiplier", "residual_multiplier", "logits_scaling")
KINDS = {"n": lambda value: [None], "z": lambda value: [0, 0.0], "w": lambda value: [float(value or 16)]}
GONE = object()
WINDOW = 16
LENGTH = 40
SWITCHES = (True, False, GONE)


def changed(config, **fields):
    out = {**config, **fields}
    return {name: value for name, value in out.items() if value is not GONE}


def outcome(config):
    """taken, refused by the class of the configuration, unmade, or failed"""
    try:
        made = CONFIG_MAPPING[config["model_type"]].from_dict(json.loads(json.dumps(config)))
    except Exception:
        return "refused"
    try:
        torch.manual_seed(1)
        model = AutoModelForCausalLM.from_config(made, attn_implementation="eager").eval()
    except Exception:
        return "unmade"
    try:
        with torch.no_grad():
            logits = model(torch.arange(3, 3 + LENGTH)[None]).logits
    except Exception:
        return "failed"
    return "taken" if torch.isfinite(logits).all() else "failed"


class Answers:
    """how many models of a class were asked, and how many have the answer"""

    def __init__(self):
        self.asked, self.given = collections.Counter(), collections.Counter()

    def add(self, section, model_type, kinds):
        self.asked[section, model_type] += 1
        for kind in kinds:
            self.given[section, model_type, kind] += 1

    def sections(self, kinds_in_order):
        found = collections.defaultdict(list)
        for (section, model_type), count in sorted(self.asked.items()):
            kinds = "".join(kind for kind in kinds_in_order if self.given[section, model_type, kind] == count)
            if kinds:
                found[section if kinds == "*" else f"{section}={kinds}"].append(model_type)
        return sorted(found.items())


def values_of(config, answers):
    model_type = config["model_type"]
    attributes = vars(CONFIG_MAPPING[model_type].from_dict(dict(config)))
    bases = [config, changed(config, rope_scaling=GONE, rope_parameters=GONE)]
    bases = [base for base in bases if outcome(base) == "taken"]
    for name in FIELDS:
        if name not in attributes and name not in config and name != "head_dim":
            continue
        found = {"unmade": "", "failed": ""}
        for kind, values in KINDS.items():
            outcomes = {outcome(changed(base, **{name: value}))
                        for value in values(attributes.get(name)) for base in bases}
            if "taken" not in outcomes and outcomes != {"refused"}:
                found["unmade" if "unmade" in outcomes else "failed"] += kind
        answers.add(f"unmade {name}", model_type, found["unmade"])
        answers.add(f"fails {name}", model_type, found["failed"])


def fails(configs):
    outcomes = {outcome(config) for config in configs}
    return "taken" not in outcomes and outcomes != {"refused"}


def windows_of(config, answers):
    count = config["num_hidden_layers"]
    lists = {"full": [{"layer_types": ["full_attention"] * count}],
             "sliding": [{"layer_types": ["sliding_attention"] * count}],
             "unlisted": [{"layer_types": value, "sliding_window_pattern": GONE} for value in (GONE, None)],
             "patterned": [{"layer_types": GONE, "sliding_window_pattern": value} for value in (1, 2)]}
    for layers, forms in lists.items():
        bases = [base for base in (changed(config, **form) for form in forms)
                 if outcome(changed(base, sliding_window=WINDOW, use_sliding_window=True)) == "taken"]
        if not bases:
            own = config.get("layer_types") or lists["full"][0]["layer_types"]
            mixed = [lists["sliding"][0]["layer_types"][:1] + types[1:]
                     for types in (own, lists["full"][0]["layer_types"], lists["sliding"][0]["layer_types"])]
            is_never = layers == "sliding" and fails(
                [changed(config, layer_types=types, sliding_window=WINDOW) for types in mixed])
            answers.add("windows sliding", config["model_type"], "u" if is_never else "")
            continue
        kinds = ""
        for kind, values in {"n": [None], "z": [0], "a": [GONE]}.items():
            outcomes = {outcome(changed(base, sliding_window=value, use_sliding_window=switch))
                        for base in bases for value in values for switch in SWITCHES}
            if "taken" not in outcomes:
                kinds += kind.upper() if outcomes == {"refused"} else kind
        if fails([changed(base, sliding_window=WINDOW, use_sliding_window=switch)
                  for base in bases for switch in (False, GONE)]):
            kinds += "o"
        answers.add(f"windows {layers}", config["model_type"], kinds)


def shares_of(config, answers):
    """5 reads the share in the dictionary of scaled types alone; 4.57 next to it, for every type"""
    is_old = transformers.__version__.startswith("4.")
    theta = config.get("rope_theta") or 10000.0
    base = changed(config, rope_parameters=GONE, position_embedding_type="rope", partial_rotary_factor=GONE,
                   rope_scaling=None if is_old else {"rope_type": "linear", "factor": 2.0, "rope_theta": theta})
    base = base if outcome(base) == "taken" else changed(config, partial_rotary_factor=GONE)
    if outcome(base) == "taken":
        fails_with_half = outcome(changed(base, partial_rotary_factor=0.5)) == "failed"
        answers.add("rotates whole heads", config["model_type"], "*" if fails_with_half else "")


def read(argument):
    folder, _, model_type = argument.partition(":")
    config = json.loads((pathlib.Path(folder) / "config.json").read_text())
    config = config.get("text_config") or config
    for name in ("quantization_config", "auto_map", "dtype", "torch_dtype"):
        config.pop(name, None)
    return config | ({"model_type": model_type} if model_type else {})


if len(sys.argv) < 2:
    sys.exit(__doc__)
transformers.logging.set_verbosity(transformers.logging.CRITICAL)
warnings.filterwarnings("ignore")
answers = Answers()
for argument in sys.argv[1:]:
    config = read(argument)
    is_known = config["model_type"] in CONFIG_MAPPING
    if not is_known or outcome(config) != "taken":
        print(f"{argument}: {'does not run' if is_known else 'unknown'}", file=sys.stderr)
        continue
    values_of(config, answers)
    windows_of(config, answers)
    shares_of(config, answers)
for name, words in answers.sections("NnZzwAaou*"):
    print(f"\n[{name}]")
    print(textwrap.fill(" ".join(words), 118, break_long_words=False, break_on_hyphens=False))
