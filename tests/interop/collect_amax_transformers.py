#!/usr/bin/env python3
"""docs/collect_amax.py on real models in the real transformers, and ckpt on what it writes.

  CKPT_TRANSFORMERS_PYTHON=venv/bin/python collect_amax_transformers.py CKPT TESTDATA [--record]

That Python needs torch, accelerate and transformers >= 5. For a dense model and one of experts: the file has the names of
the recorded one (testdata/export/collect_amax) and numbers close to its; the same model in shards gives the same file; stacked
experts have the input of the shared expert too; ckpt takes the file, and every layer gets the scale of its number.
Second moments are symmetric, no mean square is above its maximum's, layers that read one input have the same, and they change what
ckpt writes.
Exits 77, saying "peer missing", without them. --record writes the recorded files.
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import make_exports

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT, TEXT = ROOT / "docs/collect_amax.py", ROOT / "LICENSE"
binary, testdata = sys.argv[1], pathlib.Path(sys.argv[2])
python = os.environ.get("CKPT_TRANSFORMERS_PYTHON", "")
if not python or subprocess.run([python, "-c", "import accelerate, torch, transformers"], capture_output=True).returncode:
    print("peer missing: CKPT_TRANSFORMERS_PYTHON names no Python with torch, accelerate and transformers")
    sys.exit(make_exports.MISSING)


def collect(model, out, *moments):
    done = subprocess.run([python, SCRIPT, model, TEXT, out, *moments], env=dict(os.environ, HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES=""),
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"FAILED {model}\n{done.stdout}{done.stderr[-3000:]}")
    return json.loads(out.read_text())


def floats(path):
    """{name: (shape, values)} of a file of F32."""
    content = path.read_bytes()
    size, = struct.unpack("<Q", content[:8])
    out = {}
    for name, entry in json.loads(content[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            out[name] = entry["shape"], struct.unpack(f"<{(end - begin) // 4}f", content[8 + size + begin:8 + size + end])
    return out


def check_moments(path, maxima):
    means = floats(path)
    for name, ((runs, n, _), values) in means.items():
        largest = maxima[name.removesuffix(".input_moments")]
        for run in range(runs):
            at = lambda row, column: values[(run * n + row) * n + column]
            for row in range(0, n, 7):
                assert 0 <= at(row, row) <= largest * largest * 1.001, name
                assert abs(at(row, row // 2) - at(row // 2, row)) <= 1e-4 * largest * largest, name
        same = name.replace(".k_proj.", ".q_proj.").replace(".up_proj.", ".gate_proj.")
        assert values == means[same][1], name
    return len(means)


def scales(folder):
    """{module: input_scale} of an export."""
    out = {}
    for path in sorted(folder.glob("*.safetensors")):
        with open(path, "rb") as file:
            size, = struct.unpack("<Q", file.read(8))
            for name, entry in json.loads(file.read(size)).items():
                if name.endswith(".input_scale"):
                    file.seek(8 + size + entry["data_offsets"][0])
                    out[name.removesuffix(".input_scale")], = struct.unpack("<f", file.read(4))
    return out


def stack_of(module):
    """….experts.3.up_proj is a part of ….experts.gate_up_proj."""
    parent, _, rest = module.partition(".experts.")
    part = rest.partition(".")[2]
    return f"{parent}.experts.{'down_proj' if part == 'down_proj' else 'gate_up_proj'}"


for name in ("qwen3-micro", "qwen35moe-micro"):
    recorded = testdata / "export/collect_amax" / f"{name}.json"
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        moments = work / "moments.safetensors"
        maxima = collect(testdata / name, recorded if "--record" in sys.argv else work / "amax.json", moments)
        wanted = json.loads(recorded.read_text())
        assert maxima.keys() == wanted.keys(), maxima.keys() ^ wanted.keys()
        for module, value in maxima.items():  # sums in another order give other last bits
            assert abs(value - wanted[module]) <= wanted[module] / 8, (module, value, wanted[module])
            if module.endswith("experts.gate_up_proj"):
                assert value == maxima[module.replace("experts.gate_up_proj", "shared_expert.up_proj")], module
        make_exports.convert(binary, testdata / name, work / "sharded", "--to", "bf16", "--shard-size", "2M")
        assert len(list((work / "sharded").glob("*.safetensors"))) > 1
        assert collect(work / "sharded", work / "sharded.json") == maxima
        make_exports.convert(binary, testdata / name, work / "out", "--to", "nvfp4", "--amax-from", recorded)
        make_exports.convert(binary, testdata / name, work / "searched", "--to", "nvfp4", "--amax-from", recorded,
                             "--search", "best")
        make_exports.convert(binary, testdata / name, work / "weighed", "--to", "nvfp4", "--amax-from", recorded,
                             "--search", "best", "--moments", moments)
        weights = [sorted((work / each).glob("*.safetensors"))[0].read_bytes() for each in ("searched", "weighed")]
        assert weights[0] != weights[1], "moments changed nothing"
        made = scales(work / "out")
        assert made, "no layer was quantized"
        for module, scale in made.items():
            amax = wanted.get(module) or wanted[stack_of(module)]
            assert abs(scale * 2688 / amax - 1) < 1e-6, (module, scale, amax)
        print(f"{name}: {len(maxima)} maxima, {check_moments(moments, maxima)} moments, {len(made)} layers")
print("ok")
