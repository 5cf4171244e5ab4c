"""Makes mixtures.json: which type llama.cpp's quantizer gives each tensor of small models; and
file-*.gguf with files.json: the SHA-256 of whole files that it makes from them.

usage: make_mixtures.py LIB_DIR WORK_DIR [--keep]

LIB_DIR holds libllama and libggml-base of llama.cpp v0.5.0 (npm: @node-llama-cpp/linux-x64 3.22.1);
needs the Python packages numpy and gguf. The models have llama.cpp's names and metadata and rows of
real lengths, but few rows, as the rules look at nothing else. --keep leaves all inputs and outputs
in WORK_DIR, with runs.json to tell them apart.
"""
import ctypes, glob, hashlib, json, os, shutil, sys

import gguf
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
FILE_TYPES = {
    "f32": 0, "f16": 1, "bf16": 32, "q8_0": 7, "q4_0": 2, "q4_1": 3, "q5_0": 8, "q5_1": 9,
    "iq4_nl": 25, "q2_k": 10, "q2_k_s": 21, "q3_k_s": 11, "q3_k_m": 12, "q3_k_l": 13,
    "q4_k_s": 14, "q4_k_m": 15, "q5_k_s": 16, "q5_k_m": 17, "q6_k": 18,
    "iq4_xs": 30, "mxfp4_moe": 38, "tq1_0": 36, "tq2_0": 37, "iq1_s": 24, "iq1_m": 31,
    "iq2_xxs": 19, "iq2_xs": 20, "iq2_s": 28, "iq2_m": 29, "iq3_xxs": 23, "iq3_xs": 22,
    "iq3_s": 26, "iq3_m": 27,
}
TYPES = {t.name.lower(): t for t in gguf.GGMLQuantizationType}
CODES = {"f32": "F", "f16": "H", "bf16": "B", "q8_0": "8", "q4_0": "a", "q4_1": "b", "q5_0": "c",
         "q5_1": "d", "q2_k": "2", "q3_k": "3", "q4_k": "4", "q5_k": "5", "q6_k": "6",
         "iq4_nl": "n", "iq4_xs": "x", "mxfp4": "m", "i32": "i", "tq1_0": "t", "tq2_0": "u",
         "iq1_s": "p", "iq1_m": "q", "iq2_xxs": "r", "iq2_xs": "s", "iq2_s": "v", "iq3_xxs": "w",
         "iq3_s": "y"}
T = gguf.GGMLQuantizationType


# ---- the real quantizer ---------------------------------------------------------------------
class Imatrix(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.POINTER(ctypes.c_float)),
                ("size", ctypes.c_size_t)]


class Override(ctypes.Structure):
    _fields_ = [("pattern", ctypes.c_char_p), ("type", ctypes.c_int)]


class KvOverride(ctypes.Structure):
    """struct llama_model_kv_override: i32 tag, key, padding to 8, a union of 128 bytes."""
    _fields_ = [("tag", ctypes.c_int32), ("key", ctypes.c_char * 128), ("padding", ctypes.c_int32),
                ("value", ctypes.c_uint8 * 128)]


class Params(ctypes.Structure):
    _fields_ = [("nthread", ctypes.c_int32), ("ftype", ctypes.c_int), ("output", ctypes.c_int),
                ("token_embd", ctypes.c_int)] + \
               [(n, ctypes.c_bool) for n in ("allow_requantize", "quantize_output", "only_copy",
                                             "pure", "keep_split", "dry_run")] + \
               [("imatrix", ctypes.c_void_p), ("kv", ctypes.c_void_p), ("tt", ctypes.c_void_p),
                ("prune", ctypes.c_void_p), ("max_buf", ctypes.c_size_t)]


