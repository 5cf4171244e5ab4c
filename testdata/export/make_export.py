#!/usr/bin/env python3
"""Makes what lies here from checkpoints that NVIDIA ModelOpt 0.47.0 exported.

usage: make_export.py REFERENCES

REFERENCES/MODEL/modelopt/KIND are export_hf_checkpoint's folders (torch 2.11, one H200), calibrated on
text; KIND qat-checkpoint is save_pretrained's of a fake-quantized model after 30 training steps.
Of an export only the two configurations and the scalar scales are kept, in modelopt/MODEL/KIND; the
hashes of its files go to expected.json.
"""
import hashlib, json, pathlib, shutil, struct, sys

here = pathlib.Path(__file__).parent
references = pathlib.Path(sys.argv[1])

# output files: case -> input below testdata/, options of the step, reference
CASES = [
    ("qwen35-micro", "nvfp4", "qwen35-micro", {"type": "nvfp4"}, True),
    ("qwen35-micro", "w4a16-nvfp4", "qwen35-micro", {"type": "nvfp4-w4a16"}, False),
    ("qwen35-micro", "nvfp4-mlp-only", "qwen35-micro", {"type": "nvfp4", "preset": "mlp-only"}, True),
    ("qwen35-micro", "nvfp4-fp8kv", "qwen35-micro", {"type": "nvfp4"}, True),
    ("qwen35-micro", "fp8", "qwen35-micro", {"type": "fp8"}, True),
    ("qwen3-micro", "nvfp4", "qwen3-micro", {"type": "nvfp4"}, True),
    ("llama-micro", "nvfp4", "llama-micro", {"type": "nvfp4"}, True),
    ("qwen35vl-micro", "nvfp4", "qwen35vl-micro", {"type": "nvfp4"}, True),
    ("qwen35moe-micro", "nvfp4", "qwen35moe-micro", {"type": "nvfp4"}, True),
    ("qwen35-micro", "qat-export", "export/qat-checkpoint", {"type": "nvfp4"}, False),
    ("qwen35-micro", "nvfp4-four-over-six", "qwen35-micro", {"type": "nvfp4", "search": "four-over-six"}, True),
]


def keep_scalars(source, target):
    """The F32 tensors of one value, in the order and form of the safetensors library."""
    data = source.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    kept, body = {"__metadata__": {"format": "pt"}}, b""
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32" or entry["shape"]:
            continue
        if name.endswith("weight_scale_2") or name.endswith("weight_scale"):
            continue
        begin, end = entry["data_offsets"]
        kept[name] = dict(entry, data_offsets=[len(body), len(body) + end - begin])
        body += data[8 + length + begin:8 + length + end]
    if not body:
        return
    text = json.dumps(kept, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    target.write_bytes(struct.pack("<Q", len(text)) + text + body)


def main():
    for config in sorted(references.glob("*/modelopt/*/hf_quant_config.json")):
        folder = config.parent
        target = here / "modelopt" / folder.parent.parent.name / folder.name
        target.mkdir(parents=True, exist_ok=True)
        for name in ("config.json", "hf_quant_config.json"):
            shutil.copyfile(folder / name, target / name)
        keep_scalars(folder / "model.safetensors", target / "model.safetensors")
    (here / "states").mkdir(exist_ok=True)
    for state in sorted(references.glob("*/modelopt/qat-checkpoint/modelopt_state.pth")):
        shutil.copyfile(state, here / "states" / (state.parts[-4] + ".pth"))
    qat = references / "qwen35-micro/modelopt/qat-checkpoint"
    shutil.copytree(qat, here / "qat-checkpoint", dirs_exist_ok=True)

    cases = []
    for model, kind, source, options, needs_amax in CASES:
        folder = references / model / "modelopt" / kind
        if needs_amax:
            options = dict(options, **{"amax-from": f"export/modelopt/{model}/{kind}"})
        files = {}
        for path in sorted(folder.iterdir()):
            # the tokenizer of this one was saved again beside the model
            if path.name == "tokenizer_config.json" and source == "qwen35-micro":
                continue
            files[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
        cases.append({"in": source, "options": options, "reference": f"{model}/{kind}", "files": files})
    (here / "expected.json").write_text(json.dumps({"cases": cases}, indent=1) + "\n")


main()
