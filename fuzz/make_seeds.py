#!/usr/bin/env python3
"""Makes the seeds of the fuzz targets: small inputs cut out of testdata/ and a few written here.

usage: make_seeds.py ROOT CKPT     ROOT is the repository, CKPT the binary (it signs one folder)

The same inputs give the same seeds, a signature aside. Seeds stay small: a fuzzer learns nothing
from the second thousand of like tensors.
"""
import base64
import io
import json
import pathlib
import pickle
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile

root, ckpt = pathlib.Path(sys.argv[1]), sys.argv[2]
data = root / "testdata"
seeds = root / "fuzz" / "seeds"
LIMIT = 6000


def put(target, name, content):
    if isinstance(content, str):
        content = content.encode()
    folder = seeds / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def folder_of(files):
    return "".join(f"=== {name}\n{text}\n" for name, text in files.items())


def header_of(path):
    with open(path, "rb") as file:
        return json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))


# ---- weights ----
for path in sorted((data / "formats/good/safetensors").iterdir()):
    if path.stat().st_size < LIMIT:
        put("safetensors", path.name, path.read_bytes())
for path in sorted((data / "formats/bad").glob("st_*.safetensors")):
    if path.stat().st_size < LIMIT:
        put("safetensors", path.name, path.read_bytes())
for path in sorted((data / "torch").glob("*/*.bin")):
    put("torch", f"{path.parent.name}_{path.name}", path.read_bytes())
for path in sorted((data / "formats/good/gguf").iterdir()):
    if path.stat().st_size < LIMIT:
        put("gguf", path.name, path.read_bytes())
for path in sorted((data / "formats/bad").glob("gguf_*.gguf")):
    if path.stat().st_size < 2000:
        put("gguf", path.name, path.read_bytes())
for pattern in ("good/imatrix/*", "bad/*imatrix*"):
    for path in sorted((data / "formats").glob(pattern)):
        if path.is_file() and path.suffix != ".expected":
            put("imatrix", path.name, path.read_bytes())

# ---- folders ----
for folder in [*sorted((data / "formats/good/folders").iterdir()),
               *sorted((data / "formats/bad").glob("hf_*"))]:
    if not folder.is_dir():
        continue
    files = {}
    for path in sorted(folder.iterdir()):
        if path.suffix == ".safetensors":
            raw = path.read_bytes()
            size = struct.unpack("<Q", raw[:8])[0] if len(raw) > 8 else len(raw)
            files[path.name] = raw[8:8 + size].decode() if size < len(raw) else raw.decode("latin1")
        elif path.is_file():
            files[path.name] = path.read_text()
    text = folder_of(files)
    if len(text) < LIMIT:
        put("hf_folder", folder.name, text)

# ---- documents ----
DOCUMENTS = ("config.json", "generation_config.json", "hf_quant_config.json")
models = [data / name for name in ("llama-micro", "qwen3-micro", "qwen35-micro", "qwen35moe-micro",
                                   "qwen35vl-micro")]
models += sorted((data / "export/modelopt").glob("*/*"))


def documents_of(folder):
    return {name: (folder / name).read_text() for name in DOCUMENTS if (folder / name).exists()}


CODECS = {"BF16": "bf16", "F32": "f32", "U8": "u8", "F8_E4M3": "f8_e4m3", "F16": "f16",
          "I64": "i64"}


def lines_of(folder, most, takes=lambda name: True):
    lines = []
    path = folder / "model.safetensors"
    if not path.exists():
        return ""
    for name, entry in header_of(path).items():
        if name != "__metadata__" and len(lines) < most and takes(name):
            shape = [min(axis, 16) for axis in entry["shape"]]
            lines.append(" ".join([name, CODECS[entry["dtype"]], *map(str, shape)]))
    return "\n".join(lines)


for folder in models:
    name = f"{folder.parent.name}-{folder.name}".replace("testdata-", "")
    files = {**documents_of(folder), "tensors": lines_of(folder, 12)}
    put("config", f"look-{name}", folder_of(files))
    for document, text in documents_of(folder).items():
        if len(text) < 3000:
            put("json", f"{name}-{document}", b"\0\0" + text.encode())