class Quantizer:
    def __init__(self, lib_dir):
        def load(pattern):
            path = sorted(glob.glob(os.path.join(lib_dir, pattern)))[0]
            return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        base = load("libggml-base.so*")
        ggml = load("libggml.*so*")
        self.llama = load("libllama.*so*")
        (ggml if hasattr(ggml, "ggml_backend_load_all_from_path") else base) \
            .ggml_backend_load_all_from_path(lib_dir.encode())
        self.log = []
        callback = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
        self.keep = callback(lambda level, text, _: self.log.append(text))
        self.llama.llama_log_set(self.keep, None)
        self.llama.llama_backend_init()
        self.llama.llama_model_quantize_default_params.restype = Params

    def run(self, source, target, file_type, imatrix=None, imatrix_file="m.imatrix", dataset="",
            chunks=0, options=None):
        p = self.llama.llama_model_quantize_default_params()
        p.nthread, p.ftype = 2, FILE_TYPES[file_type]
        kept = []
        if imatrix:
            entries = (Imatrix * (len(imatrix) + 1))()
            for i, (name, values) in enumerate(imatrix.items()):
                values = np.ascontiguousarray(values, np.float32)
                kept.append(values)
                entries[i] = Imatrix(name.encode(), values.ctypes.data_as(
                    ctypes.POINTER(ctypes.c_float)), values.size)
            p.imatrix = ctypes.addressof(entries)
            kept.append(entries)
            kv = self.overrides(imatrix_file, dataset, len(imatrix), chunks)
            p.kv = ctypes.addressof(kv)
            kept.append(kv)
        options = options or {}
        p.allow_requantize = options.get("allow-requantize", False)
        p.pure = options.get("pure", False)
        p.quantize_output = not options.get("leave-output-tensor", False)
        if "output-tensor-type" in options:
            p.output = int(TYPES[options["output-tensor-type"]])
        if "token-embedding-type" in options:
            p.token_embd = int(TYPES[options["token-embedding-type"]])
        rules = options.get("regex", [])
        if rules:
            tt = (Override * (len(rules) + 1))()
            for i, (pattern, name) in enumerate(rules):
                tt[i] = Override(pattern.encode(), int(TYPES[name]))
            tt[len(rules)] = Override(None, 43)
            p.tt = ctypes.addressof(tt)
            kept.append(tt)
        self.log.clear()
        return self.llama.llama_model_quantize(source.encode(), target.encode(), ctypes.byref(p))

    @staticmethod
    def overrides(file, dataset, entries, chunks):
        """What tools/quantize/quantize.cpp passes on with an importance matrix."""
        out = [(3, "file", file.encode()[:127])]
        if dataset:
            out.append((3, "dataset", dataset.encode()[:127]))
        out.append((0, "entries_count", entries.to_bytes(8, "little")))
        if chunks > 0:
            out.append((0, "chunks_count", chunks.to_bytes(8, "little")))
        kv = (KvOverride * (len(out) + 1))()
        for i, (tag, key, value) in enumerate(out):
            kv[i].tag, kv[i].key = tag, ("quantize.imatrix." + key).encode()
            kv[i].value[:len(value)] = value
        return kv


