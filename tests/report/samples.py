"""Data of reports that no checkpoint is needed for: what tests/report/page.py shows in a browser.

usage: samples.py PAGE.html FOLDER     writes the page with each sample, to look at
"""

import hashlib
import json
import math
import pathlib
import random
import sys

HOSTILE = [
    '<img src=x onerror="window.pwned=1">',
    "</script><script>window.pwned=1</script>",
    "a\u202egpj.exe\u2066x",
    "x\n\u0007y\u200b",
    "javascript:window.pwned=1",
    "__proto__",
    "constructor",
    "' \" ` ${window.pwned=1} &lt;b&gt;",
    "\u05d0\u05d1 " + "w" * 300,
]
DENSE = [
    "input_layernorm",
    "self_attn.q_proj",
    "self_attn.k_proj",
    "self_attn.v_proj",
    "self_attn.o_proj",
    "self_attn.q_norm",
    "self_attn.k_norm",
    "post_attention_layernorm",
    "mlp.gate_proj",
    "mlp.up_proj",
    "mlp.down_proj",
]
HYBRID = DENSE[:1] + ["linear_attn.in_proj_qkvz", "linear_attn.out_proj", "linear_attn.conv1d"] + DENSE[1:]
MIXTURE = [
    "input_layernorm",
    "self_attn.q_a_proj",
    "self_attn.q_b_proj",
    "self_attn.kv_a_proj_with_mqa",
    "self_attn.kv_b_proj",
    "self_attn.o_proj",
    "post_attention_layernorm",
    "mlp.gate",
    "mlp.experts.gate_proj",
    "mlp.experts.up_proj",
    "mlp.experts.down_proj",
    "mlp.shared_experts.gate_proj",
    "mlp.shared_experts.up_proj",
    "mlp.shared_experts.down_proj",
]
SPARSE = DENSE[:8] + ["mlp.gate", "mlp.experts.gate_proj", "mlp.experts.up_proj", "mlp.experts.down_proj"]
BITS = {"bf16": 16, "f32": 32, "nvfp4_modelopt": 4.5, "fp8_e4m3": 8, "q4_k": 4.5, "q6_k": 6.5625}


def bell(width, shift=0.0):
    return [int(1e6 * math.exp(-(((i - 31.5 - shift) / width) ** 2))) for i in range(64)]


def cell_table(rows, types, measured, seed):
    """Columns of rows (role, layer, type, tensors, weights); values when `measured`."""
    rng = random.Random(seed)
    cells = {k: [] for k in ("role", "layer", "type", "tensors", "weights", "size_bytes")}
    values = {k: [] if measured else None for k in ("sqnr_db", "relative", "saturated", "flushed", "kurtosis")}
    for role, layer, kind, tensors, weights in rows:
        for key, value in zip(cells, (role, layer, types.index(kind), tensors, weights, int(weights * BITS[kind] / 8))):
            cells[key].append(value)
        if not measured:
            continue
        plain = BITS[kind] >= 16
        sqnr = (
            None
            if plain
            else 6.02 * min(BITS[kind], 6)
            - 6.5
            + rng.gauss(0, 0.7)
            - (1.6 if role % 11 == 10 else 0)
            - abs((layer or 0) - 16) * 0.03
        )
        for key, value in zip(
            values,
            (
                sqnr,
                0 if plain else 10 ** (-sqnr / 20),
                None if plain else rng.random() ** 3 * 0.02,
                None if plain else rng.random() ** 2 * 0.05,
                3 + rng.expovariate(0.8),
            ),
        ):
            values[key].append(round(value, 5) if isinstance(value, float) else value)
    return {**cells, **values}


def checkpoint(name, rows, roles, measured=True, seed=1, **more):
    types = sorted({r[2] for r in rows}, key=lambda t: -sum(r[4] for r in rows if r[2] == t) * BITS[t])
    cells = cell_table(rows, types, measured, seed)
    total, weights = sum(cells["size_bytes"]), sum(cells["weights"])
    summed = []
    for i, kind in enumerate(types):
        of = [j for j, t in enumerate(cells["type"]) if t == i]
        summed.append(
            {
                "type": kind,
                "bits": BITS[kind],
                **{k: sum(cells[k][j] for j in of) for k in ("tensors", "weights", "size_bytes")},
            }
        )
    made = {
        "name": name,
        "path": f"{name}/",
        "format": "safetensors",
        "size_bytes": total + 12345,
        "tensor_bytes": total,
        "tensors": sum(cells["tensors"]),
        "weights": weights,
        "bits_per_weight": total * 8 / weights,
        "architecture": "Qwen3_5ForCausalLM",
        "layers": 1 + max(c for c in cells["layer"] if c is not None),
        "license": "apache-2.0",
        "base_models": ["Qwen/Qwen3.5-9B"],
        "files": [
            {
                "name": f"model-0000{i}-of-00003.safetensors",
                "size_bytes": total // 3,
                "sha256": hashlib.sha256(b"%d" % i).hexdigest(),
            }
            for i in (1, 2, 3)
        ]
        + [{"name": "config.json", "size_bytes": 12345, "sha256": None}],
        "published": {
            "sums": True,
            "signature": "model.sig",
            "provenance": {"tool": "ckpt 0.1.0", "steps": ["to nvfp4"]},
        },
        "profiles": profiles(name),
        "types": summed,
        "roles": roles,
        "cells": cells,
        "values": values(rows, roles, cells) if measured else None,
        "memory": {
            "weights_bytes": total,
            "kv_layers": 8,
            "kv_values_per_token": 16384,
            "window_layers": 0,
            "window_values_per_token": 0,
            "window": 0,
            "state_bytes": 12345678,
            "max_context": 262144,
        },
        "imatrix": None,
        "evaluation": None,
    }
    return {**made, **more}