STEPS = {
    "llama-micro": ["to-gguf:tokenizer-pre=llama-bpe", "cast:type=f16", "export:type=nvfp4",
                    "rename:from=model.,to=m."],
    "qwen3-micro": ["serving-config", "config:set=a.b=[1,2]", "export:type=fp8,kv-cache=fp8",
                    "to-gguf", "metadata:set=format=np"],
    "qwen35-micro": ["vl-wrap:with=base", "to-gguf:mtp=no", "export:type=nvfp4,preset=mlp-only",
                     "drop:tensors=mtp.*", "graft:from=base,tensors=model.visual.*"],
    "qwen35vl-micro": ["vl-unwrap", "preprocessor", "preprocessor:from=base", "serving-config"],
    "qwen35moe-micro": ["export:type=nvfp4,preset=experts-only", "vl-wrap:with=base", "to-gguf"],
}
base = {f"base/{key}": text for key, text in documents_of(data / "qwen35vl-micro").items()}
base["base/tensors"] = lines_of(data / "qwen35vl-micro", 12)
for name, steps in STEPS.items():
    for step in steps:
        files = {**documents_of(data / name), "tensors": lines_of(data / name, 14), "step": step}
        if "base" in step:
            files.update(base)
        put("config", f"{name}-{step.split(',')[0].replace(':', '-').replace('*', '')}",
            folder_of(files))
QUANTIZED = "m.l.0.up.weight nvfp4_modelopt 4 32\nm.l.0.q.weight fp8_tensor 4 32\nm.n.weight bf16 8\n"
config = (data / "export/modelopt/qwen35-micro/mixed-fp8-nvfp4/config.json").read_text()
for step in ("dequantize", "nvfp4-layout:to=compressed-tensors", "mixed-to-nvfp4:base=base",
             "awq-fold-repair:base=base", "serving-config", "mixed-to-nvfp4:fp8=bf16"):
    files = {"config.json": config, "tensors": QUANTIZED, "step": step,
             "base/tensors": "m.l.0.up.weight bf16 4 32\nm.l.0.q.weight bf16 4 32"}
    put("config", f"quantized-{step.split(':')[0]}", folder_of(files))

# ---- adapters: of each kind of tensor, and the weights that they change ----
for folder in sorted(path.parent for path in (data / "lora").glob("*/adapter_config.json")):
    config = json.loads((folder / "adapter_config.json").read_text())
    model = data / pathlib.Path(config["base_model_name_or_path"]).name
    header = header_of(folder / "adapter_model.safetensors")
    names = [name for name in header if name != "__metadata__"][:12]
    modules = [name.removeprefix("base_model.model.").split(".lora_")[0].split(".base_layer")[0] for name in names]
    lines = [" ".join([name, CODECS[header[name]["dtype"]], *(str(min(axis, 16)) for axis in header[name]["shape"])])
             for name in names]
    files = {**documents_of(model), "step": "lora:from=base", "base/adapter_config.json": json.dumps(config),
             "tensors": lines_of(model, 24, lambda name: any(name.startswith(module + ".") for module in modules)),
             "base/tensors": "\n".join(lines)}
    put("config", f"lora-{folder.name}", folder_of(files))

# ---- tokenizers: the micro models' with 40 tokens ----
for name in ("llama-micro", "qwen35-micro"):
    tokenizer = json.loads((data / name / "tokenizer.json").read_text())
    vocabulary = dict(list(tokenizer["model"]["vocab"].items())[:40])
    merges = [merge for merge in tokenizer["model"]["merges"]
              if all(part in vocabulary for part in
                     (merge.split(" ") if isinstance(merge, str) else merge))][:20]
    tokenizer["model"]["vocab"], tokenizer["model"]["merges"] = vocabulary, merges
    for i, token in enumerate(tokenizer["added_tokens"]):
        token["id"] = 40 + i
    files = {"tokenizer.json": json.dumps(tokenizer), **documents_of(data / name)}
    for other in ("tokenizer_config.json", "chat_template.jinja"):
        files[other] = (data / name / other).read_text()
    both = {**files, **{f"base/{key}": text for key, text in files.items()}}
    put("tokenizer_json", name, folder_of(files))
    put("tokenizer_json", f"{name}-twice", folder_of(both))
    tokenizer["model"]["merges"] = [" ".join(m) if isinstance(m, list) else m.split(" ", 1)
                                    for m in merges]
    files["tokenizer.json"] = json.dumps(tokenizer)
    put("tokenizer_json", f"{name}-other-merges", folder_of(files))

