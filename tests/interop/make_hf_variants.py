"""Small Hugging Face checkpoints in the shapes that people have: shards, dtypes, tokenizers, fields left out.

usage: python make_hf_variants.py OUT_DIR [NAME...]       needs: numpy safetensors torch

Each folder can be converted by llama.cpp's convert_hf_to_gguf.py and by ckpt; compare_conversions.py does both.
Weights are random. variant.json in a folder says how to convert it; it is not part of the checkpoint.
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file

QWEN2_RULE = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN35_RULE = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
               r"|\s*[\r\n]+|\s+(?!\S)|\s+")
TEKKEN_RULE = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
               r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
LLAMA3_RULE = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
WORDS = "the of and to in is that it for was on are as with his they at be this have from or had by not but what some we can".split()


def byte_alphabet():
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, extra = {}, 256
    for byte in range(256):
        if byte in plain:
            letters[byte] = chr(byte)
        else:
            letters[byte] = chr(extra)
            extra += 1
    return letters


def tokenizer(rule, specials, *, users=(), pairs=False, ignore_merges=False, bos=None, eos=None, template=True):
    vocab = {c: i for i, c in enumerate(byte_alphabet().values())}
    merges = []
    for word in WORDS:
        text = "Ġ" + word
        while len(text) > 1:
            left = text[0]
            for c in text[1:]:
                if (left, c) not in merges:
                    merges.append((left, c))
                    vocab.setdefault(left + c, len(vocab))
                left += c
            text = ""
    number = len(vocab)
    added = []
    for text, special in [*((t, True) for t in specials), *((t, False) for t in users)]:
        added.append({"id": number, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                      "special": special})
        number += 1
    ids = {a["content"]: a["id"] for a in added}
    single = [{"Sequence": {"id": "A", "type_id": 0}}]
    pair = [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}]
    if bos:
        single.insert(0, {"SpecialToken": {"id": bos, "type_id": 0}})
        pair = [{"SpecialToken": {"id": bos, "type_id": 0}}, pair[0], {"SpecialToken": {"id": bos, "type_id": 1}}, pair[1]]
    if eos:
        single.append({"SpecialToken": {"id": eos, "type_id": 0}})
    post = {"type": "TemplateProcessing", "single": single, "pair": pair,
            "special_tokens": {t: {"id": t, "ids": [ids[t]], "tokens": [t]} for t in (bos, eos) if t}}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": rule}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]},
        "post_processor": post if template else {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "",
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": ignore_merges, "vocab": vocab,
                  "merges": [list(m) for m in merges] if pairs else [" ".join(m) for m in merges]}}


class Weights:
    def __init__(self, seed, dtype=torch.bfloat16):
        self.tensors, self.dtype = {}, dtype
        self.random = torch.Generator().manual_seed(seed)

    def add(self, name, *shape, dtype=None, scale=0.05, offset=0.0):
        self.tensors[name] = (torch.randn(*shape, generator=self.random) * scale + offset).to(dtype or self.dtype)

    def common(self, c, prefix="model.", head="lm_head.weight", attention="self_attn", bias=(), qk_norm=False, layers=None):
        h, f, d = c["hidden_size"], c.get("intermediate_size"), c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
        self.add(prefix + "embed_tokens.weight", c["vocab_size"], h)
        self.add(prefix + "norm.weight", h, offset=1)
        if head:
            self.add(head, c["vocab_size"], h)
        for i in range(c["num_hidden_layers"]) if layers is None else layers:
            p = f"{prefix}layers.{i}."
            self.add(p + "input_layernorm.weight", h, offset=1)
            self.add(p + "post_attention_layernorm.weight", h, offset=1)
            rows = {"q": c["num_attention_heads"] * d, "k": c["num_key_value_heads"] * d, "v": c["num_key_value_heads"] * d}
            for n, r in rows.items():
                self.add(f"{p}{attention}.{n}_proj.weight", r, h)
                if n in bias:
                    self.add(f"{p}{attention}.{n}_proj.bias", r)
            self.add(f"{p}{attention}.o_proj.weight", h, rows["q"])
            if "o" in bias:
                self.add(f"{p}{attention}.o_proj.bias", h)
            if qk_norm:
                self.add(f"{p}{attention}.q_norm.weight", d, offset=1)
                self.add(f"{p}{attention}.k_norm.weight", d, offset=1)
            if f:
                self.mlp(p + "mlp.", h, f)

    def mlp(self, p, h, f):
        self.add(p + "gate_proj.weight", f, h)
        self.add(p + "up_proj.weight", f, h)
        self.add(p + "down_proj.weight", h, f)

    def experts(self, p, c, fused):
        h, f, e = c["hidden_size"], c["moe_intermediate_size"], c["num_experts"]
        self.add(p + "gate.weight", e, h)
        if fused:
            self.add(p + "experts.gate_up_proj", e, 2 * f, h)
            self.add(p + "experts.down_proj", e, h, f)
        else:
            for x in range(e):
                self.mlp(f"{p}experts.{x}.", h, f)
        if c.get("shared_expert_intermediate_size"):
            self.mlp(p + "shared_expert.", h, c["shared_expert_intermediate_size"])
            self.add(p + "shared_expert_gate.weight", 1, h)

    def full_attention(self, p, c):
        h, d, n, k = c["hidden_size"], c["head_dim"], c["num_attention_heads"], c["num_key_value_heads"]
        self.add(p + "self_attn.q_proj.weight", 2 * n * d, h)
        self.add(p + "self_attn.k_proj.weight", k * d, h)
        self.add(p + "self_attn.v_proj.weight", k * d, h)
        self.add(p + "self_attn.o_proj.weight", h, n * d)
        self.add(p + "self_attn.q_norm.weight", d)
        self.add(p + "self_attn.k_norm.weight", d)

    def linear_attention(self, p, c, a_dtype):
        h, kh, vh = c["hidden_size"], c["linear_num_key_heads"], c["linear_num_value_heads"]
        kd, vd = c["linear_key_head_dim"], c["linear_value_head_dim"]
        p += "linear_attn."
        self.add(p + "in_proj_qkv.weight", 2 * kh * kd + vh * vd, h)
        self.add(p + "in_proj_z.weight", vh * vd, h)
        self.add(p + "in_proj_a.weight", vh, h)
        self.add(p + "in_proj_b.weight", vh, h)
        self.add(p + "conv1d.weight", 2 * kh * kd + vh * vd, 1, c["linear_conv_kernel_dim"])
        self.add(p + "A_log", vh, dtype=a_dtype, scale=1.0)
        self.add(p + "dt_bias", vh, scale=1.0)
        self.add(p + "norm.weight", vd, dtype=a_dtype, offset=1)
        self.add(p + "out_proj.weight", h, vh * vd)

    def qwen35(self, c, prefix="model.", head="lm_head.weight", mtp=0, fused=True, a_dtype=None):
        h = c["hidden_size"]
        self.add(prefix + "embed_tokens.weight", c["vocab_size"], h)
        self.add(prefix + "norm.weight", h)
        if head:
            self.add(head, c["vocab_size"], h)

        def feed(p):
            self.add(p + "input_layernorm.weight", h)
            self.add(p + "post_attention_layernorm.weight", h)
            if "num_experts" in c:
                self.experts(p + "mlp.", c, fused)
            else:
                self.mlp(p + "mlp.", h, c["intermediate_size"])

        for i in range(c["num_hidden_layers"]):
            p = f"{prefix}layers.{i}."
            feed(p)
            if (i + 1) % 4:
                self.linear_attention(p, c, a_dtype)
            else:
                self.full_attention(p, c)
        for i in range(mtp):
            feed(f"mtp.layers.{i}.")
            self.full_attention(f"mtp.layers.{i}.", c)
        if mtp:
            self.add("mtp.fc.weight", h, 2 * h)
            for n in ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm"):
                self.add(f"mtp.{n}.weight", h)


QWEN_SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
QWEN_USERS = ["<tool_call>", "</tool_call>", "<think>", "</think>"]
LLAMA_SPECIALS = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"]
CHAT = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"


def qwen35_config(**changes):
    c = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
         "vocab_size": 512, "rms_norm_eps": 1e-6, "max_position_embeddings": 4096, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 16,
         "linear_value_head_dim": 16, "linear_num_key_heads": 2, "linear_num_value_heads": 6, "full_attention_interval": 4,
         "hidden_act": "silu", "model_type": "qwen3_5_text",
         "rope_parameters": {"rope_type": "default", "rope_theta": 10000000, "partial_rotary_factor": 0.25, "mrope_interleaved": True,
                             "mrope_section": [2, 1, 1]}}
    c.update(changes)
    c["layer_types"] = ["full_attention" if (i + 1) % 4 == 0 else "linear_attention" for i in range(c["num_hidden_layers"])]
    return {k: v for k, v in c.items() if v is not None}


def plain_config(model_type, architecture, **changes):
    c = {"architectures": [architecture], "model_type": model_type, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512, "rms_norm_eps": 1e-5, "max_position_embeddings": 4096,
         "hidden_act": "silu", "rope_theta": 500000.0}
    c.update(changes)
    return {k: v for k, v in c.items() if v is not None}


def qwen_tokenizer(**changes):
    return tokenizer(QWEN2_RULE, QWEN_SPECIALS, users=QWEN_USERS, **changes)


def qwen35_tokenizer(**changes):
    return tokenizer(QWEN35_RULE, QWEN_SPECIALS, users=QWEN_USERS, **changes)


def llama_tokenizer(**changes):
    return tokenizer(LLAMA3_RULE, LLAMA_SPECIALS, ignore_merges=True, bos="<|begin_of_text|>", **changes)


QWEN_TC = {"tokenizer_class": "Qwen2Tokenizer", "bos_token": None, "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "unk_token": None,
           "add_prefix_space": False, "add_bos_token": False, "clean_up_tokenization_spaces": False, "chat_template": CHAT}
LLAMA_TC = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|begin_of_text|>", "eos_token": {"__type": "AddedToken", "content": "<|eot_id|>", "lstrip": False,
            "rstrip": False, "normalized": False, "single_word": False, "special": True},
            "clean_up_tokenization_spaces": True}
VARIANTS = {}


def variant(pre, convert=()):
    def register(make):
        VARIANTS[make.__name__.replace("__", ".").replace("_", "-")] = (make, pre, list(convert))
        return make
    return register


@variant("qwen35")
def Qwen3__5_0__1B_Test(w):
    c = qwen35_config(architectures=["Qwen3_5ForCausalLM"], mtp_num_hidden_layers=1, num_hidden_layers=12, tie_word_embeddings=True)
    w.qwen35(c, head=None, mtp=1)
    return c, qwen35_tokenizer(pairs=True), QWEN_TC, {"shards": 3, "generation": {"temperature": 0.7, "top_p": 0.8, "top_k": 20, "repetition_penalty": 1.05}}


@variant("qwen35", ["--no-mtp"])
def qwen35_dropped_mtp(w):
    c = qwen35_config(architectures=["Qwen3_5ForCausalLM"], mtp_num_hidden_layers=1)
    w.qwen35(c, mtp=1)
    return c, qwen35_tokenizer(), QWEN_TC, {}


@variant("qwen35", ["--no-mtp"])
def qwen35_f16(w):
    w.dtype = torch.float16
    c = qwen35_config(architectures=["Qwen3_5ForCausalLM"], linear_num_value_heads=2)
    w.qwen35(c)
    return c, qwen35_tokenizer(), QWEN_TC, {}


@variant("qwen35", ["--no-mtp", "--outtype", "bf16"])
def qwen35_f32_to_bf16(w):
    w.dtype = torch.float32
    c = qwen35_config(architectures=["Qwen3_5ForCausalLM"], linear_value_head_dim=24)
    w.qwen35(c)
    return c, qwen35_tokenizer(), QWEN_TC, {}


@variant("qwen35", ["--no-mtp", "--outtype", "f16"])
def qwen35_bf16_to_f16(w):
    c = qwen35_config(architectures=["Qwen3_5ForCausalLM"], rope_parameters={"rope_theta": 5e6, "rope_type": "default"})
    w.qwen35(c)
    return c, qwen35_tokenizer(), QWEN_TC, {}


@variant("qwen35", ["--no-mtp", "--outtype", "q8_0"])
def qwen35_q8_0(w):
    c = qwen35_config(architectures=["Qwen3_5ForCausalLM"], intermediate_size=80)
    w.qwen35(c)
    return c, qwen35_tokenizer(), QWEN_TC, {}


@variant("qwen35")
def qwen35moe_separate_experts(w):
    c = qwen35_config(architectures=["Qwen3_5MoeForCausalLM"], model_type="qwen3_5_moe_text", intermediate_size=None, num_experts=4, num_experts_per_tok=2,
                      moe_intermediate_size=32, shared_expert_intermediate_size=48, mtp_num_hidden_layers=1)
    w.qwen35(c, mtp=1, fused=False)
    return c, qwen35_tokenizer(), QWEN_TC, {"shards": 4}


@variant("qwen35")
def qwen35moe_vl_fused(w):
    t = qwen35_config(model_type="qwen3_5_moe_text", intermediate_size=None, num_experts=12, num_experts_per_tok=2, moe_intermediate_size=32,
                      shared_expert_intermediate_size=48, mtp_num_hidden_layers=1, bos_token_id=None, eos_token_id=300)
    w.qwen35(t, prefix="model.language_model.", mtp=1, a_dtype=torch.float32)
    w.add("model.visual.patch_embed.proj.weight", 8, 3, 2, 4, 4)
    w.add("model.visual.blocks.0.attn.qkv.weight", 24, 8)
    w.add("model.visual.merger.norm.weight", 8)
    c = {"architectures": ["Qwen3_5MoeForConditionalGeneration"], "model_type": "qwen3_5_moe", "text_config": t, "image_token_id": 5,
         "vision_config": {"depth": 1, "hidden_size": 8, "intermediate_size": 16, "num_heads": 2, "out_hidden_size": 64, "model_type": "qwen3_5_moe"},
         "tie_word_embeddings": False}
    return c, qwen35_tokenizer(), QWEN_TC, {"shards": 2}


@variant("qwen2")
def Qwen3_0__6B_yarn(w):
    c = plain_config("qwen3", "Qwen3ForCausalLM", rope_theta=1000000, attention_bias=True, eos_token_id=[302, 300], bos_token_id=300, pad_token_id=None,
                     rope_scaling={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024, "beta_fast": 32.0, "attention_factor": 1.1})
    w.common({**c, "head_dim": 128}, bias="qkvo", qk_norm=True)
    return c, qwen_tokenizer(pairs=True), {**QWEN_TC, "chat_template": [{"name": "default", "template": CHAT}, {"name": "tool use", "template": "x" + CHAT}]}, {}


@variant("qwen2")
def Qwen2__5_7B_Instruct_1M(w):
    c = plain_config("qwen2", "Qwen2ForCausalLM", tie_word_embeddings=True, use_sliding_window=False, sliding_window=131072,
                     rope_scaling={"type": "linear", "factor": 2})
    w.common(c, head=None, bias="qkv")
    tokens = qwen_tokenizer()
    decoder = {str(a["id"]): {k: v for k, v in a.items() if k != "id"} for a in tokens["added_tokens"]}
    card = "---\nlicense: apache-2.0\nlanguage:\n- en\nbase_model: Qwen/Qwen2.5-7B\ntags: [chat]\n---\n# x\n"
    return c, tokens, {**QWEN_TC, "added_tokens_decoder": decoder}, {"card": card}


@variant("qwen2")
def qwen2_token_flags(w):
    c = plain_config("qwen2", "Qwen2ForCausalLM", eos_token_id=3, sep_token_id=7)
    w.common(c, bias="qkv")
    tokens = qwen_tokenizer()
    decoder = {str(a["id"]): {k: v for k, v in a.items() if k != "id"} for a in tokens["added_tokens"]}
    for token in decoder.values():
        if token["content"] == "<tool_call>":
            token["special"] = True      # tokenizer.json says no
    return c, tokens, {**QWEN_TC, "added_tokens_decoder": decoder, "eos_token": "</think>", "pad_token": "<new_pad>", "unk_token": "the",
                       "additional_special_tokens": ["</tool_call>", "<another>"], "add_eos_token": True}, {}


@variant("qwen2")
def qwen2_named_tokens(w):
    c = plain_config("qwen2", "Qwen2ForCausalLM")
    w.common(c, bias="qkv")
    return c, qwen_tokenizer(), {**QWEN_TC, "tokenizer_class": "TokenizersBackend", "eos_token": "<think>", "pad_token": "<new_pad>", "unk_token": "of",
                                 "extra_special_tokens": ["</tool_call>", "<another>"]}, {}


@variant("qwen2")
def qwen3moe_separate(w):
    c = plain_config("qwen3_moe", "Qwen3MoeForCausalLM", head_dim=32, num_experts=8, num_experts_per_tok=2, moe_intermediate_size=32,
                     norm_topk_prob=True, decoder_sparse_step=1, mlp_only_layers=[])
    w.common({**c, "intermediate_size": None}, qk_norm=True)
    for i in range(2):
        w.experts(f"model.layers.{i}.mlp.", c, False)
    return c, qwen_tokenizer(), QWEN_TC, {"shards": 2}


@variant("qwen2")
def qwen2moe_shared(w):
    c = plain_config("qwen2_moe", "Qwen2MoeForCausalLM", num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, shared_expert_intermediate_size=64)
    w.common({**c, "intermediate_size": None}, bias="qkv")
    for i in range(2):
        w.experts(f"model.layers.{i}.mlp.", c, False)
    return c, qwen_tokenizer(), QWEN_TC, {}


@variant("llama-bpe")
def Meta_Llama_3__1_8B_Instruct(w):
    c = plain_config("llama", "LlamaForCausalLM", head_dim=None, mlp_bias=False, bos_token_id=280, eos_token_id=[281, 282], rms_norm_eps=1e-05,
                     num_attention_heads=2, num_key_value_heads=1, hidden_size=128,
                     rope_scaling={"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"})
    w.common(c)
    for i in range(2):
        w.add(f"model.layers.{i}.self_attn.rotary_emb.inv_freq", 8, dtype=torch.float32)
    return c, llama_tokenizer(), LLAMA_TC, {"generation": {"temperature": 0.6, "top_p": 0.9, "do_sample": True}}


@variant("llama-bpe")
def llama_3__2_1b(w):
    c = plain_config("llama", "LlamaForCausalLM", head_dim=64, attention_bias=True, tie_word_embeddings=True, num_attention_heads=4, num_key_value_heads=4,
                     rope_theta=None, rope_parameters={"factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "rope_theta": 500000.0,
                                                       "original_max_position_embeddings": 8192, "rope_type": "llama3"})
    w.common(c, head=None, bias="qkvo")
    return c, llama_tokenizer(eos="<|end_of_text|>"), {**LLAMA_TC, "add_prefix_space": True, "mask_token": "<|eot_id|>"}, {"jinja": CHAT}


@variant("tekken")
def Mistral_Nemo_Base_2407(w):
    c = plain_config("mistral", "MistralForCausalLM", head_dim=32, sliding_window=None, max_position_embeddings=131072, rope_theta=1000000.0)
    w.common(c)
    return c, tokenizer(TEKKEN_RULE, ["<unk>", "<s>", "</s>"], ignore_merges=True, bos="<s>"), {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "add_bos_token": True, "add_eos_token": False}, {}


@variant("smaug-bpe")
def llama_defaults(w):
    c = plain_config("llama", "LlamaForCausalLM", num_key_value_heads=None, rms_norm_eps=None, rope_theta=None, max_position_embeddings=None)
    w.common({**c, "num_key_value_heads": 4})
    return c, tokenizer(LLAMA3_RULE, LLAMA_SPECIALS, template=False), {"tokenizer_class": "PreTrainedTokenizerFast"}, {}


@variant("qwen2")
def Qwen3_Embedding_0__6B(w):
    c = plain_config("qwen3", "Qwen3ForCausalLM", head_dim=32, tie_word_embeddings=True)
    w.common(c, prefix="", head=None, qk_norm=True)
    return c, qwen_tokenizer(eos="<|endoftext|>"), QWEN_TC, {"files": {
        "modules.json": json.dumps([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                                    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]),
        "1_Pooling/config.json": json.dumps({"word_embedding_dimension": 64, "pooling_mode_cls_token": False, "pooling_mode_lasttoken": True})}}


def save(folder, make, pre, convert):
    w = Weights(sum(folder.name.encode()))
    config, tokens, tokenizer_config, more = make(w)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    (folder / "tokenizer.json").write_text(json.dumps(tokens, ensure_ascii=False))
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer_config))
    if "generation" in more:
        (folder / "generation_config.json").write_text(json.dumps(more["generation"]))
    if "card" in more:
        (folder / "README.md").write_text(more["card"])
    if "jinja" in more:
        (folder / "chat_template.jinja").write_text(more["jinja"])
    for name, text in more.get("files", {}).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    shards = more.get("shards", 1)
    if shards == 1:
        save_file(w.tensors, folder / "model.safetensors", metadata={"format": "pt"})
    else:
        index = {}
        for i in range(shards):
            name = f"model-{i + 1:05}-of-{shards:05}.safetensors"
            part = {n: t for k, (n, t) in enumerate(w.tensors.items()) if k * shards // len(w.tensors) == i}
            save_file(part, folder / name, metadata={"format": "pt"})
            index.update({n: name for n in part})
        (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    (folder / "variant.json").write_text(json.dumps({"pre": pre, "convert": convert}))


out = pathlib.Path(sys.argv[1])
for name, entry in VARIANTS.items():
    if len(sys.argv) == 2 or name in sys.argv[2:]:
        save(out / name, *entry)