# ---- models ---------------------------------------------------------------------------------
class Model:
    def __init__(self, name, arch, layers, **keys):
        self.name, self.arch = name, arch
        self.meta = {"block_count": layers, "context_length": 64, "embedding_length": 256}
        self.meta.update({k.replace("__", "."): v for k, v in keys.items()})
        self.tensors = []   # (name, shape outermost first, type)
        self.file_types = list(FILE_TYPES)
        self.extra = []     # runs with options: (file type, imatrix?, options)
        if arch in ("falcon",):
            self.meta["attention.layer_norm_epsilon"] = 1e-5
        elif arch != "clip":
            self.meta["attention.layer_norm_rms_epsilon"] = 1e-5

    def add(self, name, shape, kind=None):
        plain = len(shape) < 2 or name.endswith("norm.weight")
        self.tensors.append((name, list(shape), kind or ("f32" if plain else "bf16")))

    def heads(self, heads, kv=None):
        self.meta["attention.head_count"] = heads
        if kv is not None:
            self.meta["attention.head_count_kv"] = kv
        return self

    def outside(self, row, tied=False):
        self.add("token_embd.weight", [3, row])
        self.add("output_norm.weight", [row])
        if not tied:
            self.add("output.weight", [3, row])

    def write(self, path, seed=1):
        rng = np.random.default_rng(seed)
        w = gguf.GGUFWriter(path, self.arch)
        w.add_string("general.name", self.name)
        w.add_uint32("general.quantization_version", 2)
        for key, value in self.meta.items():
            key = f"{self.arch}.{key}"
            if isinstance(value, float):
                w.add_float32(key, value)
            elif isinstance(value, list):
                w.add_array(key, value)
            else:
                w.add_uint32(key, value)
        w.add_uint32("general.file_type", 32)
        w.add_array("tokenizer.ggml.tokens", ["a", "b", "\u00e9"])
        for name, shape, kind in self.tensors:
            values = (rng.standard_normal(shape) * rng.choice([0.5, 1, 4])).astype(np.float32)
            if kind == "i32":
                w.add_tensor(name, values.astype(np.int32))
            elif kind == "f32":
                w.add_tensor(name, values)
            else:
                data = gguf.quants.quantize(values, TYPES[kind])
                w.add_tensor(name, data, raw_dtype=TYPES[kind])
        w.write_header_to_file()
        w.write_kv_data_to_file()
        w.write_tensors_to_file()
        w.close()

    def imatrix(self):
        """Weights that a test can compute again: exact in binary, different for each column."""
        out = {}
        for name, shape, kind in self.tensors:
            if len(shape) >= 2 and name.endswith("weight") and name != "token_embd.weight":
                count = (shape[0] if len(shape) == 3 else 1) * shape[-1]
                steps = (37 * np.arange(count) + len(name)) % 101
                out[name] = ((1 + steps) / 16).astype(np.float32)
        return out


def dense(name, arch, layers, row=256, tied=False, parts=None, down=None, **keys):
    m = Model(name, arch, layers, **keys)
    m.outside(row, tied)
    for i in range(layers):
        b = f"blk.{i}."
        for part in parts or ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm",
                              "ffn_gate", "ffn_up", "ffn_down"):
            wide = down if part == "ffn_down" and down else row
            m.add(b + part + ".weight", [row] if part.endswith("norm") else [2, wide])
    return m


FEW = ("attn_k", "attn_v", "attn_output", "ffn_down")


def qwen35(name, layers, mtp, experts=0, row=256, tied=False):
    arch = "qwen35moe" if experts else "qwen35"
    m = Model(name, arch, layers + mtp, ssm__conv_kernel=4, ssm__inner_size=64, ssm__state_size=16,
              ssm__time_step_rank=4, ssm__group_count=2, full_attention_interval=4)
    m.meta["rope.dimension_sections"] = [4, 4, 2, 0]
    m.heads(8, 2)
    if mtp:
        m.meta["nextn_predict_layers"] = mtp
    if experts:
        m.meta.update({"expert_count": experts, "expert_used_count": 2})
    m.outside(row, tied)
    for i in range(layers + mtp):
        b = f"blk.{i}."
        full = i >= layers or (i + 1) % 4 == 0
        m.add(b + "attn_norm.weight", [row])
        if full:
            for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
                m.add(b + part + ".weight", [2, row])
            m.add(b + "attn_q_norm.weight", [16])
        else:
            for part in ("attn_qkv", "attn_gate", "ssm_alpha", "ssm_beta", "ssm_out"):
                m.add(b + part + ".weight", [2, row])
            m.add(b + "ssm_conv1d.weight", [8, 4], "f32")
            m.add(b + "ssm_a", [4])
            m.add(b + "ssm_dt.bias", [4])
            m.add(b + "ssm_norm.weight", [16])
        m.add(b + "post_attention_norm.weight", [row])
        if experts:
            m.add(b + "ffn_gate_inp.weight", [experts, row], "f32")
            m.add(b + "ffn_gate_inp_shexp.weight", [1, row], "f32")
            for part in ("gate", "up", "down"):
                m.add(b + f"ffn_{part}_exps.weight", [experts, 2, row])
                m.add(b + f"ffn_{part}_shexp.weight", [2, row])
        else:
            for part in ("gate", "up", "down"):
                m.add(b + f"ffn_{part}.weight", [2, row])
        if i >= layers:
            m.add(b + "nextn.eh_proj.weight", [2, 2 * row])
            m.add(b + "nextn.enorm.weight", [row])
            m.add(b + "nextn.hnorm.weight", [row])
            m.add(b + "nextn.shared_head_norm.weight", [row])
    return m