# ---- tokenizer.model ----
for name in ("llama-spm", "gemma3"):
    put("sentencepiece", name, (data / "families" / name / "hf/tokenizer.model").read_bytes())
put("sentencepiece", "small", b"\x0a\x09\x0a\x05<unk>\x18\x02\x0a\x08\x0a\x01a\x15\0\0\x80\xbf"
    b"\x0a\x05\x0a\x01b\x18\x05\x12\x04\x18\x02\x20\x03\x1a\x02\x18\0")

# ---- JSON ----
for name, text in {"numbers": '[1e-06, -0.0, 10000000.0, NaN, Infinity, -Infinity, 1E400, 0]',
                   "texts": '{"a\\n": "\\u00e9\\ud83d\\ude00", "é": "\\\\\\"", "": null}',
                   "nested": "[" * 60 + "{\"a\": [true, false]}" + "]" * 60,
                   "lines": '{\n    "a": [\n        1,\n        2\n    ],\n    "b": {}\n}\n',
                   "index": '{"metadata": {"total_size": 8}, "weight_map": {"a": "b.safetensors"}}'
                   }.items():
    put("json", name, b"\1\2" + text.encode())

# ---- recipes, journals ----
put("recipe", "all", """{
  // comments of both kinds
  "in": "base/", "out": "out/", "to": "nvfp4", /* here */
  "steps": [{"name": "graft", "from": "mtp/", "tensors": ["mtp.*"]}, "drop:tensors=x.*",
            {"name": "config", "set": {"a.b": [1, 2]}}, {"name": "vl-unwrap", "mtp": true}],
  "for": ["vllm-0.17"], "base": "base/", "preset": "mlp-only", "amax-from": "a.json",
  "also": [{"out": "out.gguf", "to": "q4_k_m"}]
}
""")
put("recipe", "small", '{"in": "a", "out": "b", "steps": ["serving-config"]}')
OF = f"of {'0123456789abcdef' * 4}\n"
put("journal", "all", f"ckpt-patch 3\n{OF}replace 0 812 config.json\nheader 1 96 4096 model.safetensors\n"
    "insert 2 4192 4096 8192 a/model.safetensors\nremove SHA256SUMS\nend\n")
put("journal", "empty", f"ckpt-patch 3\n{OF}end\n")

PLAN, SUM = "0123456789abcdef" * 4, "= " + "0" * 16 + "\n"
put("ledger", "all", f"ckpt-ledger 2\nplan {PLAN}\ncommand ckpt convert a b\n"
    f"input 4096 17 12 18 in/model.safetensors\nboot this-boot\n{SUM}file 0 1 77 17\nwrote 0 1 4096 8192\n"
    f"scan 3 0 512 3f800000\n{SUM}hashed 0 1 67 {PLAN}0a0b0c\nsynced\ndigest 0 1 {PLAN}\n{SUM}publish 0 0 1234\ncomplete\n"
    f"{SUM}boot another-boot\nwrote 0 0 0 10\n{SUM}")

put("remote", "url", "HTTPS://Host.example:8443/a/../b%20c?x=1&y=%2F#part")
put("remote", "hub", "hf://org/na.me@refs%2Fpr%2F1/sub/model.gguf")
put("remote", "s3", "s3://my-bucket/models/a b/")
put("remote", "tree", '[{"type":"directory","oid":"0","size":0,"path":"sub"},{"type":"file","oid":"' + "0" * 40 + '","size":12,"path":"sub/config.json"},'
    '{"type":"file","oid":"' + "1" * 40 + '","size":99,"path":"model.safetensors","lfs":{"oid":"' + PLAN + '","size":99,"pointerSize":134}}]')
put("remote", "keys", "<ListBucketResult><Contents><Key>a/b/c&amp;&#x2f;d</Key><Size>12</Size><ETag>&quot;0&quot;</ETag></Contents>"
    "<Contents><Key>a/b</Key><Size>0</Size></Contents><NextContinuationToken>x</NextContinuationToken></ListBucketResult>")
put("remote", "sums", f"{PLAN}  config.json\n{PLAN} *sub/model.safetensors\n# other\n")


def head(status, *headers):
    return f"HTTP/1.1 {status}\r\n" + "".join(header + "\r\n" for header in headers) + "\r\n"