def profiles(name):
    return [
        {
            "name": "vllm",
            "label": "vllm 0.33",
            "loads": "yes",
            "sound": "no",
            "findings": ["Q03 unsound: model.layers.3: down_proj has no input_scale: activations are not quantized"],
            "explained": [
                {
                    "check": "Q03",
                    "title": "scales of activations",
                    "cause": "The model was calibrated on too little text.",
                    "symptom": "answers are wrong from the first token on",
                    "command": f"ckpt patch {name}/ --step serving-config:for=vllm",
                    "advice": None,
                }
            ],
            "fix": f"ckpt patch {name}/ --step serving-config:for=vllm",
            "left": ["Q07"],
            "serve": f"vllm serve {name}/ --reasoning-parser qwen3",
        },
        {
            "name": "sglang",
            "loads": "yes",
            "sound": "yes",
            "findings": [],
            "fix": None,
            "serve": f"python3 -m sglang.launch_server --model-path {name}/",
        },
        {
            "name": "llama.cpp",
            "loads": "not checked",
            "sound": "not checked",
            "findings": [],
            "fix": None,
            "serve": None,
        },
    ]


def values(rows, roles, cells):
    measured = sorted((i for i, s in enumerate(cells["sqnr_db"]) if s is not None), key=lambda i: cells["sqnr_db"][i])
    worst = []
    for rank, i in enumerate(measured[:20]):
        role, layer = rows[i][0], rows[i][1]
        this = [0 if j % 4 else 4 * n for j, n in enumerate(bell(9 + rank % 5))]
        worst.append(
            {
                "tensor": f"model.layers.{layer}.{roles[role]}.weight",
                "cell": i,
                "sqnr_db": cells["sqnr_db"][i],
                "relative": cells["relative"][i],
                "cosine": 0.9931,
                "max_error": 0.0213 + rank / 1000,
                "kurtosis": cells["kurtosis"][i],
                "saturated": cells["saturated"][i],
                "flushed": cells["flushed"][i],
                "weights": rows[i][4],
                "weight_histogram": {"from": -0.12, "to": 0.12, "base": bell(9 + rank % 5), "this": this},
                "error_histogram": {"from": -0.013, "to": 0.013, "counts": bell(14, rank % 3)},
            }
        )
    return {
        "compared": len(measured),
        "not_compared": 3,
        "sqnr_db": 19.6,
        "relative": 0.1047,
        "cosine": 0.99452,
        "rmse": 0.00131,
        "worst": worst,
    }


def layered(names, layers, size, kind, experts=1):
    roles = ["embed_tokens", *names, "norm", "lm_head"]
    rows = [(0, None, "bf16", 1, size * 60)]
    for layer in range(layers):
        for i, name in enumerate(names, 1):
            if (
                "linear_attn" in name
                and layer % 4 == 3
                or "self_attn" in name
                and "linear_attn.conv1d" in names
                and layer % 4 != 3
            ):
                continue
            if layer < 3 and experts > 1 and "experts" in name:
                continue
            small = "norm" in name or name in ("mlp.gate", "linear_attn.conv1d")
            rows.append(
                (
                    i,
                    layer,
                    "bf16" if small else kind(name, layer),
                    experts if ".experts" in name else 1,
                    (4096 if small else size) * (experts if ".experts" in name else 1),
                )
            )
    return roles, [
        *rows,
        (len(names) + 1, None, "bf16", 1, 4096),
        (len(names) + 2, None, kind("lm_head", None), 1, size * 60),
    ]


def nine(name="served", measured=True, kind=None, **more):
    roles, rows = layered(
        HYBRID,
        32,
        21_000_000,
        kind or (lambda n, _: "bf16" if n == "lm_head" else "fp8_e4m3" if "attn" in n else "nvfp4_modelopt"),
    )
    return checkpoint(name, rows, roles, measured, **more)