def mixtral(name, layers, experts, row=256, parts=None):
    m = Model(name, "llama", layers, expert_count=experts, expert_used_count=2).heads(8, 2)
    m.outside(row)
    for i in range(layers):
        for part in parts or ("attn_q", "attn_k", "attn_v", "attn_output"):
            m.add(f"blk.{i}.{part}.weight", [2, row])
        m.add(f"blk.{i}.ffn_gate_inp.weight", [experts, row], "f32")
        for part in ("gate", "up", "down"):
            m.add(f"blk.{i}.ffn_{part}_exps.weight", [experts, 1, row])
    return m


def odd_names():
    """Everything that a name or a shape alone decides."""
    m = Model("names", "llama", 3).heads(8, 2)
    m.outside(256, tied=True)
    time_mix = ("first", "w0", "w1", "w2", "v0", "v1", "v2", "a0", "a1", "a2", "g1", "g2", "decay_w1",
                "decay_w2", "lerp_fused", "key")
    for name in ("abcde", "abcdef", "position_embd.weight", "token_types.weight", "rope_freqs.weight",
                 "per_layer_token_embd.weight", "altup_proj.weight", "per_layer_model_proj.weight",
                 "blk.0.laurel_l.weight", "blk.0.attn_q.bias", "blk.0.attn_kv_b.weight",
                 "blk.0.attn_k_b.weight", "blk.0.ffn_gate_tid2eid.weight", "blk.0.ssm_conv1d.weight",
                 "blk.0.shortconv.conv.weight", "blk.0.indexer.k_proj.weight",
                 "blk.0.indexer.q_proj.weight", "blk.0.attn_q_norm.weight", "blk.0.attn_norm_2.weight",
                 "blk.0.attn_rel_b.weight", "v.position_embd.weight", "a.rvq.codebook.weight",
                 "mm.a.code_embd.weight", "v.patch_embd.weight", "v.sam.neck.0.weight",
                 "v.sam.pos_embd.weight", "v.sam.net_2.weight", "v.blk.0.rel_pos.weight",
                 "mm.patch_merger.weight", "v.blk.0.attn_v.weight", "v.blk.0.ffn_down.weight",
                 "blk.0.ffn_gate_inp.weight", "blk.0.ffn_gate_inp_shexp.weight", "blk.0.ffn_down.0.weight",
                 "blk.1.cls.weight", "blk.10.attn_v.weight", "blk.2.attn_v.weight", "blk.2.ffn_down.weight",
                 "zzz.weight", "Blk.1.attn_v.weight", *(f"blk.0.time_mix_{t}.weight" for t in time_mix)):
        m.add(name, [2, 256])
    m.add("blk.1.attn_v.weight", [256], "f32")            # counted, but only a vector
    m.add("blk.1.ffn_down.weight", [1, 256])              # as well
    m.add("blk.2.three.weight", [2, 2, 256])
    m.add("blk.2.unit.weight", [1, 2, 256])
    m.add("blk.2.wide.weight", [2, 3, 1, 256][1:])
    m.add("blk.2.f16.weight", [2, 256], "f16")
    m.add("blk.2.f32.weight", [2, 256], "f32")
    m.add("blk.2.table", [2, 8], "i32")
    return m