put("response_headers", "range", head("206 Partial Content", "Content-Range: bytes 0-9/100", "Content-Length: 10", 'ETag: "0123"', "Accept-Ranges: bytes"))
put("response_headers", "rest", head("206 Partial Content", "content-range: bytes 5-9/100", "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT"))
put("response_headers", "last", head("206 Partial Content", "Content-Range: bytes 18446744073709551608-18446744073709551614/18446744073709551615"))
put("response_headers", "whole", head("200 OK", "Content-Length: 5", "Content-Encoding: identity"))
put("response_headers", "empty", head("416 Range Not Satisfiable", "Content-Range: bytes */0"))
put("response_headers", "weights", head("302 Found", "X-Repo-Commit: " + "0" * 40, "X-Linked-Size: 99", f'X-Linked-ETag: "{PLAN}"',
                                        "Location: https://cdn.example/x?signature=secret", 'Link: <https://h/auth>; rel="xet-auth"'))
put("response_headers", "to_this_machine", head("307 Temporary Redirect", "Location: //0x7f.1:8080/a/../b"))
put("response_headers", "page", head("200 OK", 'Link: <https://h/a?cursor=1,2>; rel="prev", <https://h/a?cursor=3>; rel="next"'))
put("response_headers", "busy", head("429 Too Many Requests", "Retry-After: 7", 'ratelimit: "resolvers";r=0;t=55', 'ratelimit-policy: "fixed";q=5000;w=300'))
put("response_headers", "gated", head("403 Forbidden", "X-Error-Code: GatedRepo", "X-Error-Message: Access to https://u:p@h/x is restricted\x1b[2J"))
put("response_headers", "interim", head("100 Continue", "ETag: x") + head("103 Early Hints", "Link: </a>; rel=preload") +
    head("200 OK", "Transfer-Encoding: chunked", "Trailer: ETag") + 'ETag: "trailer"\r\nHTTP/1.1 500 No\r\n\r\n')
put("response_headers", "twice", head("206 Partial Content", "Content-Range: bytes 0-9/100", "Content-Range: bytes 0-8/9", " Folded: a", "Empty:", "none"))

# ---- registries ----
def blob(size, **more):
    return {"mediaType": "application/octet-stream", "digest": "sha256:" + PLAN, "size": size, **more}


put("manifest", "modelpack", json.dumps({"schemaVersion": 2, "config": blob(2), "layers": [
    blob(12, annotations={"org.cncf.model.filepath": "config.json"}),
    blob(1 << 40, annotations={"org.opencontainers.image.title": "sub/model.safetensors"}), blob(0)]}))
put("manifest", "index", json.dumps({"schemaVersion": 2, "manifests": [blob(7, platform={"os": "linux", "architecture": "arm64"}), blob(7)]}))
put("manifest", "not_a_digest", json.dumps({"schemaVersion": 2, "config": blob(2), "layers": [blob(1) | {"digest": "sha512:" + PLAN}]}))
put("manifest", "no_list", json.dumps({"schemaVersion": 2, "config": blob(2), "layers": {"0": blob(1)}}))

# ---- plan files ----
put("plan_file", "all", """{"ckpt_plan": 1, "version": "x", "digest": "y", "convert": {
    "in": "/a/in", "out": "out", "tokenizer": "/t", "to": "q4_k_m", "output-tensor-type": "q6_k",
    "token-embedding-type": "q8_0", "imatrix": "i.gguf", "tokenizer-pre": "qwen2",
    "model-name": "n", "base": "/b", "no-mtp": true, "allow-requantize": true, "pure": true,
    "leave-output-tensor": true, "shard-size": 5, "header-slack": 6, "allow-nonfinite": true,
    "for": ["vllm-0.17"], "rules": [["keep", "a*"], ["tensor-type", "b*=q8_0"]],
    "export": [["preset", "mlp-only"], ["amax-from", "amax"]],
    "steps": [{"name": "drop", "options": [["tensors", "x.*"]]}],
    "also": [{"out": "second.gguf", "to": "q8_0"}]},
    "inputs": [{"path": "/a/in/model.safetensors", "size_bytes": 7, "modified_ns": 8}]}""")