def deepseek():
    roles, rows = layered(
        MIXTURE,
        61,
        14_680_064,
        lambda n, _: "nvfp4_modelopt" if "mlp" in n else "fp8_e4m3" if "attn" in n else "bf16",
        256,
    )
    rows += [(9, layer, "fp8_e4m3", 4, 4 * 14_680_064) for layer in (20, 21, 40)]  # two types in a square
    rng = random.Random(7)
    entries = [
        {"role": r, "layer": layer, "experts": [max(0, int(rng.lognormvariate(6, 1.4)) - 60) for _ in range(256)]}
        for layer in range(3, 61)
        for r in (9, 10, 11)
    ]
    return checkpoint(
        "DeepSeek-V3.2-NVFP4",
        rows,
        roles,
        architecture="DeepseekV3ForCausalLM",
        imatrix={"file": "imatrix.gguf", "chunks": 250, "entries": entries},
        evaluation={
            "file": "kl.csv",
            "rows": [
                {"name": "code", "kl": 0.0087, "perplexity": None},
                {"name": "wikitext", "kl": 0.0123, "perplexity": 6.91},
            ],
        },
    )


def micro():
    roles, rows = layered(DENSE, 2, 4096, lambda *_: "q4_k")
    return checkpoint(
        "micro.gguf",
        rows,
        roles,
        False,
        format="gguf",
        architecture="qwen3",
        license=None,
        base_models=[],
        profiles=[],
        published=None,
    )


def sparse():
    """A mixture of 299 GB, as it was trained: 23,040 experts in BF16, and tiny parts next to them."""
    roles, rows = layered(SPARSE, 60, 6_610_000, lambda *_: "bf16", 128)
    return checkpoint("sparse-moe", rows, roles, False, architecture="Qwen3MoeForCausalLM")


def gguf():
    """A file that one program reads and the other does not."""
    read = {"name": "llama.cpp", "label": "llama.cpp 0.5.0", "loads": "yes", "sound": "yes", "findings": [], "fix": None}
    unread = {
        "name": "ollama",
        "label": "ollama 0.32.15",
        "loads": "no",
        "sound": None,
        "findings": ["G08 unloaded: GGUF: a format that this program does not read"],
        "explained": [{"check": "G08", "title": "the program reads the file", "symptom": None, "advice": None}],
        "fix": None,
        "serve": None,
    }
    servers = [{**read, "serve": "llama-server -m sparse-q4.gguf"}, unread]
    roles, rows = layered(
        SPARSE, 60, 6_291_456, lambda n, at: "q6_k" if n == "lm_head" or (at or 0) % 8 == 0 else "q4_k", 128
    )
    return checkpoint("sparse-q4.gguf", rows, roles, format="gguf", architecture="qwen3moe", profiles=servers)


def nothing_known():
    made = micro()
    for key in (
        "architecture",
        "layers",
        "license",
        "memory",
        "values",
        "imatrix",
        "evaluation",
        "published",
        "bits_per_weight",
    ):
        made[key] = None
    return {
        **made,
        "files": [],
        "profiles": [],
        "types": [],
        "roles": [],
        "tensors": 0,
        "weights": 0,
        "cells": {k: [] for k in ("role", "layer", "type", "tensors", "weights", "size_bytes")},
    }


def hostile(value, found):
    """`value` with every string of it replaced by a hostile one; texts that decide (yes, no, formats) stay."""
    if isinstance(value, dict):
        return {k: v if k in ("loads", "sound", "format") else hostile(v, found) for k, v in value.items()}
    if isinstance(value, list):
        return [hostile(v, found) for v in value]
    if isinstance(value, str):
        found.append(1)
        return HOSTILE[len(found) % len(HOSTILE)] + str(len(found))
    return value


def report(*checkpoints, against=None):
    return {"report": 1, "version": "0.1.0", "checkpoints": list(checkpoints), "against": against}


def samples():
    base = nine("Qwen3.5-9B", False, kind=lambda *_: "bf16", profiles=[])
    full, light = nine("served"), nine("served-q4", kind=lambda *_: "q4_k", seed=4)
    eight = nine("served-fp8", kind=lambda *_: "fp8_e4m3", seed=5)
    light["values"].update(sqnr_db=18.7, relative=0.116)
    eight["values"].update(sqnr_db=29.9, relative=0.032)
    found = []
    evil = hostile({**deepseek(), "license": "x"}, found)
    evil["evaluation"]["rows"][0].update({HOSTILE[0]: 1.5, "__proto__": 3, "constructor": 4})
    return {
        "micro": report(micro()),
        "nine": report(full, against=base),
        "deepseek": report(deepseek(), against=nine("DeepSeek-V3.2", False)),
        "three": report(full, eight, light, against=base),
        "sparse": report(sparse()),
        "gguf": report(gguf(), against=sparse()),
        "nulls": report(nothing_known()),
        "hostile": report(evil, evil, against=hostile(micro(), found)),
    }


def filled(page, data):
    assert page.count("/*DATA*/null") == 1, "the page has one place for its data"
    return page.replace("/*DATA*/null", json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"))


if __name__ == "__main__":
    template, folder = pathlib.Path(sys.argv[1]).read_text(encoding="ascii"), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for sample, content in samples().items():
        (folder / f"{sample}.html").write_text(filled(template, content), encoding="ascii")