def with_options():
    m = dense("options", "llama", 16).heads(8, 2)
    regex = [("blk\\.[0-2]\\.ffn_down", "q5_k")]
    m.extra = [
        ("q4_k_m", False, {"regex": regex, "tensor-type": ["blk.[0-2].ffn_down*=q5_k"]}),
        ("q5_k_m", True, {"regex": [("attn_v", "q8_0")], "tensor-type": ["*attn_v*=q8_0"]}),
        ("q4_k_m", False, {"regex": [("blk\\.3\\.", "q8_0"), ("ffn_", "q4_0")],
                           "tensor-type": ["*ffn_*=q4_0", "*blk.3.*=q8_0"]}),
        ("q4_k_m", False, {"regex": [("norm", "q8_0"), ("attn_q", "bf16"), ("attn_k", "f16")],
                           "tensor-type": ["*norm*=q8_0", "*attn_q*=bf16", "*attn_k*=f16"]}),
        ("q4_k_m", False, {"regex": [("token_embd", "q3_k"), ("output", "q2_k")],
                           "tensor-type": ["*token_embd*=q3_k", "*output*=q2_k"]}),
    ]
    for file_type in ("q4_k_m", "q2_k", "q4_0", "f16"):
        m.extra += [(file_type, False, {"pure": True}),
                    (file_type, False, {"leave-output-tensor": True}),
                    (file_type, True, {"output-tensor-type": "q8_0"}),
                    (file_type, True, {"token-embedding-type": "q8_0"}),
                    (file_type, False, {"output-tensor-type": "f16", "token-embedding-type": "q5_0",
                                        "pure": True, "leave-output-tensor": True})]
    m.extra += [("q2_k_s", True, {"pure": True}), ("q2_k_s", False, {"pure": True})]
    return m


def expert_options():
    m = mixtral("options-experts", 8, 4)
    for file_type in ("mxfp4_moe", "iq4_xs"):
        m.extra += [(file_type, False, {"pure": True}), (file_type, False, {"leave-output-tensor": True}),
                    (file_type, True, {"output-tensor-type": "q5_k", "token-embedding-type": "mxfp4"}),
                    (file_type, False, {"regex": [("ffn_down", "iq4_xs"), ("attn_q", "mxfp4")],
                                        "tensor-type": ["*attn_q*=mxfp4", "*ffn_down*=iq4_xs"]})]
    return m


def tied_options():
    m = dense("options-tied", "llama", 4, tied=True).heads(8, 2)
    m.add("per_layer_token_embd.weight", [2, 256])
    for file_type in ("q4_k_m", "q8_0", "mxfp4_moe"):
        m.extra += [(file_type, False, {"output-tensor-type": "q5_k"}),
                    (file_type, False, {"output-tensor-type": "q5_k", "token-embedding-type": "q4_0"}),
                    (file_type, False, {"leave-output-tensor": True}), (file_type, False, {"pure": True}),
                    (file_type, False, {"token-embedding-type": "q4_0",
                                        "regex": [("per_layer", "q6_k"), ("token_embd", "q8_0")],
                                        "tensor-type": ["*token_embd*=q8_0", "per_layer*=q6_k"]})]
    return m


def requantize():
    m = Model("requantize", "llama", 2).heads(8, 2)
    m.outside(256)
    kinds = ["q8_0", "q4_0", "q5_1", "q6_k", "q4_k"]
    for i in range(2):
        for j, part in enumerate(("attn_q", "attn_k", "attn_v", "attn_output", "ffn_down")):
            kind = {"q6_k": "q5_0", "q4_k": "q8_0"}.get(kinds[j], kinds[j])
            m.add(f"blk.{i}.{part}.weight", [2, 256], kind)
    m.file_types = ["q8_0", "f16", "q4_k_m"]   # all refused
    m.extra = [(t, False, {"allow-requantize": True}) for t in
               ("q8_0", "q4_0", "q4_k_m", "q6_k", "f32")]
    return m