# ---- archives ----
with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary) / "model"
    (folder / "sub").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "sub" / ("long" * 30)).write_text("x" * 600)
    file = pathlib.Path(temporary) / "model.tar.zst"
    made = subprocess.run([ckpt, "publish", str(folder), "--archive", str(file)],
                          capture_output=True, text=True)
    if made.returncode != 0:
        sys.exit(made.stderr)
    put("archive", "stream", b"\0\7" + file.read_bytes())
    put("archive", "frames", b"\1\0" + file.read_bytes())
    put("archive", "compress", b"\2\0" + b"abc" * 10)
    for kind, form in (("ustar", tarfile.USTAR_FORMAT), ("gnu", tarfile.GNU_FORMAT),
                       ("pax", tarfile.PAX_FORMAT)):
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w", format=form) as tar:
            for name, size in (("a/b", 3), ("d" * (90 if kind == "ustar" else 120), 0)):
                member = tarfile.TarInfo(name)
                member.size = size
                tar.addfile(member, io.BytesIO(b"x" * size))
            if kind == "pax":
                member = tarfile.TarInfo("p")
                member.pax_headers = {"path": "é/p", "size": "2"}
                member.size = 2
                tar.addfile(member, io.BytesIO(b"yy"))
            folder_member = tarfile.TarInfo("e")
            folder_member.type = tarfile.DIRTYPE
            tar.addfile(folder_member)
        put("archive", kind, b"\3\11" + raw.getvalue()[:5000].rstrip(b"\0") + bytes(1536))

# ---- signatures ----
with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary) / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    shutil.copy(data / "formats/good/safetensors/ranks.safetensors", folder / "model.safetensors")
    for name, options in {"key": ["--sign", str(data / "publish/p256.pem")],
                          "certificate": ["--sign", str(data / "publish/leaf.pem"),
                                          "--certificate", str(data / "publish/leaf.crt")]}.items():
        made = subprocess.run([ckpt, "publish", str(folder), *options], capture_output=True,
                              text=True)
        if made.returncode != 0:
            sys.exit(made.stderr)
        bundle = (folder / "model.sig").read_bytes()
        put("sigstore_bundle", name, b"\0" + bundle)
        payload = base64.b64decode(json.loads(bundle)["dsseEnvelope"]["payload"])
        put("sigstore_bundle", f"{name}-statement", b"\1" + payload)
        put("sigstore_bundle", f"{name}-sums", b"\2" + (folder / "SHA256SUMS").read_bytes())
        (folder / "model.sig").unlink()
HEX = "0123456789abcdef" * 4
put("sigstore_bundle", "sums-forms", f"\2{HEX}  a\n{HEX} *b\n\\{HEX}  c\\nd\\\\\nSHA256 (e) = {HEX}\n")

# ---- modelopt_state.pth: the pickle of the smallest, and a small zip of our own ----
state = {"modelopt_state_dict": [("quantize", {"config": {}, "metadata": {"quantizer_state": {
    "m.0.weight_quantizer": {"_num_bits": (2, 1), "_block_sizes": {-1: 16, "scale_bits": (4, 3),
                                                                   "four_over_six": True},
                             "_disabled": False, "_axis": None},
    "m.0.input_quantizer": {"_num_bits": 8, "_disabled": True, "_axis": 0}}}})],
    "modelopt_version": "0.47.0"}
for protocol in (2, 4):
    raw = pickle.dumps(state, protocol)
    put("modelopt_state", f"pickle-{protocol}", b"\1" + raw)
    with tempfile.TemporaryDirectory() as temporary:
        path = pathlib.Path(temporary) / "state.pth"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            info = zipfile.ZipInfo("state/version", (1980, 1, 1, 0, 0, 0))
            archive.writestr(info, "3\n")
            archive.writestr(zipfile.ZipInfo("state/data.pkl", (1980, 1, 1, 0, 0, 0)), raw)
        put("modelopt_state", f"zip-{protocol}", b"\0" + path.read_bytes())
with zipfile.ZipFile(data / "export/states/llama-micro-fp8-kv.pth") as archive:
    name = next(name for name in archive.namelist() if name.endswith("data.pkl"))
    put("modelopt_state", "trained", b"\1" + archive.read(name)[:LIMIT])

# ---- codecs: one seed each ----
FLOATS = struct.pack("<8f", 1.0, -0.5, 0.0, -0.0, 3.4e38, 1e-40, float("inf"), 0.1)
for codec in range(0, 66, 3):
    put("codec_decode", f"{codec:02}", bytes([codec, 1, 1]) + bytes(range(7, 250, 3)))
    put("codec_encode", f"{codec:02}", bytes([codec, 1, 1, codec]) + FLOATS)
