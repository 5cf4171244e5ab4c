"""Convert every folder of make_hf_variants.py with llama.cpp's converter and with ckpt, and say where the files differ.

usage: LLAMA_CPP=SOURCE_TREE python compare_conversions.py CKPT DIR [NAME...]
needs: llama.cpp v0.5.0's sources; torch transformers gguf and what else its converter imports

The converter knows vocabularies by a hash of ids, so its look-up is answered with the folder's variant.json.
ckpt finds the name itself; a different name is reported as a difference of tokenizer.ggml.pre.
"""
import json
import os
import pathlib
import subprocess
import sys

ROOT = os.environ["LLAMA_CPP"]
sys.path.insert(0, ROOT + "/gguf-py")
RUN = """
import sys, runpy, os
root, pre = os.environ["LLAMA_CPP"], os.environ["PRE"]
sys.path[:0] = [root + "/gguf-py", root]
import conversion.base as base
for name in dir(base):
    if hasattr(getattr(base, name), "get_vocab_base_pre"):
        getattr(base, name).get_vocab_base_pre = lambda self, tokenizer: pre
sys.argv = [root + "/convert_hf_to_gguf.py"] + sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def read(path):
    from gguf.gguf_reader import GGUFReader
    reader = GGUFReader(path)
    keys = [(k, str(f.types), f.contents()) for k, f in reader.fields.items()]
    return keys, [(t.name, t.shape.tolist(), t.tensor_type.name, t.data) for t in reader.tensors]


def differences(theirs, ours):
    (a_keys, a_tensors), (b_keys, b_tensors) = read(theirs), read(ours)
    if [k[0] for k in a_keys] != [k[0] for k in b_keys]:
        yield f"keys: only theirs {[k[0] for k in a_keys if k[0] not in [x[0] for x in b_keys]]}, " \
              f"only ours {[k[0] for k in b_keys if k[0] not in [x[0] for x in a_keys]]}, or another order"
    ours_by_name = {k[0]: k for k in b_keys}
    for key in a_keys:
        other = ours_by_name.get(key[0])
        if other and key != other:
            yield f"{key[0]}: {str(key[1:])[:300]} != {str(other[1:])[:300]}"
    if [t[:3] for t in a_tensors] != [t[:3] for t in b_tensors]:
        yield f"tensors: {[(a[:3], b[:3]) for a, b in zip(a_tensors, b_tensors) if a[:3] != b[:3]][:5]} {len(a_tensors)} {len(b_tensors)}"
        return
    for a, b in zip(a_tensors, b_tensors):
        if a[3].tobytes() == b[3].tobytes():
            continue
        if a[0].endswith(".ssm_a") and abs(a[3].view("int32").astype("int64") - b[3].view("int32")).max() <= 1:
            continue    # exp of PyTorch, which is not always rounded correctly
        yield f"{a[0]} {a[2]}: {(a[3] != b[3]).sum()} of {a[3].size} differ, such as {a[3][a[3] != b[3]][:3]} and {b[3][a[3] != b[3]][:3]}"


ckpt, top = sys.argv[1], pathlib.Path(sys.argv[2])
failed = 0
for folder in sorted(p.parent for p in top.glob("*/variant.json")):
    if len(sys.argv) > 3 and folder.name not in sys.argv[3:]:
        continue
    how = json.loads((folder / "variant.json").read_text())
    theirs, ours = top / (folder.name + ".theirs.gguf"), top / (folder.name + ".ours.gguf")
    if not theirs.exists():
        done = subprocess.run([sys.executable, "-c", RUN, str(folder), "--outfile", str(theirs), *how["convert"]],
                              env={**os.environ, "PRE": how["pre"]}, capture_output=True, text=True)
        if done.returncode:
            print(folder.name, "CONVERTER FAILED", done.stderr[-800:])
            failed += 1
            continue
    options = ["--no-mtp"] if "--no-mtp" in how["convert"] else []
    if "--outtype" in how["convert"]:
        outtype = how["convert"][how["convert"].index("--outtype") + 1]
        options = ["--step", f"to-gguf:outtype={outtype}" + (",mtp=no" if options else "")]
    done = subprocess.run([ckpt, "convert", str(folder), str(ours), "--force", "-q", *options], capture_output=True, text=True)
    if done.returncode:
        print(folder.name, "CKPT FAILED", done.stderr)
        failed += 1
        continue
    if theirs.read_bytes() == ours.read_bytes():
        print(folder.name, "identical", theirs.stat().st_size)
        continue
    lines = list(differences(theirs, ours))
    failed += bool(lines)
    print(folder.name, "DIFFERS" if lines else "identical but for the last bit of some ssm_a")
    for line in lines:
        print("   ", line)
sys.exit(failed > 0)