def models():
    out = [
        dense("llama-2", "llama", 2).heads(8, 8),
        dense("llama-32", "llama", 32, down=512).heads(32, 8),
        dense("llama-80-gqa", "llama", 80, parts=FEW).heads(64, 8),
        dense("llama-80-mha", "llama", 80, parts=("attn_v", "ffn_down")).heads(64),
        dense("llama-81-mtp", "llama", 81, parts=("attn_v",), nextn_predict_layers=1).heads(64, 8),
        dense("llama-embed-80", "llama-embed", 80, parts=("attn_v",)).heads(64, 8),
        dense("qwen2-80-mha", "qwen2", 80, parts=("attn_v", "ffn_down")).heads(8),
        dense("olmo-80", "olmo", 80, parts=("attn_v",)).heads(8, 8),
        dense("deci-80-arrays", "deci", 80, parts=("attn_v", "attn_output")).heads(
            [0] + [64] * 79, [0] + [8] * 79),
        dense("llama-arrays", "llama", 8).heads([16] * 8, [4] * 4 + [8] * 4),
        dense("qwen3-36-tied", "qwen3", 36, tied=True).heads(8, 4),
        dense("qwen3-gqa-3", "qwen3", 10, parts=FEW).heads(6, 2),
        dense("qwen3-64", "qwen3", 64, parts=FEW).heads(8, 1),
        dense("rows-160", "llama", 9, row=160).heads(8, 2),
        dense("rows-160-tied", "llama", 9, row=160, tied=True, parts=FEW).heads(8, 2),
        dense("rows-100", "qwen3", 9, row=100, parts=FEW).heads(8, 2),
        dense("rows-mixed", "qwen3", 16, row=256, down=96, tied=True).heads(8, 2),
        dense("rows-mixed-odd", "qwen3", 16, row=288, down=300).heads(8, 2),
        dense("falcon-32", "falcon", 32,
              parts=("attn_norm", "attn_qkv", "attn_output", "ffn_up", "ffn_down")).heads(8, 1),
        dense("falcon-7-tied", "falcon", 7, tied=True,
              parts=("attn_qkv", "attn_output", "ffn_up", "ffn_down")).heads(8, 8),
        dense("falcon-160", "falcon", 8, row=160, parts=("attn_qkv", "ffn_down")).heads(8, 8),
        qwen35("qwen35-8", 8, 0), qwen35("qwen35-32-mtp", 32, 1),
        qwen35("qwen35-24-tied", 24, 1, tied=True), qwen35("qwen35-96", 8, 1, row=96),
        qwen35("qwen35moe-8", 12, 1, experts=8), qwen35("qwen35moe-16", 12, 0, experts=16),
        qwen35("qwen35moe-160", 4, 1, experts=8, row=160),
        mixtral("mixtral-8", 32, 8, parts=FEW[:3]), mixtral("mixtral-80", 80, 8, parts=("attn_v",)),
        mixtral("mixtral-4", 8, 4),
        odd_names(), with_options(), tied_options(), expert_options(), requantize(),
    ]
    jais = dense("jais2-68", "jais2", 68, parts=("attn_v",)).heads(8, 8)
    jais.meta["attention.layer_norm_epsilon"] = 1e-5
    olmo = next(m for m in out if m.arch == "olmo")
    olmo.meta["attention.layer_norm_epsilon"] = 1e-5
    out.append(jais)
    clip = Model("clip", "clip", 0)
    clip.meta.clear()
    for i in range(3):
        for part in ("attn_q", "attn_v", "attn_out", "ffn_down", "ffn_up"):
            clip.add(f"v.blk.{i}.{part}.weight", [2, 256])
    clip.add("v.patch_embd.weight", [2, 3, 256])
    clip.add("mm.0.weight", [2, 256])
    clip.file_types = ["f16", "q8_0", "q4_0", "q4_k_m", "q5_k_m", "q6_k", "q3_k_m"]
    out.append(clip)
    return out


def file_models():
    """Small enough to keep whole."""
    plain = dense("file-dense", "llama", 8, parts=("attn_norm", "attn_q", "attn_v", "ffn_down")) \
        .heads(8, 2)
    plain.add("blk.0.attn_output.weight", [2, 256], "f16")
    plain.add("blk.1.attn_output.weight", [2, 256], "f32")
    plain.add("blk.2.attn_output.weight", [3, 160])
    plain.add("blk.3.attn_output.weight", [3, 100])
    plain.add("blk.4.attn_output.weight", [1, 256])
    plain.add("blk.5.attn_output.weight", [2, 2, 256])
    return [plain, qwen35("file-moe", 2, 1, experts=8), dense("file-tied", "qwen3", 2, tied=True,
            parts=FEW).heads(8, 1)]


# ---- runs -----------------------------------------------------------------------------------
def read_types(path):
    reader = gguf.GGUFReader(path)
    names = [t.name for t in reader.tensors]
    shapes = [[int(d) for d in reversed(t.shape)] for t in reader.tensors]
    return names, shapes, "".join(CODES[t.tensor_type.name.lower()] for t in reader.tensors)


def ranges(numbers):
    out, start = [], None
    for i, n in enumerate(numbers):
        start = n if start is None else start
        if i + 1 == len(numbers) or numbers[i + 1] != n + 1:
            out.append([start, n])
            start = None
    return out


def folded(m):
    """Tensors of one name, shape and type in many blocks as one row: [suffix, shape, type, ranges
    of blocks]; others as [name, shape, type]. Gives the rows, and the names as they unfold."""
    groups = {}
    for name, shape, kind in m.tensors:
        parts = name.split(".", 2)
        block = int(parts[1]) if parts[0] == "blk" else None
        key = (parts[2] if block is not None else name, tuple(shape), kind, block is None)
        groups.setdefault(key, []).append(block)
    rows, names = [], []
    for (name, shape, kind, plain), blocks in groups.items():
        rows.append([name, list(shape), CODES[kind]] + ([] if plain else [ranges(blocks)]))
        names += [name] if plain else [f"blk.{b}.{name}" for b in blocks]
    return rows, names


def run_model(quantizer, m, work, keep):
    """All runs of a model: a row for mixtures.json, and the SHA-256 of each output."""
    source = os.path.join(work, m.name + ".gguf")
    m.write(source)
    weights = m.imatrix()
    rows, unfolded = folded(m)
    shapes_in = {n: s for n, s, _ in m.tensors}
    entry = {"name": m.name, "arch": m.arch, "metadata": m.meta, "tensors": rows, "order": None,
             "shapes": {}, "types": [], "runs": []}
    files = []
    runs = [(t, i, {}) for t in m.file_types for i in (False, True)] + m.extra
    for n, (file_type, imatrix, options) in enumerate(runs):
        target = os.path.join(work, f"{m.name}.{n}.gguf")
        rc = quantizer.run(source, target, file_type, weights if imatrix else None,
                           imatrix_file="m.imatrix", dataset="text.txt", chunks=7, options=options)
        run = {"type": file_type, "imatrix": imatrix}
        run.update({k: v for k, v in options.items() if k != "regex"})
        entry["runs"].append({**run, "types": None})
        files.append({**run, "file": os.path.basename(target), "sha256": None})
        if rc == 0:
            names, shapes, types = read_types(target)
            order = [unfolded.index(name) for name in names]
            assert entry["order"] in (None, order)
            entry["order"] = order
            entry["shapes"] = {k: s for k, s in zip(names, shapes) if s != shapes_in[k]}
            if types not in entry["types"]:
                entry["types"].append(types)
            entry["runs"][-1]["types"] = entry["types"].index(types)
            files[-1]["sha256"] = hashlib.sha256(open(target, "rb").read()).hexdigest()
        if not keep and os.path.exists(target):
            os.remove(target)
    return entry, files


def write_lines(path, head, rows):
    with open(path, "w") as f:
        f.write(head + ",\n".join(json.dumps(r, separators=(",", ":")) for r in rows) + "\n]}\n")


def main():
    lib, work = sys.argv[1:3]
    keep = "--keep" in sys.argv
    os.makedirs(work, exist_ok=True)
    quantizer = Quantizer(lib)
    entries, kept, files = [], [], []
    for m in models() + file_models():
        entry, made = run_model(quantizer, m, work, keep)
        entries.append(entry)
        kept.append({"name": m.name, "runs": made})
        count = sum(r["types"] is not None for r in entry["runs"])
        print(m.name, len(m.tensors), "tensors,", count, "of", len(entry["runs"]), "runs made a file")
        if m.name.startswith("file-"):
            shutil.copy(os.path.join(work, m.name + ".gguf"), HERE)
            for run in made:
                files.append({"name": m.name, **{k: v for k, v in run.items() if k != "file"}})
    codes = json.dumps({v: k for k, v in CODES.items()})
    write_lines(os.path.join(HERE, "mixtures.json"), f'{{"codes": {codes},\n "models": [\n', entries)
    write_lines(os.path.join(HERE, "files.json"), '{"files": [\n', files)
    if keep:
        with open(os.path.join(work, "runs.json"), "w") as f:
            json.dump(kept, f)


main()
